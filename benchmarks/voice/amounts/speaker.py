"""The recordings of a speaker: some of them held out, the others in an order whose beginnings are amounts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile

from models.voxcpm.finetuning.recordings.dataset import read_dataset
from models.voxcpm.vae.audio_encoding import read_audio, resample

HELD_OUT = 20


@dataclass(frozen=True)
class Said:
    """A recording in memory: float32 [samples] at `rate`, and its words."""

    samples: np.ndarray
    rate: int
    text: str

    @property
    def seconds(self) -> float:
        return len(self.samples) / self.rate

    def at(self, rate: int) -> np.ndarray:
        return resample(self.samples, self.rate, rate)


def as_by_telephone(said: Said) -> Said:
    return Said(said.at(8000), 8000, said.text)


def cut_short(said: Said) -> Said:
    words = said.text.split()
    return Said(said.samples, said.rate, " ".join(words[: max(1, len(words) // 2)]))


def shifted(said: Said, factor: float) -> Said:
    """Pitch and formants times `factor`, at the same pace."""
    if factor == 1:
        return said
    from librosa.effects import time_stretch  # which Resemblyzer brings

    moved = resample(said.samples, round(said.rate * factor), said.rate)
    return Said(time_stretch(moved, rate=1 / factor), said.rate, said.text)


def parts_of(recordings: list[Said], seed: int = 0) -> tuple[list[Said], list[Said]]:
    """Held out, and to be learnt: the same ones for every amount."""
    order = np.random.default_rng(seed).permutation(len(recordings))
    mixed = [recordings[i] for i in order]
    return mixed[:HELD_OUT], mixed[HELD_OUT:]


def first_minutes(recordings: list[Said], minutes: float) -> list[Said]:
    """As many of them as last so long; all where they are fewer."""
    ends = np.cumsum([said.seconds for said in recordings])
    return recordings[: int(np.searchsorted(ends, 60 * minutes)) + 1]


def write(recordings: Iterable[Said], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for number, said in enumerate(recordings):
        soundfile.write(folder / f"{number:04}.flac", said.samples, said.rate)
        lines.append(json.dumps({"audio": f"{number:04}.flac", "text": said.text}))
    (folder / "train.jsonl").write_text("\n".join(lines) + "\n")


def read(folder: Path) -> list[Said]:
    """All recordings of a data set, with their transcripts. Raises DatasetError."""
    return [Said(*read_audio(one.audio), one.text) for one in read_dataset(folder)]


def prepare(recordings: Path, shift: float, normalise: Callable[[str], str], folder: Path) -> None:
    """Write both parts into `folder`, unless they are there. Raises DatasetError."""
    if (folder / "learnt" / "train.jsonl").is_file():
        return
    spoken = [Said(one.samples, one.rate, normalise(one.text)) for one in read(recordings)]
    held_out, learnt = parts_of(spoken)
    write((shifted(one, shift) for one in held_out), folder / "held_out")
    write((shifted(one, shift) for one in learnt), folder / "learnt")
