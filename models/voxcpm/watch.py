"""Watches the speech of one request while it is made, and says at its end what is wrong with it.

    watch = SpeechWatch(statistics, num_text_tokens, patch_seconds)
    watch.see(latents, peak)        # every patch, some hundred nanoseconds
    watch.flaw("stop")              # after the last: "", or what is wrong

Peaks tell silence and clipping, latents tell repetition, with any checkpoint. Two more flaws are told of
one that brings the statistics of its own good speech (`watch.npz`): its speech is as long as its text
lets expect, and a frame follows from the one before it. Noise in what patches are made from shows in the
steps between them.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np

from models.speech import Flaw

FILE_NAME = "watch.npz"
SILENCE_LEVEL = 10 ** (-60 / 20)
"""Peak of a patch that nobody hears."""
CLIPPED_PEAK, CLIPPED_SHARE = 0.999, 0.1
QUIET_PEAK = 10 ** (-40 / 20)
"""Of the loudest tenth of all patches."""
SILENT_SHARE = 0.9
STUCK_LIKENESS, STUCK_SECONDS = 0.98, 1.0
"""Neighbouring audible patches that are as alike as this, for so long."""
SHORTEST, LONGEST = 0.6, 2.0
"""Of the length that the text lets expect."""
SPARE_PATCHES = 6.0
MOST_SURPRISE = 1.6
"""How much less a patch may follow from the one before it than in good speech."""
LEAST_STEPS = 12
"""Between patches; from fewer a surprise is not told."""


@dataclass(frozen=True)
class SpeechStatistics:
    """Of the good speech of one checkpoint."""

    transition: np.ndarray
    """float32 [D + 1, D]: (a frame, 1) @ transition is what is expected of the next frame."""
    whitener: np.ndarray
    """float32 [D, D]: makes the differences from that independent; D of them have the latents' mean power."""
    patches_per_token: float
    patches_besides: float

    @classmethod
    def load(cls, directory: Path) -> Self | None:
        """Those of a checkpoint; None where it brings none. Raises ValueError, KeyError, OSError."""
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
        """Of a text of so many tokens."""
        return self.patches_per_token * num_tokens + self.patches_besides

    def surprise(self, latents: np.ndarray) -> float:
        """How little patches [n, P, D] follow from the ones before them: about 1 in good speech.

        The mean squared difference from what is expected of the first frame of each patch, over the power of
        the latents.
        """
        frames = np.ascontiguousarray(latents, np.float32)
        wrong = (frames[1:, 0] - _with_one(frames[:-1, -1]) @ self.transition) @ self.whitener
        return float(np.square(wrong).sum(1).mean() / np.square(frames).mean())


def _with_one(frames: np.ndarray) -> np.ndarray:
    return np.c_[frames, np.ones(len(frames), frames.dtype)]


class SpeechWatch:
    """Of one request.

    Args:
        num_tokens: of its text; 0 where its length was asked for otherwise.
        resumed: patches [n, P, D] that were made elsewhere.
    """

    def __init__(
        self,
        statistics: SpeechStatistics | None,
        num_tokens: int,
        patch_seconds: float,
        resumed: np.ndarray | None = None,
    ) -> None:
        self._statistics = statistics
        self._num_tokens = num_tokens
        self._patch_seconds = patch_seconds
        self._latents = [] if resumed is None else list(resumed)
        self._peaks: list[float] = []

    def see(self, latents: np.ndarray, peak: float) -> None:
        """The next patch: latents [P, D], and the largest magnitude of its audio."""
        self._latents.append(latents.copy())  # of a row, not of the batch that it is a view of
        self._peaks.append(peak)

    def flaw(self, finish_reason: str) -> Flaw:
        """What is worst about the whole speech; "" where nothing is wrong."""
        peaks, latents = np.array(self._peaks), np.stack(self._latents)
        silent = float((peaks <= SILENCE_LEVEL).mean()) if len(peaks) else 0.0
        if silent > SILENT_SHARE:
            return "silent"
        if finish_reason == "runaway":
            return "long"
        if finish_reason == "stop" and (flaw := self._length_flaw(len(latents))):
            return flaw
        if self._is_noisy(latents):
            return "noisy"
        if self._is_stuck(latents, peaks):
            return "repeated"
        if len(peaks) and np.percentile(peaks, 90) < QUIET_PEAK:
            return "quiet"
        if len(peaks) and float((peaks >= CLIPPED_PEAK).mean()) > CLIPPED_SHARE:
            return "clipped"
        return ""

    def _length_flaw(self, patches: int) -> Flaw:
        if self._statistics is None or not self._num_tokens:
            return ""
        expected = self._statistics.expected_patches(self._num_tokens)
        if patches < SHORTEST * expected - SPARE_PATCHES:
            return "short"
        return "long" if patches > LONGEST * expected + SPARE_PATCHES else ""

    def _is_noisy(self, latents: np.ndarray) -> bool:
        if self._statistics is None or len(latents) <= LEAST_STEPS:
            return False
        return self._statistics.surprise(latents) > MOST_SURPRISE

    def _is_stuck(self, latents: np.ndarray, peaks: np.ndarray) -> bool:
        flat = latents[len(latents) - len(peaks) :].reshape(len(peaks), -1)
        lengths = np.linalg.norm(flat, axis=1) + 1e-9
        alike = (flat[1:] * flat[:-1]).sum(1) / (lengths[1:] * lengths[:-1]) > STUCK_LIKENESS
        alike &= peaks[1:] > SILENCE_LEVEL
        run = longest = 0
        for same in alike:
            run = run + 1 if same else 0
            longest = max(longest, run)
        return longest * self._patch_seconds >= STUCK_SECONDS
