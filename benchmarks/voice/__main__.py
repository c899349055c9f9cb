"""`python -m benchmarks.voice`: see `benchmarks.voice.judge`."""

import sys

from benchmarks.voice.judge import main

if __name__ == "__main__":
    sys.exit(main())
