"""Synthesised speech in device memory, read while the teachers still speak.

`SpeechStore` holds all samples in one int16 tensor, so that a training crop is an index operation on
the device and no loader process is needed. Utterances begin and end in silence, so a crop may span
two of them.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from models.voxcpm.training.speech.synthesis import LONGEST_SECONDS
from models.voxcpm.training.speech.teachers import SPEECH_RATE


@dataclass(frozen=True)
class SpokenText:
    """One utterance of the store: `samples` samples at 24 kHz from `start`; `voice` names its speaker."""

    start: int
    samples: int
    voice: str
    kind: str
    text: str


class _Shard:
    """One process's files, of which `consumed` samples and `table_bytes` bytes have been read."""

    def __init__(self, audio_path: Path) -> None:
        self.audio_path, self.table_path = audio_path, audio_path.with_suffix(".tsv")
        self.consumed = self.table_bytes = 0

    def read_new(self, most_samples: int) -> tuple[np.ndarray, list[SpokenText]]:
        """Samples and utterances written since the last call; starts count from the returned samples."""
        with open(self.table_path, "rb") as table:
            table.seek(self.table_bytes)
            complete = table.read().rpartition(b"\n")[0]
        utterances, end = [], self.consumed
        for line in complete.decode().split("\n") if complete else []:
            start, samples, voice, kind, text = line.split("\t")
            if int(start) + int(samples) - self.consumed > most_samples:
                break
            utterances.append(SpokenText(int(start) - self.consumed, int(samples), voice, kind, text))
            end = int(start) + int(samples)
            self.table_bytes += len(line.encode()) + 1
        audio = np.fromfile(self.audio_path, dtype="<i2", count=end - self.consumed, offset=2 * self.consumed)
        self.consumed = end
        return audio, utterances


class SpeechStore:
    """At most `hours` of the speech under `folder`, on `device`."""

    def __init__(self, folder: Path, device: torch.device, hours: float) -> None:
        self._folder = folder
        self._shards: dict[Path, _Shard] = {}
        self.audio = torch.zeros(int(hours * 3600 * SPEECH_RATE), dtype=torch.int16, device=device)
        self.filled = 0
        self.utterances: list[SpokenText] = []

    @property
    def hours(self) -> float:
        return self.filled / SPEECH_RATE / 3600

    @property
    def full(self) -> bool:
        """Whether there may be no room for another utterance."""
        return len(self.audio) - self.filled < LONGEST_SECONDS * SPEECH_RATE

    def wait_for(self, seconds: float, deadline: float) -> None:
        """Block until there are `seconds` of speech. Raises TimeoutError after `deadline` (time.time())."""
        self.refresh()
        while self.filled < seconds * SPEECH_RATE:
            if time.time() > deadline:
                raise TimeoutError(f"only {self.filled / SPEECH_RATE:.0f} s of speech after all")
            time.sleep(1)
            self.refresh()

    def refresh(self) -> None:
        """Take in what has been written since the last call, as far as there is room."""
        for path in sorted(self._folder.glob("*.i16")):
            if path.with_suffix(".tsv").exists():
                shard = self._shards.setdefault(path, _Shard(path))
                audio, utterances = shard.read_new(len(self.audio) - self.filled)
                self.audio[self.filled : self.filled + len(audio)] = torch.from_numpy(audio).to(
                    self.audio.device
                )
                self.utterances += [
                    SpokenText(self.filled + u.start, u.samples, u.voice, u.kind, u.text) for u in utterances
                ]
                self.filled += len(audio)

    def crops(self, count: int, samples: int, lowest_gain: float = 0.4, highest_gain: float = 1.15) -> Tensor:
        """Random stretches, each with a random gain: float32 [count, 1, samples] in [-1, 1]."""
        device = self.audio.device
        start = torch.randint(0, self.filled - samples, (count, 1), device=device)
        gain = torch.empty(count, 1, device=device).uniform_(lowest_gain, highest_gain)
        audio = self.audio[start + torch.arange(samples, device=device)].float() * (gain / 32768)
        return audio.clamp_(-1, 1)[:, None]
