"""`python -m voxfleet ...` is the `voxfleet` command."""

import os
import signal
import sys

if sys.path[0] == os.getcwd() != os.path.dirname(os.path.dirname(os.path.abspath(__file__))):
    del sys.path[0]  # what lies in the folder in which somebody starts the program is no part of it


def main() -> None:
    """Entry point of the `voxfleet` script: an interrupt ends it as quietly while it loads as later."""
    try:
        from voxfleet.cli import main as run
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    run()


if __name__ == "__main__":
    main()
