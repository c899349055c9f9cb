"""Who reads texts aloud for the judges: a loaded model, and the teachers it learnt from."""

from __future__ import annotations

import random
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.voice.judging.measures import SAMPLE_RATE
from models.voxcpm import VoxCPM
from models.voxcpm.training.recipe import DEFAULT_VOICE, NAMED_VOICES
from models.voxcpm.training.speech.flite import VOICES
from models.voxcpm.training.speech.teachers import SPEECH_RATE, Speaker, Teachers
from models.voxcpm.vae.audio_encoding import resample


@dataclass(frozen=True)
class Clip:
    """One text as somebody said it: float32 samples at 16 kHz."""

    text: str
    samples: np.ndarray
    seed: int = 0
    finish_reason: str | None = "stop"

    @property
    def seconds(self) -> float:
        return len(self.samples) / SAMPLE_RATE


@dataclass(frozen=True)
class Recording:
    """What a model imitates or goes on from: float32 samples at `sample_rate`, and their words."""

    text: str
    samples: np.ndarray
    sample_rate: int

    @property
    def audio(self) -> tuple[np.ndarray, int]:
        return self.samples, self.sample_rate

    @property
    def clip(self) -> Clip:
        return Clip(self.text, resample(self.samples, self.sample_rate, SAMPLE_RATE))


class TeacherReader:
    """The teachers' own audio of sentences, trimmed and levelled as the training saw it."""

    def __init__(self, default: str = DEFAULT_VOICE) -> None:
        self._teachers, self._default = Teachers(), default

    def counterpart(self, voice: str) -> Speaker:
        """Whom `voice` is measured against: who speaks its reference recording, or the default teacher."""
        if voice in (*VOICES, "heart", "joe"):
            return Speaker(voice)
        others = {name: speaker for name, (speaker, *_) in NAMED_VOICES.items() if name != "default"}
        return others.get(voice, Speaker(self._default))

    def record(self, text: str, speaker: Speaker) -> Recording:
        samples = self._teachers.read(text, speaker, random.Random(0)).astype(np.float32) / 32768
        return Recording(text, samples, SPEECH_RATE)

    def read(self, text: str, speaker: Speaker) -> Clip:
        return self.record(text, speaker).clip


class ModelReader:
    """A loaded model that reads texts aloud with the options of the command line."""

    def __init__(self, model: VoxCPM, streams: int, options: dict[str, Any]) -> None:
        self._model, self._streams, self._options = model, streams, options

    @property
    def voices(self) -> tuple[str, ...]:
        return self._model.info.voices

    def read(self, text: str, voice: str = "default", seed: int = 0, **conditioning: Any) -> Clip:
        """conditioning: reference_audio, or prompt_audio and prompt_text, as `VoxCPM.generate` takes them."""
        stream = self._model.generate(text, voice=voice, seed=seed, **self._options, **conditioning)
        samples = np.concatenate([np.zeros(0, np.float32), *stream])
        return Clip(text, resample(samples, self._model.sample_rate, SAMPLE_RATE), seed, stream.finish_reason)

    def read_all(self, jobs: Sequence[dict[str, Any]]) -> list[Clip]:
        """Every job, the arguments of a `read`, as many of them in flight as there are streams."""
        with ThreadPoolExecutor(self._streams) as pool:
            return list(pool.map(lambda job: self.read(**job), jobs))
