"""`python -m benchmarks.gateway`: see `benchmarks.gateway.load`."""

import sys

from benchmarks.gateway.load import main

if __name__ == "__main__":
    sys.exit(main())
