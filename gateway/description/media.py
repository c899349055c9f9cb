"""Media types of answers that are one of several, by what is asked for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

from gateway.audio.formats import AUDIO_FORMATS, CONTENT_TYPES, AudioFormat
from gateway.protocols.deepgram import request as deepgram
from gateway.protocols.elevenlabs import formats as elevenlabs
from gateway.protocols.fish import request as fish
from gateway.timing.files import FORMATS


def _of(formats: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(CONTENT_TYPES[format] for format in formats))


EVENTS, LINES, JSON = "text/event-stream", "application/x-ndjson", "application/json"
AUDIO = _of(get_args(AudioFormat))
FILES = _of(format for format in AUDIO_FORMATS if format != "pcm")
"""Audio that says its own sample rate."""
RESULTS = _of(CONTENT_TYPES)
"""AUDIO, and audiobooks."""
WORDS = tuple(media_type for media_type, _ in FORMATS.values())
ELEVENLABS = _of(output.format for output in elevenlabs.FORMATS.values())
CARTESIA = _of(("pcm", "f32", "ulaw", "alaw", "wav", "mp3"))
DEEPGRAM = _of(deepgram.FORMATS.values())
FISH = _of(fish.FORMATS)
