"""Audio files as mono s16 little-endian samples, in the confined child."""

from __future__ import annotations

import io
import wave
from typing import BinaryIO

import av
from decode import decode
from refusal import Refusal


def read(file: BinaryIO, max_seconds: str) -> tuple[dict[str, object], bytes]:
    """What the file is, and its samples. Raises Refusal."""
    try:
        return decode(file, float(max_seconds))
    except (av.FFmpegError, ValueError, MemoryError, OverflowError, EOFError):
        raise Refusal("audio_unreadable") from None


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
