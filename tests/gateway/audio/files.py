"""Audio as people upload it: speech-like sound, in every container that is taken."""

from __future__ import annotations

import io
import wave
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import av
import numpy as np
import soundfile
import soxr

ROOT = Path(__file__).parents[3]
RATE = 24_000
_CODECS: dict[str, tuple[str, str, int]] = {
    "flac": ("flac", "flac", 0),
    "mp3": ("mp3", "libmp3lame", 0),
    "ogg": ("ogg", "libopus", 48_000),
    "webm": ("webm", "libopus", 48_000),
    "m4a": ("ipod", "aac", 44_100),
    "alac": ("ipod", "alac", 44_100),
    "aac": ("adts", "aac", 44_100),
    "aiff": ("aiff", "pcm_s16be", 0),
}
"""Container, codec, and the codec's rate where it does not take any."""


def speech(seconds: float, rate: int = RATE, level: float = 0.3, pitch: float = 150.0) -> np.ndarray:
    """float64 [n]: a buzz in syllables of 0.2 s with pauses of 0.1 s between them."""
    time = np.arange(int(seconds * rate)) / rate
    buzz = sum(np.sin(2 * np.pi * pitch * harmonic * time) / harmonic for harmonic in range(1, 9))
    return level * buzz / 2 * ((time % 0.3) < 0.2)


def noisy_speech(decibels: float = 10.0) -> np.ndarray:
    """float32 [n] at RATE: six seconds of the bundled voice, so far above white noise."""
    samples, rate = soundfile.read(ROOT / "models" / "voxcpm" / "bundled" / "voices" / "default.flac")
    samples = soxr.resample(samples[: 6 * rate], rate, RATE)
    noise = np.random.default_rng(0).standard_normal(len(samples))
    return samples + noise * np.sqrt(np.mean(samples**2)) * 10 ** (-decibels / 20)


def wav(samples: np.ndarray, rate: int = RATE) -> bytes:
    """A 16-bit wav file."""
    file = io.BytesIO()
    soundfile.write(file, samples, rate, format="WAV", subtype="PCM_16")
    return file.getvalue()


def wav_samples(file: bytes) -> bytes:
    """The samples of a 16-bit wav file whose header has its true length, as the standard library reads it."""
    with wave.open(io.BytesIO(file)) as reader:
        samples = reader.readframes(reader.getnframes())
    assert file.endswith(samples) and int.from_bytes(file[4:8], "little") == len(file) - 8
    return samples


def silence(kind: str, seconds: int, rate: int = 8_000) -> bytes:
    """So much of nothing, in as few bytes as that kind of file takes."""
    if kind == "flac":
        file = io.BytesIO()
        soundfile.write(file, np.zeros(seconds * rate, "<i2"), rate, format="FLAC")
        return file.getvalue()
    return _encode(kind, (np.zeros(rate, "<i2") for _ in range(seconds)), rate, bit_rate=6_000)


def encoded(kind: str, samples: np.ndarray, rate: int = RATE) -> bytes:
    """A file of `kind`; a webm file names no length, as those of browsers' recorders do not."""
    if kind == "wav":
        return wav(samples, rate)
    return _encode(kind, [np.rint(np.clip(samples, -1, 1) * 32767).astype("<i2")], rate)


def _encode(kind: str, pieces: Iterable[np.ndarray], rate: int, **options: Any) -> bytes:
    container, codec, codec_rate = _CODECS[kind]
    codec_rate = codec_rate or rate
    file = io.BytesIO()
    with av.open(file, "w", format=container, options={"live": "1"} if kind == "webm" else {}) as out:
        stream = out.add_stream(codec, rate=codec_rate, layout="mono", **options)
        resampler = av.AudioResampler(stream.codec_context.format or "s16", "mono", codec_rate)
        for piece in pieces:
            frame = av.AudioFrame.from_ndarray(piece[None], format="s16", layout="mono")
            frame.sample_rate = rate
            for ready in resampler.resample(frame):
                out.mux(stream.encode(ready))
        for ready in [*resampler.resample(None), None]:
            out.mux(stream.encode(ready))
    return file.getvalue()
