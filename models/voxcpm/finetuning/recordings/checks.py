"""What users get wrong about recordings, found before a step is made.

    findings = Checks(tokenizer, longest_seconds=30).of_recording(recording, speech)

A finding either leaves a recording out or says what will be heard of it. Users are told once per kind, with a
count and an example.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from models.voxcpm.finetuning.recordings.dataset import DatasetError, Recording
from models.voxcpm.finetuning.recordings.speech import Speech
from models.voxcpm.requests.tokenizer import TextTokenizer

Kind = Literal[
    "unreadable", "silent", "short", "long", "mismatch", "language",
    "clipped", "quiet", "noisy", "narrow", "silence", "speakers",
]  # fmt: skip
LEFT_OUT: frozenset[Kind] = frozenset({"unreadable", "silent", "short", "long", "mismatch", "language"})
ADVICE: dict[Kind, str] = {
    "unreadable": "left out, cannot be read as audio",
    "silent": "left out, nothing is heard",
    "short": "left out, shorter than a second",
    "long": "left out, too long for one example of training: cut them at sentences",
    "mismatch": "left out, far too long or too short for their transcripts: see that the texts belong to the "
    "files and are complete",
    "language": "left out, with characters that this model cannot read: another language, or figures and "
    "signs that want to be written out",
    "clipped": "clipped, which the voice will be, too: record at a lower level",
    "quiet": "very quiet: they are made louder, and so is their noise",
    "noisy": "with loud noise behind the speech, which the voice will have, too",
    "narrow": "sampled below the model's rate: the voice will sound muffled",
    "silence": "with long silence before or after the speech, which is cut off",
    "speakers": "so different in pitch that several people seem to speak: an adapter is one voice",
}
SHORTEST_SECONDS = 1.0
LEAST_TOTAL_SECONDS, ADVISED_TOTAL_SECONDS = 30.0, 180.0
LEAST_RECORDINGS = 2
"""One is held out to tell which step is the best."""
CLIPPED_SHARE, QUIET_DB, LEAST_SNR_DB, LONG_SILENCE_SECONDS = 0.0005, -45.0, 18.0, 1.0
UNITS_PER_SECOND = (2.0, 32.0)
"""Of speech: letters; a Chinese character counts as three."""
MOST_UNKNOWN_SHARE = 0.03
MOST_PITCH_RATIO = 1.7
"""Between the recordings of one speaker's lower and higher pitch, 10th and 90th percentile."""
_IDEOGRAPHS = ("\u3040", "\ud7ff")


@dataclass(frozen=True)
class Finding:
    """One thing about one recording, or about all of them (`file` is empty)."""

    kind: Kind
    file: str
    detail: str

    @property
    def leaves_out(self) -> bool:
        return self.kind in LEFT_OUT


class Checks:
    """What a model and its longest example make of recordings.

    most_positions: of text and audio together, of which a second has `positions_per_second`.
    """

    def __init__(
        self,
        tokenizer: TextTokenizer,
        longest_seconds: float,
        rate: int,
        most_positions: float = math.inf,
        positions_per_second: float = 0.0,
    ) -> None:
        self._tokenizer, self._longest, self._rate = tokenizer, longest_seconds, rate
        self._most_positions, self._per_second = most_positions, positions_per_second

    def of_recording(self, recording: Recording, text: str, speech: Speech) -> list[Finding]:
        """text: the transcript as the model is to read it."""
        found: list[tuple[Kind, str]] = []
        seconds = speech.seconds
        if seconds < SHORTEST_SECONDS:
            found.append(("short", f"{seconds:.1f} s"))
        elif seconds > self._longest:
            found.append(("long", f"{seconds:.0f} s, the limit is {self._longest:.0f} s"))
        elif (positions := self._positions(text, seconds)) > self._most_positions:
            detail = f"with its text it has {positions} positions, the limit is {self._most_positions}"
            found.append(("long", detail))
        pace = units(text) / max(seconds, 0.1)
        if seconds >= SHORTEST_SECONDS and not UNITS_PER_SECOND[0] <= pace <= UNITS_PER_SECOND[1]:
            found.append(("mismatch", f"{pace:.1f} letters a second"))
        if (unknown := self._tokenizer.unknown_share(text)) > MOST_UNKNOWN_SHARE:
            found.append(("language", f"{unknown:.0%} of it"))
        if speech.clipped > CLIPPED_SHARE:
            found.append(("clipped", f"{speech.clipped:.1%} of the samples"))
        if speech.level_db < QUIET_DB:
            found.append(("quiet", f"{speech.level_db:.0f} dB"))
        if speech.level_db - speech.noise_db < LEAST_SNR_DB:
            found.append(("noisy", f"{speech.level_db - speech.noise_db:.0f} dB below the speech"))
        if speech.recorded_rate < self._rate:
            found.append(("narrow", f"{speech.recorded_rate} Hz, the model hears {self._rate}"))
        if max(speech.lead_seconds, speech.tail_seconds) > LONG_SILENCE_SECONDS:
            found.append(("silence", f"{max(speech.lead_seconds, speech.tail_seconds):.1f} s"))
        return [Finding(kind, recording.audio.name, detail) for kind, detail in found]

    def _positions(self, text: str, seconds: float) -> int:
        return len(self._tokenizer.encode(text)) + math.ceil(seconds * self._per_second)


def of_all(speeches: Sequence[Speech], speakers: int) -> list[Finding]:
    """What only all recordings that are left tell. Raises DatasetError where there is too little of them."""
    total = sum(speech.seconds for speech in speeches)
    if total < LEAST_TOTAL_SECONDS:
        raise DatasetError(
            f"{total:.0f} s of speech can be used; at least {LEAST_TOTAL_SECONDS:.0f} s are needed, and "
            f"{ADVISED_TOTAL_SECONDS / 60:.0f} to 10 minutes make a voice"
        )
    if len(speeches) < LEAST_RECORDINGS:
        raise DatasetError(
            f"one recording can be used, at least {LEAST_RECORDINGS} are needed: add others, or cut it at "
            "sentences, with a transcript for each piece"
        )
    pitches = [found for speech in speeches if (found := pitch(speech.samples, speech.rate)) is not None]
    if speakers > 1 or len(pitches) < 5:
        return []
    low, high = np.percentile(pitches, [10, 90])
    if high <= low * MOST_PITCH_RATIO:
        return []
    return [Finding("speakers", "", f"from {low:.0f} to {high:.0f} Hz")]


@dataclass(frozen=True)
class Summary:
    """All findings of one kind. files: the recordings; none where it is all of them."""

    kind: Kind
    files: tuple[str, ...]
    message: str


def summary(findings: Iterable[Finding]) -> list[Summary]:
    """One per kind, what leaves recordings out first."""
    by_kind: dict[Kind, list[Finding]] = {}
    for finding in findings:
        by_kind.setdefault(finding.kind, []).append(finding)
    order = sorted(by_kind, key=lambda kind: (kind not in LEFT_OUT, list(ADVICE).index(kind)))
    return [_summary(kind, by_kind[kind]) for kind in order]


def _summary(kind: Kind, findings: Sequence[Finding]) -> Summary:
    first, count = findings[0], len(findings)
    subject = f"{count} recording{'s' if count > 1 else ''}" if first.file else "the recordings"
    example = f"{first.file}: {first.detail}" if first.file else first.detail
    files = tuple(finding.file for finding in findings if finding.file)
    return Summary(kind, files, f"{subject} {ADVICE[kind]} ({example})")


def units(text: str) -> float:
    """How much there is to say: letters and digits, where a Chinese or Japanese character counts as three."""
    low, high = _IDEOGRAPHS
    return sum(3 if low <= character <= high else 1 for character in text if character.isalnum())


def pitch(samples: np.ndarray, rate: int) -> float | None:
    """Median pitch in Hz of the voiced parts, by autocorrelation; None where hardly anything is voiced."""
    width, step = round(0.04 * rate), round(0.02 * rate)
    starts = np.arange(0, len(samples) - width, step)
    if not len(starts):
        return None
    frames = samples[starts[:, None] + np.arange(width)].astype(np.float64)
    frames -= frames.mean(axis=1, keepdims=True)
    energy = np.square(frames).sum(axis=1)
    frames = frames[energy > 0.1 * np.percentile(energy, 95)]
    spectra = np.fft.rfft(frames, 2 * width, axis=1)
    correlation = np.fft.irfft(np.abs(spectra) ** 2, axis=1)[:, :width]
    # The overlap of a long lag is shorter, and so is its sum.
    correlation /= correlation[:, :1] * (1 - np.arange(width) / width)
    shortest, longest = round(rate / 400), round(rate / 60)
    lags = correlation[:, shortest:longest]
    voiced = lags.max(axis=1) > 0.6
    if voiced.sum() < 10:
        return None
    return float(np.median(rate / (shortest + lags[voiced].argmax(axis=1))))
