"""`python -m benchmarks.gpu`: see `benchmarks.gpu.engines.scenarios`."""

import sys

from benchmarks.gpu.engines.scenarios import main

if __name__ == "__main__":
    sys.exit(main())
