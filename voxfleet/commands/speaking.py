"""What `voxfleet say` speaks one after the other: paragraphs of a text, or passages of an SSML document."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from gateway.audio.samples import as_s16, from_s16
from gateway.audio.tempo import Tempo
from gateway.streams.clip.parts import Part, Reading
from gateway.streams.clip.sample import kept_samples
from gateway.text.paragraphs import paragraphs
from gateway.text.ssml import PARAGRAPH_SECONDS, Script
from models.speech import ANY_VOICE, DEFAULT_VOICE
from worker.protocol import ModelDescription

if TYPE_CHECKING:
    from models.voxcpm import VoxCPM

_STOP = "stop"


@dataclass
class Speaking:
    """One clip of a loaded model."""

    speaker: VoxCPM
    options: dict[str, Any]
    """The options of `VoxCPM.generate`."""
    on_progress: Callable[[str], None]
    seed: int | None = None
    finish_reason: str = _STOP
    """Why the last part ended that did not end by itself."""
    first_audio_seconds: float = 0.0
    pieces: list[np.ndarray] = field(default_factory=list)
    """float32 [samples] of what there is by now."""
    samples_kept: int = 0
    """Samples of the part whose voice the others have."""

    def __post_init__(self) -> None:
        self.started = time.perf_counter()
        self.model = ModelDescription.model_validate(self.speaker.info.to_dict())
        named = {"voice", "reference_audio", "prompt_audio"} & self.options.keys()
        nobody = named <= {"voice"} and self.options.get("voice", DEFAULT_VOICE) == DEFAULT_VOICE
        self.makes_up = nobody and ANY_VOICE in self.model.features
        """Whether each text would have a speaker of its own."""

    def say(
        self,
        source: str | Script,
        normalize: str,
        language: str | None = None,
        paragraph_pause: float = PARAGRAPH_SECONDS,
    ) -> None:
        """All of a text or of a document, whose figures are put into words where `normalize` has it so.

        language: ISO 639 code, where it is known.
        paragraph_pause: seconds of silence between paragraphs of a text; with 0 it is said as one.
        """
        reading = Reading(self.model, normalize, language)
        if not isinstance(source, Script):
            found = paragraphs(source, paragraph_pause)
            if len(found) == 1:
                self._say(Part(source, reading.read(source).text))
                return
            source = Script(found)
        for part in reading.cut_script(source):
            self._pause(part.pause)
            self._say(part)
        self._pause(source.pause_after)

    @property
    def audio_seconds(self) -> float:
        """Seconds of audio, with pauses."""
        return sum(map(len, self.pieces)) / self.speaker.sample_rate

    def _pause(self, seconds: float) -> None:
        if seconds:
            self.pieces.append(np.zeros(round(seconds * self.speaker.sample_rate), np.float32))

    def _say(self, part: Part) -> None:
        before = len(self.pieces)
        stream = self.speaker.generate(part.spoken, **self.options)
        self.seed = self.options["seed"] = stream.seed
        for chunk in stream:
            self.first_audio_seconds = self.first_audio_seconds or time.perf_counter() - self.started
            self.pieces.append(chunk)
            self.on_progress(f"speaking: {self.audio_seconds:.1f} s")
        self.finish_reason = (
            self.finish_reason if stream.finish_reason == _STOP else str(stream.finish_reason)
        )
        speech = np.concatenate([np.zeros(0, np.float32), *self.pieces[before:]])
        if self.makes_up and len(speech):
            self._keep_speaker(part.spoken, speech)
        if part.rate != 1 and len(speech):
            self.pieces[before:] = [_at_rate(speech, self.speaker.sample_rate, part.rate)]

    def _keep_speaker(self, text: str, speech: np.ndarray) -> None:
        """The parts to come sound like this one, as a gateway has it."""
        samples = kept_samples(self.model, len(speech), self.samples_kept)
        if not samples:
            return
        self.samples_kept = samples
        sample = speech[:samples], self.speaker.sample_rate
        if "reference" in self.model.features:
            self.options["reference_audio"] = sample
        else:
            self.options |= {"prompt_audio": sample, "prompt_text": text}
            self.options.pop("instructions", None)


def _at_rate(speech: np.ndarray, sample_rate: int, rate: float) -> np.ndarray:
    """The speech `rate` times as fast, at the same pitch."""
    return from_s16(Tempo(sample_rate, rate).process(as_s16(speech), last=True))
