"""Reads audio files that clients send as a voice reference or prompt: any bytes in, mono samples or a refusal
out.

The length that a file's header claims is checked before anything is decoded, and decoding goes in pieces and
stops at the limit, so that a small file that unpacks to hours of audio (a decompression bomb) costs neither
time nor memory. Headers that lie are caught by the second rule.
"""

from __future__ import annotations

import io

import numpy as np
import soundfile

from engine.errors import RequestError

FORMATS = frozenset({"WAV", "WAVEX", "FLAC", "OGG", "MP3", "AIFF"})
MIN_SECONDS = 0.1
_MIN_RATE, _MAX_RATE = 4_000, 384_000
_MAX_CHANNELS = 8
_PIECE_SAMPLES = 1 << 16


def decode_audio(data: bytes, max_seconds: float) -> tuple[np.ndarray, int]:
    """Samples float32 [n] in [-1, 1], channels averaged, and their rate per second.

    Raises RequestError (param "audio") for what is no audio, too short, too long, silent or not finite.
    """
    try:
        with soundfile.SoundFile(io.BytesIO(data)) as file:
            return _read(file, max_seconds), file.samplerate
    except (soundfile.SoundFileError, ValueError, TypeError) as error:
        if isinstance(error, RequestError):
            raise
        raise _refusal("the body is not an audio file that can be read", "unsupported_audio") from None


def _read(file: soundfile.SoundFile, max_seconds: float) -> np.ndarray:
    if file.format not in FORMATS:
        known = ", ".join(sorted(FORMATS))
        raise _refusal(
            f"audio of format {file.format} is not supported; send one of {known}", "unsupported_audio"
        )
    if not _MIN_RATE <= file.samplerate <= _MAX_RATE or file.channels > _MAX_CHANNELS:
        limits = f"{_MIN_RATE} to {_MAX_RATE} samples per second and at most {_MAX_CHANNELS} channels"
        raise _refusal(f"audio must have {limits}", "unsupported_audio")
    too_long = _refusal(f"audio is longer than {max_seconds:g} s", "audio_too_long")
    limit_samples = int(max_seconds * file.samplerate)
    if file.frames > limit_samples:
        raise too_long
    pieces: list[np.ndarray] = []
    samples = 0
    while len(piece := file.read(_PIECE_SAMPLES, dtype="float32", always_2d=True)):
        pieces.append(piece.mean(axis=1, dtype=np.float32))
        samples += len(piece)
        if samples > limit_samples:
            raise too_long
    if samples < MIN_SECONDS * file.samplerate:
        raise _refusal(f"audio is shorter than {MIN_SECONDS:g} s", "audio_too_short")
    audio = np.concatenate(pieces)
    if not np.isfinite(audio).all():
        raise _refusal("audio has samples that are no numbers", "unsupported_audio")
    if not np.any(audio):
        raise _refusal("audio is silent", "audio_silent")
    return np.clip(audio, -1.0, 1.0)


def _refusal(message: str, code: str) -> RequestError:
    return RequestError(message, "audio", code)
