"""`voxfleet say`: one clip into a file, in this process, without any server."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import soundfile

from voxfleet.model_source import check_model


class SayError(RuntimeError):
    """The clip cannot be made or written; the message is for the user."""


@dataclass(frozen=True)
class Spoken:
    """What came out. Seconds of waiting count from the call of generate, loading excluded."""

    audio_seconds: float
    wall_seconds: float
    first_audio_seconds: float
    sample_rate: int

    @property
    def rtf(self) -> float:
        """Wall seconds per audio second."""
        return self.wall_seconds / self.audio_seconds


def say(
    text: str,
    output: Path,
    *,
    model: str = "bundled",
    device: str = "auto",
    progress: Callable[[float], None] = lambda seconds: None,
    **options: Any,
) -> Spoken:
    """Speaks `text` into `output`, whose suffix names the format (wav, flac, ogg, mp3).

    `options` go to `VoxCPM.generate`: voice, reference_audio, prompt_audio, prompt_text, seed. `progress`
    gets the seconds of audio so far. Raises SayError, ModelMissingError, and RequestError from the model.
    """
    check_output(output)
    check_model(model)
    from models.voxcpm import VoxCPM

    speaker = VoxCPM.from_pretrained(model, device=device)
    try:
        started = time.perf_counter()
        chunks: list[np.ndarray] = []
        first_audio_seconds = 0.0
        samples = 0
        for chunk in speaker.generate(text=text, **options):
            first_audio_seconds = first_audio_seconds or time.perf_counter() - started
            chunks.append(chunk)
            samples += len(chunk)
            progress(samples / speaker.sample_rate)
        wall_seconds = time.perf_counter() - started
    finally:
        speaker.close()
    if not samples:
        raise SayError("the model ended without any audio")
    write(output, np.concatenate(chunks), speaker.sample_rate)
    return Spoken(samples / speaker.sample_rate, wall_seconds, first_audio_seconds, speaker.sample_rate)


def check_output(output: Path) -> None:
    """Finds out before the model is loaded whether the clip can be written. Raises SayError."""
    if output.suffix.lstrip(".").upper() not in soundfile.available_formats():
        raise SayError(
            f"{output}: no audio format is called {output.suffix or 'nothing'}; use .wav, .flac, .ogg or .mp3"
        )
    if not output.parent.is_dir():
        raise SayError(f"{output}: there is no directory {output.parent}")


def write(output: Path, audio: np.ndarray, sample_rate: int) -> None:
    """Writes mono float32 samples in [-1, 1]. Raises SayError."""
    try:
        soundfile.write(output, audio, sample_rate)
    except (OSError, soundfile.SoundFileError) as error:
        raise SayError(f"{output} cannot be written: {error}") from error
