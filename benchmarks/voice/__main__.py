"""`python -m benchmarks.voice`: see `benchmarks.voice.run`."""

import sys

from benchmarks.voice.run import main

if __name__ == "__main__":
    sys.exit(main())
