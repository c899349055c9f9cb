"""`python -m benchmarks.pages`: see `benchmarks.pages.usable`."""

import sys

from benchmarks.pages.usable import main

if __name__ == "__main__":
    sys.exit(main())
