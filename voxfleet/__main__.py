"""`python -m voxfleet ...` is the `voxfleet` command."""

import os
import sys

if sys.path[0] == os.getcwd() != os.path.dirname(os.path.dirname(os.path.abspath(__file__))):
    del sys.path[0]  # what lies in the folder in which somebody starts the program is no part of it

from voxfleet.cli import main

if __name__ == "__main__":
    main()
