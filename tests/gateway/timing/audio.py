"""Audio whose words are where a test says, and an aligner that a test tells what to hear."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from gateway.timing.aligner import AlignmentError
from gateway.timing.alignment import Heard, Span

RATE = 16_000


def noise(spans: Sequence[Span], seconds: float, rate: int = RATE) -> bytes:
    """s16le samples that are loud within `spans` and nearly silent elsewhere."""
    samples = np.random.default_rng(0).normal(0, 1, round(seconds * rate))
    for start, end in pairwise([0.0, *(at for span in spans for at in span), seconds]):
        is_silent = start == 0.0 or any(start == silent for _, silent in spans)
        samples[round(start * rate) : round(end * rate)] *= 3 if is_silent else 3000
    return samples.astype("<i2").tobytes()


class FakeAligner:
    """Hears every piece for `seconds_each`, one after the other; `answers` may be held back, or refused."""

    def __init__(self, seconds_each: float = 0.1, confidence: float = 0.9, refusal: str = "") -> None:
        self.seconds_each, self.confidence, self.refusal = seconds_each, confidence, refusal
        self.asked: list[tuple[int, list[str], str]] = []
        self.confidences: list[float] = []
        """Of the first answers, instead of `confidence`."""
        self.busy = False
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self._asked = asyncio.Condition()

    async def was_asked(self, times: int) -> None:
        """Wait for so many questions."""
        async with self._asked:
            await self._asked.wait_for(lambda: len(self.asked) >= times)

    async def align(self, pcm: bytes, sample_rate: int, pieces: Sequence[str], language: str) -> Heard:
        async with self._asked:
            self.asked.append((len(pcm) // 2, list(pieces), language))
            self._asked.notify_all()
        await self.may_answer.wait()
        if self.refusal:
            raise AlignmentError(self.refusal)
        edges = [index * self.seconds_each for index in range(len(pieces) + 1)]
        answers = self.confidences[len(self.asked) - 1 :]
        return Heard(list(pairwise(edges)), answers[0] if answers else self.confidence)

    async def close(self) -> None:
        self.may_answer.set()
