"""Statistics of the good speech of one checkpoint, which its watch goes by (`watch.py`).

`watch.npz` beside the weights has them. `python -m models.voxcpm.watch.fit MODEL` writes it.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Self

import numpy as np

FILE_NAME = "watch.npz"
MOST_OF_A_STEP = 3.0
"""What one step between two patches counts at most, times their power.

In a pause between sentences a step may be ten times as surprising as others, and nobody hears it; noise is in
all of them.
"""
STEPS_A_PAUSE = 5
"""Fewer than there are from one pause to the next, where each sentence is a word."""


@dataclass(frozen=True)
class SpeechStatistics:
    """What good speech of one checkpoint is like."""

    transition: np.ndarray
    """float32 [D + 1, D]: (a frame, 1) @ transition is what is expected of the next frame."""
    whitener: np.ndarray
    """float32 [D, D]: makes the differences from that independent; D of them have the latents' mean power."""
    patches_per_token: float
    patches_besides: float

    @classmethod
    def load(cls, directory: Path) -> Self | None:
        """The statistics of a checkpoint; None where it brings none. Raises ValueError, KeyError, OSError."""
        path = directory / FILE_NAME
        if not path.is_file():
            return None
        with np.load(path, allow_pickle=False) as file:
            length = file["length"]
            transition, whitener = (file[name].astype(np.float32) for name in ("transition", "whitener"))
        if transition.shape != (len(whitener) + 1, len(whitener)) or whitener.shape[0] != whitener.shape[1]:
            raise ValueError(f"{path} has matrices of shapes that do not go together")
        return cls(transition, whitener, float(length[0]), float(length[1]))

    def save(self, path: Path) -> None:
        """Write the file that `load` reads."""
        length = np.array([self.patches_per_token, self.patches_besides], np.float32)
        matrices = {"transition": self.transition, "whitener": self.whitener}
        np.savez_compressed(path, length=length, **{k: m.astype(np.float16) for k, m in matrices.items()})

    @classmethod
    def fit(cls, clips: list[np.ndarray], num_tokens: list[int]) -> Self:
        """clips: latents [n, P, D] of good speech, of texts of `num_tokens` tokens."""
        frames = [clip.reshape(-1, clip.shape[-1]).astype(np.float64) for clip in clips]
        before = np.concatenate([_with_one(f[:-1]) for f in frames])
        after = np.concatenate([f[1:] for f in frames])
        ridge = 10.0 * np.eye(before.shape[1])
        transition = np.linalg.solve(before.T @ before + ridge, before.T @ after)
        covariance = np.cov((after - before @ transition).T)
        power = np.square(np.concatenate(frames)).mean()
        whitener = np.linalg.cholesky(np.linalg.inv(covariance)) * np.sqrt(power / len(covariance))
        lengths = np.polyfit(num_tokens, [len(clip) for clip in clips], 1)
        return cls(transition.astype(np.float32), whitener.astype(np.float32), *map(float, lengths))

    def expected_patches(self, num_tokens: int) -> float:
        """How many patches a text of so many tokens usually has."""
        return self.patches_per_token * num_tokens + self.patches_besides

    def surprise(self, latents: np.ndarray) -> float:
        """How little patches [n, P, D] follow from the ones before them: about 1 in good speech.

        The mean squared difference from what is expected of the first frame of each patch, over the power of
        the latents; 0 where these are all 0.
        """
        return _share(float(self.errors(latents).mean()), float(np.square(latents).mean()))

    def errors(self, latents: np.ndarray) -> np.ndarray:
        """How far the first frame of each patch of [n, P, D] but the first is from what is expected.

        float [n - 1]: the squared, whitened difference, no more of each than `MOST_OF_A_STEP` allows.
        """
        matrix, offset = self._step
        wrong = np.concatenate((latents[1:, 0], latents[:-1, -1]), axis=1) @ matrix + offset
        power = np.square(latents).mean(axis=(1, 2))
        most = MOST_OF_A_STEP * (power[1:] + power[:-1]) / 2
        return np.minimum(np.einsum("ij,ij->i", wrong, wrong), most)

    @cached_property
    def _step(self) -> tuple[np.ndarray, np.ndarray]:
        """float32 [2 D, D] and [D]: of (the next frame, a frame) to the whitened difference."""
        expected = self.transition @ self.whitener
        return np.concatenate((self.whitener, -expected[:-1])), -expected[-1]


class RunningSurprise:
    """The surprise of a speech that grows. What it says of n patches depends on them alone.

    pauses: within the text. So many of the most surprising steps are left out, with which the words behind a
    pause begin; one of `STEPS_A_PAUSE` at most.
    """

    def __init__(self, statistics: SpeechStatistics, pauses: int = 0) -> None:
        self._statistics, self._pauses = statistics, pauses
        self._errors = _Errors([], 0.0, 0)
        self._power = 0.0
        self._patches = 0
        """Taken into account."""

    def of(self, latents: Sequence[np.ndarray], look: int) -> float:
        """The surprise of patches [P, D], at least two. Those that were looked at before, in groups of
        `look`, are not looked at again.
        """
        while len(latents) - self._patches >= look:
            errors, power = self._looked_at(latents[max(self._patches - 1, 0) : self._patches + look])
            self._errors = self._errors.plus(errors, self._pauses)
            self._power += power
            self._patches += look
        rest = latents[max(self._patches - 1, 0) :]
        errors, power = self._looked_at(rest) if len(latents) > self._patches else ([], 0.0)
        seen = self._errors.plus(errors, self._pauses)
        error = seen.mean_without(min(self._pauses, seen.steps // STEPS_A_PAUSE))
        return _share(error, (self._power + power) / len(latents))

    def _looked_at(self, latents: Sequence[np.ndarray]) -> tuple[list[float], float]:
        """Errors and power of some patches, the one before them included unless they are the first."""
        group = np.stack(latents)
        new = group[1:] if self._patches else group
        return self._statistics.errors(group).tolist(), float(np.vdot(new, new)) / new[0].size


class _Errors(NamedTuple):
    """The errors of all steps so far: the largest ones, and the others as a sum."""

    largest: list[float]
    """A heap, the smallest first."""
    others: float
    steps: int

    def plus(self, errors: Sequence[float], most: int) -> _Errors:
        """With those of more steps; `most` of all are kept."""
        largest, others = self.largest.copy(), self.others
        for error in errors:
            if len(largest) < most:
                heapq.heappush(largest, error)
            else:
                others += heapq.heappushpop(largest, error)
        return _Errors(largest, others, self.steps + len(errors))

    def mean_without(self, count: int) -> float:
        """The mean of all errors but the `count` largest, all of which are kept."""
        kept = len(self.largest) - count
        return (self.others + sum(heapq.nsmallest(kept, self.largest))) / (self.steps - count)


def _share(error: float, power: float) -> float:
    return error / power if power else 0.0


def _with_one(frames: np.ndarray) -> np.ndarray:
    return np.c_[frames, np.ones(len(frames), frames.dtype)]
