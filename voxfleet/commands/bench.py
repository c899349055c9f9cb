"""`voxfleet bench`: what listeners of a running server get, at a given number of them.

Each of `concurrency` listeners sends one request after the other over the streaming API. Per request: the
time to the first audio, the real-time factor (wall seconds per audio second, queueing included), and what a
player that starts `preroll_seconds` after the first chunk would have suffered: underruns, and the seconds of
silence they cost.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from voxfleet.client import SpeechError, stream_speech

SAMPLE_BYTES = 2
TEXTS = (
    "The quick brown fox jumps over the lazy dog.",
    "A gentle wind moved over the hills as the evening train came in.",
    "Please remember to close the window before you leave the room.",
    "Seven small boats were lying on the beach in the morning sun.",
)


@dataclass
class Playback:
    """A player that pauses whenever it has played all it got."""

    preroll_seconds: float
    underruns: int = 0
    silent_seconds: float = 0.0
    audio_seconds: float = 0.0
    _starts_at: float | None = None

    def receive(self, at_seconds: float, audio_seconds: float) -> None:
        """A chunk arrived."""
        if self._starts_at is None:
            self._starts_at = at_seconds + self.preroll_seconds
        late_seconds = at_seconds - (self._starts_at + self.audio_seconds + self.silent_seconds)
        if late_seconds > 0:
            self.underruns += 1
            self.silent_seconds += late_seconds
        self.audio_seconds += audio_seconds

    def plays_at(self, offset_seconds: float) -> float:
        """When the newest chunk's sample at that offset of the clip is played.

        Raises ValueError before there is audio.
        """
        if self._starts_at is None:
            raise ValueError("no audio yet")
        return self._starts_at + self.silent_seconds + offset_seconds


@dataclass(frozen=True)
class RequestResult:
    first_audio_seconds: float
    wall_seconds: float
    playback: Playback


@dataclass
class BenchResult:
    """All that was measured; `summary()` is the JSON."""

    concurrency: int
    wall_seconds: float = 0.0
    requests: list[RequestResult] = field(default_factory=list)
    errors: Counter[str] = field(default_factory=Counter)

    def include(self, other: BenchResult) -> None:
        """Add what other listeners heard; the time is whoever's that measured it."""
        self.requests += other.requests
        self.errors += other.errors

    def summary(self) -> dict[str, Any]:
        """Figures by name, times in seconds; a distribution is None when no request succeeded."""
        audio_seconds = sum(request.playback.audio_seconds for request in self.requests)
        spoken = [request for request in self.requests if request.playback.audio_seconds > 0]
        return {
            "concurrency": self.concurrency,
            "requests": len(self.requests),
            "errors": dict(self.errors),
            "wall_seconds": round(self.wall_seconds, 3),
            "audio_seconds": round(audio_seconds, 3),
            "audio_seconds_per_second": round(audio_seconds / self.wall_seconds, 3)
            if self.wall_seconds
            else None,
            "first_audio_seconds": distribution([request.first_audio_seconds for request in spoken]),
            "rtf": distribution(
                [request.wall_seconds / request.playback.audio_seconds for request in spoken]
            ),
            "underruns": sum(request.playback.underruns for request in spoken),
            "requests_with_underruns": sum(request.playback.underruns > 0 for request in spoken),
            "silent_seconds": round(sum(request.playback.silent_seconds for request in spoken), 3),
        }


def distribution(values: Sequence[float]) -> dict[str, float] | None:
    """Mean and percentiles, or None without values."""
    if not values:
        return None
    p50, p90, p99 = np.percentile(values, [50, 90, 99])
    figures = {"mean": np.mean(values), "p50": p50, "p90": p90, "p99": p99, "max": max(values)}
    return {name: round(float(value), 4) for name, value in figures.items()}


async def run_bench(
    url: str,
    concurrency: int,
    request_count: int,
    texts: Sequence[str] = TEXTS,
    voice: str = "default",
    preroll_seconds: float = 0.1,
    api_key: str | None = None,
) -> BenchResult:
    """Sends `request_count` requests from `concurrency` listeners. Failures are counted, not raised."""
    result = BenchResult(concurrency)
    numbers = iter(range(request_count))

    async def listen() -> None:
        for number in numbers:
            try:
                text = texts[number % len(texts)]
                result.requests.append(await measure(url, text, voice, number, preroll_seconds, api_key))
            except SpeechError as error:
                result.errors[error.code or str(error)] += 1

    started = time.perf_counter()
    await asyncio.gather(*(listen() for _ in range(concurrency)))
    result.wall_seconds = time.perf_counter() - started
    return result


async def measure(
    url: str, text: str, voice: str, seed: int, preroll_seconds: float, api_key: str | None
) -> RequestResult:
    """One request, heard to its end. Raises SpeechError."""
    playback = Playback(preroll_seconds)
    sample_rate = 0
    first_audio_seconds = 0.0
    started = time.perf_counter()
    async for item in stream_speech(url, text, resume=False, api_key=api_key, voice=voice, seed=seed):
        elapsed_seconds = time.perf_counter() - started
        if isinstance(item, bytes):
            first_audio_seconds = first_audio_seconds or elapsed_seconds
            playback.receive(elapsed_seconds, len(item) / SAMPLE_BYTES / sample_rate)
        elif item["type"] == "started":
            sample_rate = item["sample_rate"]
    return RequestResult(first_audio_seconds, time.perf_counter() - started, playback)
