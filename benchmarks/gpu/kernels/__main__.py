"""`python -m benchmarks.gpu.kernels`: see `benchmarks.gpu.kernels.fused`."""

import sys

from benchmarks.gpu.kernels.fused import main

if __name__ == "__main__":
    sys.exit(main())
