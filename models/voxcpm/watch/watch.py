"""Watches the speech of one request while it is made, and says what is wrong with it.

    watch = SpeechWatch(statistics, num_text_tokens, patch_seconds, pauses=2)
    watch.see(latents, peak)        # every patch: "", or once what is wrong with the speech so far
    watch.flaw("stop")              # after the last: "", or what is wrong with all of it

Peaks tell silence and clipping, latents tell repetition, with any checkpoint. Two more flaws are told of
one that brings the statistics of its own good speech (`watch.npz`): its speech is as long as its text
lets expect, and a frame follows from the one before it. Noise in what patches are made from shows in the
steps between them. `statistics.py` fits them.

What is said of the speech so far depends on the patches alone, not on how many of them other workers made:
where a patch is silent is told by who made it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from models.speech import Flaw
from models.voxcpm.watch.statistics import RunningSurprise, SpeechStatistics

SILENCE_LEVEL = 10 ** (-60 / 20)
"""Peak of a patch that nobody hears."""
CLIPPED_PEAK, CLIPPED_SHARE = 0.999, 0.1
QUIET_PEAK = 10 ** (-40 / 20)
"""Of the loudest tenth of all patches."""
SILENT_SHARE, SILENT_SECONDS = 0.9, 1.0
"""Of all patches; and of the first ones, which is told at once."""
ASKED_SILENT_SHARE = 0.99
"""Of a clip whose length was asked for: a word and silence may be all there is to say in it."""
STUCK_LIKENESS, STUCK_SECONDS = 0.98, 1.0
"""Neighbouring audible patches that are as alike as this, for so long."""
SHORTEST, LONGEST = 0.6, 2.0
"""Of the length that the text lets expect."""
SPARE_PATCHES = 6.0
PAUSE_SECONDS = 0.6
"""Of silence after a sentence within the text, which does not make speech too long."""
MOST_SURPRISE = 1.5
"""How much less a patch may follow from the one before it than in good speech."""
EXAMPLE_SPARE = 0.4
LEAST_STEPS = 11
"""Between patches; from fewer a surprise is not told."""
LOOK_PATCHES = 6
"""The speech so far is looked at after every so many."""


class SpeechWatch:
    """Watches the speech of one request for flaws.

    Args:
        num_tokens: of its text; 0 where its length was asked for otherwise.
        resumed: patches [n, P, D] that were made elsewhere.
        silence: of those, see `SpeechRequest.resume_silence`.
        examples: patches [n, P, D] of whoever speaks. Who was not among the voices that the statistics were
            fitted with moves otherwise: speech may be as surprising as they are, and `EXAMPLE_SPARE` more.
        as_fitted: with guidance and steps for which the statistics hold; else noise is not told.
        pauses: ends of sentences within the text. Of many short sentences, as in "Stop. Wait. Listen.", the
            pauses are half of the speech.
    """

    def __init__(
        self,
        statistics: SpeechStatistics | None,
        num_tokens: int,
        patch_seconds: float,
        resumed: np.ndarray | None = None,
        silence: tuple[int, int, int] | None = None,
        examples: Sequence[np.ndarray] = (),
        as_fitted: bool = True,
        pauses: int = 0,
    ) -> None:
        self._surprise = RunningSurprise(statistics, pauses) if statistics and as_fitted else None
        self._most_surprise = MOST_SURPRISE
        if statistics:
            known = [statistics.surprise(example) for example in examples if len(example) > LEAST_STEPS]
            self._most_surprise = max([MOST_SURPRISE, *(surprise + EXAMPLE_SPARE for surprise in known)])
        self._expected = statistics.expected_patches(num_tokens) if statistics and num_tokens else 0.0
        self._most_paused = pauses * PAUSE_SECONDS / patch_seconds
        self._stuck_patches = math.ceil(STUCK_SECONDS / patch_seconds)
        self._silent_patches = math.ceil(SILENT_SECONDS / patch_seconds)
        self._silent_share = SILENT_SHARE if num_tokens else ASKED_SILENT_SHARE
        self._latents = [] if resumed is None else list(resumed)
        self._silent, _, since = silence or (0, 0, len(self._latents))
        self._audible = [False] * (len(self._latents) - since) + [True] * since
        """Of each patch; of those that were made elsewhere, whether none after it was silent."""
        self._run = self._longest = self._compared = 0
        """Patches in a row that are like the one before them: now, at most; and how many were compared."""
        self._peaks: list[float] = []
        self._told = False

    def see(self, latents: np.ndarray, peak: float) -> Flaw:
        """The next patch: latents [P, D], and the largest magnitude of its audio.

        A flaw of the speech so far is told once; a short look every `LOOK_PATCHES`.
        """
        self._latents.append(latents.copy())  # of a row, not of the batch that it is a view of
        self._peaks.append(peak)
        self._audible.append(peak > SILENCE_LEVEL)
        self._silent += peak <= SILENCE_LEVEL
        if self._told or len(self._latents) % LOOK_PATCHES:
            return ""
        flaw = self._flaw_so_far()
        self._told = bool(flaw)
        return flaw

    def flaw(self, finish_reason: str) -> Flaw:
        """What is worst about the whole speech; "" where nothing is wrong."""
        peaks = np.array(self._peaks)
        if self._silent > self._silent_share * len(self._latents):
            return "silent"
        if finish_reason == "runaway":
            return "long"
        if finish_reason == "stop" and (flaw := self._length_flaw()):
            return flaw
        if self._is_noisy():
            return "noisy"
        if self._is_stuck():
            return "repeated"
        if len(peaks) and np.percentile(peaks, 90) < QUIET_PEAK:
            return "quiet"
        if len(peaks) and float((peaks >= CLIPPED_PEAK).mean()) > CLIPPED_SHARE:
            return "clipped"
        return ""

    def _flaw_so_far(self) -> Flaw:
        patches = len(self._latents)
        if self._silent == patches >= self._silent_patches:
            return "silent"
        if self._length_flaw() == "long":
            return "long"
        if self._is_noisy():
            return "noisy"
        return "repeated" if self._is_stuck() else ""

    def _length_flaw(self) -> Flaw:
        patches = len(self._latents)
        if not self._expected:
            return ""
        if patches < SHORTEST * self._expected - SPARE_PATCHES:
            return "short"
        spoken = patches - min(self._silent, self._most_paused)
        return "long" if spoken > LONGEST * self._expected + SPARE_PATCHES else ""

    def _is_noisy(self) -> bool:
        if self._surprise is None or len(self._latents) <= LEAST_STEPS:
            return False
        return self._surprise.of(self._latents, LOOK_PATCHES) > self._most_surprise

    def _is_stuck(self) -> bool:
        """Whether neighbours are alike for too long."""
        first = max(self._compared - 1, 0)
        flat = np.stack(self._latents[first:]).reshape(len(self._latents) - first, -1)
        power = np.einsum("ij,ij->i", flat, flat)
        alike = np.einsum("ij,ij->i", flat[1:], flat[:-1]) > STUCK_LIKENESS * np.sqrt(power[1:] * power[:-1])
        for same, audible in zip(alike.tolist(), self._audible[first + 1 :], strict=True):
            self._run = self._run + 1 if same and audible else 0
            self._longest = max(self._longest, self._run)
        self._compared = len(self._latents)
        return self._longest >= self._stuck_patches
