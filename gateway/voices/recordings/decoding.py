"""Uploads to samples, each in a confined child (`gateway/confined/`, `decoder/`).

What the child says is a code out of a table and numbers that are checked.
"""

from __future__ import annotations

import io
import json
import wave
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gateway.confined.children import Children
from gateway.errors import ApiError

MAX_SECONDS = 60.0
PROCESSOR_SECONDS = 10
_WALL_SECONDS = 15.0
_HEAD_BYTES = 1024
_HIGHEST_RATE = 48_000
READER = Path(__file__).with_name("decoder")

_TAKEN = "wav (of PCM), flac, aiff, mp3, aac, m4a, ogg or webm"
_REFUSALS = {
    "audio_format": f"the file is none of {_TAKEN}, or coded as these seldom are: send one of them",
    "audio_unreadable": "the file cannot be read as audio: it is damaged or empty",
    "audio_rate": "audio needs 8000 samples per second or more, and at most 8 channels",
    "audio_too_long": f"the audio is longer than {MAX_SECONDS:g} s: cut it, 5 to 15 s are best",
}
_FOUND = f"what is in the file is {{}}, which is not read: send {_TAKEN}"
_NAMES = {
    "ac3": "AC-3",
    "adpcm_ima_wav": "ADPCM",
    "adpcm_ms": "ADPCM",
    "amrnb": "AMR",
    "amrwb": "AMR-WB",
    "ape": "Monkey's Audio",
    "asf": "WMA",
    "au": "AU",
    "caf": "CAF",
    "eac3": "E-AC-3",
    "gsm_ms": "GSM",
    "midi": "MIDI",
    "mp2": "MPEG audio of layer II",
    "speex": "Speex",
    "w64": "W64",
    "wavpack": "WavPack",
}
"""What the child finds that is not taken."""


@dataclass(frozen=True)
class Recording:
    """Decoded mono audio."""

    samples: np.ndarray
    """int16 [n]."""
    sample_rate: int

    @property
    def seconds(self) -> float:
        """The length of the audio."""
        return len(self.samples) / self.sample_rate

    def wav(self) -> bytes:
        """The audio as a WAV file."""
        file = io.BytesIO()
        with wave.open(file, "wb") as out:
            out.setnchannels(1)
            out.setsampwidth(2)
            out.setframerate(self.sample_rate)
            out.writeframes(self.samples.astype("<i2").tobytes())
        return file.getvalue()


class Decoder:
    """Decodes recordings, a few at a time; others wait for their turn."""

    def __init__(self, wall_seconds: float = _WALL_SECONDS) -> None:
        self._children = Children(
            READER,
            processor_seconds=PROCESSOR_SECONDS,
            wall_seconds=wall_seconds,
            most_bytes=_HEAD_BYTES + 2 * int(MAX_SECONDS * _HIGHEST_RATE),
        )

    async def decode(self, file: int) -> Recording:
        """The audio of an open file, read from its start.

        Raises ApiError: 422 (param "audio") for what is no audio or too much of it, 503 when too many wait
        or the child could not be confined.
        """
        return _understand(await self._children.read(file, str(MAX_SECONDS)))


def _understand(said: bytes) -> Recording:
    """The child's words, as far as they make sense. Raises ApiError 422."""
    line, _, pcm = said.partition(b"\n")
    try:
        facts = json.loads(line)
        code, found = str(facts.get("refused")), str(facts.get("found"))
        rate, count = facts.get("sample_rate", 0), facts.get("samples", 0)
    except (ValueError, AttributeError):
        raise _refusal("audio_unreadable") from None
    if code in _REFUSALS:
        raise _refusal(code, found)
    if not isinstance(rate, int) or not 8_000 <= rate <= _HIGHEST_RATE or not count or len(pcm) != 2 * count:
        raise _refusal("audio_unreadable")
    return Recording(np.frombuffer(pcm, "<i2"), rate)


def _refusal(code: str, found: str = "") -> ApiError:
    message = _FOUND.format(_NAMES[found]) if found in _NAMES else _REFUSALS[code]
    return ApiError(422, code, message, param="audio")
