"""`python -m benchmarks.gpu`: see `benchmarks.gpu.engines`."""

import sys

from benchmarks.gpu.engines import main

if __name__ == "__main__":
    sys.exit(main())
