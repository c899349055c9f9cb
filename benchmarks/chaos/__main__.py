"""`python -m benchmarks.chaos`: see `benchmarks.chaos.faults`."""

import sys

from benchmarks.chaos.faults import main

if __name__ == "__main__":
    sys.exit(main())
