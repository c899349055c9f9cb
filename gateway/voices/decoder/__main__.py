"""Turns an audio file that somebody sent into PCM. A program of its own: it reads what nobody has checked.

    python -I gateway/voices/decoder 60 <upload >result

Standard output is one line of JSON (`{"sample_rate": 48000, "samples": 96000, ...}` or `{"refused": CODE}`),
then mono s16 little-endian samples. The decoders are loaded and used once before anything is read; then the
process gives up all that it does not need any more (`sandbox.py`), and only then it looks at its input.
"""

from __future__ import annotations

import io
import json
import sys
import wave

import av
import sandbox
from decode import Refusal, decode


def main() -> int:
    """Decode standard input to standard output; `argv[1]` is the longest allowed length in seconds."""
    upload = open(0, "rb")  # noqa: SIM115
    rehearse()
    try:
        confine()
    except OSError:
        return sandbox.NOT_CONFINED
    output = sys.stdout.buffer
    try:
        facts, pcm = decode(upload, float(sys.argv[1]))
    except Refusal as refusal:
        facts, pcm = {"refused": str(refusal)}, b""
    except (av.FFmpegError, ValueError, MemoryError, OverflowError, EOFError):
        facts, pcm = {"refused": "audio_unreadable"}, b""
    output.write(json.dumps(facts).encode() + b"\n")
    output.write(pcm)
    output.flush()
    return 0


def rehearse() -> None:
    """Decode some silence: whatever is imported on first use is imported before no file can be opened."""
    silence = io.BytesIO()
    with wave.open(silence, "wb") as out:
        out.setnchannels(2)
        out.setsampwidth(2)
        out.setframerate(8_000)
        out.writeframes(bytes(3_200))
    silence.seek(0)
    decode(silence, 1.0)


def confine() -> None:
    """Give up what a decoder does not need. Raises OSError where that should have worked and did not."""
    sandbox.close_descriptors()
    sandbox.set_limits()
    if sandbox.unsupported() is None:
        sandbox.enter()


if __name__ == "__main__":
    sys.exit(main())
