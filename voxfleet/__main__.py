"""`python -m voxfleet ...` is the `voxfleet` command."""

from voxfleet.cli import main

if __name__ == "__main__":
    main()
