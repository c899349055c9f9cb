"""A day's streams: few at night, most at noon, and a tenfold rise within a minute in the afternoon.

Three kinds: clips of some seconds and chapters of minutes, both at the speed of a slot, and live sessions,
which hold their slot in real time and are silent for most of it.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

DAY_SECONDS = 86_400.0
STREAMS = 100_000
PACE = 2.0
"""Seconds of audio that a slot of a sound worker makes per second."""
NOON = 12.5 * 3600
RISE_AT = 17 * 3600.0
RISE_TENFOLD_SECONDS = 60.0
RISE_LASTS_SECONDS = 600.0
RISE_FADES_SECONDS = 300.0
_CLIP_SECONDS, _CHAPTER_SECONDS, _SESSION_SECONDS = 8.0, 240.0, 1100.0
_SPOKEN_SHARE = 0.4
"""Of a live session."""


@dataclass(frozen=True, slots=True)
class Request:
    """One stream."""

    at: float
    kind: str
    held_seconds: float
    """Its slot, on a sound worker."""
    audio_seconds: float

    @property
    def asked_seconds(self) -> float:
        """What admission estimates: of a session, whose length nobody knows, the mean."""
        return _SPOKEN_SHARE * _SESSION_SECONDS if self.kind == "session" else self.audio_seconds


def usual_rate(at: float) -> float:
    """Relative to the mean of the day without the rise: a fifth of noon's at night, a shoulder at eight."""
    noon = math.exp(-(((at - NOON) / (4.2 * 3600)) ** 2))
    evening = 0.55 * math.exp(-(((at - 20 * 3600) / (2.2 * 3600)) ** 2))
    return 0.36 + 1.55 * noon + evening


def rate(at: float) -> float:
    """The same with the rise: to tenfold within a minute, ten minutes, and back within five."""
    since = at - RISE_AT
    if since < 0:
        factor = 1.0
    elif since < RISE_TENFOLD_SECONDS:
        factor = 1 + 9 * since / RISE_TENFOLD_SECONDS
    else:
        left = 1 - (since - RISE_TENFOLD_SECONDS - RISE_LASTS_SECONDS) / RISE_FADES_SECONDS
        factor = 1 + 9 * min(max(left, 0.0), 1.0)
    return factor * usual_rate(at)


def requests(streams: int, seed: int) -> list[Request]:
    """So many in order of time."""
    numbers = random.Random(seed)
    steps = [rate(at + 0.5) for at in range(int(DAY_SECONDS))]
    times = sorted(
        second + numbers.random() for second in numbers.choices(range(len(steps)), steps, k=streams)
    )
    return [_request(at, numbers) for at in times]


def _request(at: float, numbers: random.Random) -> Request:
    kind = numbers.random()
    if kind < 0.60:
        audio = _around(_CLIP_SECONDS, numbers)
        return Request(at, "clip", audio / PACE, audio)
    if kind < 0.85:
        audio = _around(_CHAPTER_SECONDS, numbers)
        return Request(at, "chapter", audio / PACE, audio)
    held = _around(_SESSION_SECONDS, numbers)
    return Request(at, "session", held, _SPOKEN_SHARE * held)


def _around(mean: float, numbers: random.Random, spread: float = 0.6) -> float:
    """Log-normal."""
    return numbers.lognormvariate(math.log(mean) - spread**2 / 2, spread)
