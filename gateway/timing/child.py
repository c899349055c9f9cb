"""The aligner's process: a line of JSON and samples in, a line of JSON out, until its input ends.

{"rate": 24000, "bytes": 96000, "pieces": ["Good", " morning."], "language": "en"}
{"words": [[0.11, 0.32], [0.32, 0.81]], "confidence": 0.93}      or      {"error": "why not"}
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import IO, Any

from gateway.timing.whisper import Whisper
from gateway.yielding import yield_cpus

_NICENESS = 10


def answer(whisper: Whisper, line: bytes, source: IO[bytes]) -> dict[str, Any]:
    """The answer to one question, whose samples follow in `source`."""
    head = json.loads(line)
    pcm = source.read(head["bytes"])
    try:
        heard = whisper.align(pcm, head["rate"], head["pieces"], head["language"])
    except (ValueError, RuntimeError) as error:
        return {"error": str(error)}
    return {"words": heard.words, "confidence": heard.confidence}


def main() -> None:
    yield_cpus(_NICENESS)
    answers = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)  # whatever a library prints is no answer
    whisper = Whisper(Path(sys.argv[1]))
    while line := sys.stdin.buffer.readline():
        said = answer(whisper, line, sys.stdin.buffer)
        answers.write(json.dumps(said).encode() + b"\n")


if __name__ == "__main__":
    main()
