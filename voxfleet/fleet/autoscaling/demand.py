"""How much audio is asked for, and how many slots serve it within the objective.

A clip of 12 s on a worker whose slots make 3 s of audio a second holds a slot for 4 s. Requests that come at
`rate` a second and hold a slot for `hold` seconds each use `rate * hold` slots in the long run (Little's
law), and approach that number by the law of a first-order lag:

    use(t + h) = use(t) * exp(-h / hold) + rate * hold * (1 - exp(-h / hold))

So a rise of short clips counts in full at once, and one of hour-long sessions as far as it is felt by the
time at which a worker that starts now would serve.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

from voxfleet.fleet.autoscaling.window import Sample

FAST_SECONDS = 10.0
"""In which a sudden rise shows."""
SLOW_SECONDS = 120.0
"""Against which it is compared, and over which a steady rate is measured."""
USE_SECONDS = 30.0
"""Over which slots in use are averaged, if workers do not drain sooner."""
_RISE_DEVIATIONS = 5.0
_SLOPE_DEVIATIONS = 2.0
_NORMAL = NormalDist()


@dataclass(frozen=True)
class Demand:
    """What is asked of the workers of one model."""

    audio_seconds_per_second: float
    """Asked for, now."""
    requests_per_second: float
    usual_per_second: float
    """Requests before the last seconds; as `requests_per_second` where they do not rise."""
    slots_now: float
    """In use or waited for."""
    slots_soon: float
    """`slots_now` at the time when a worker that starts now would serve; never less than now."""
    slots_lately: float
    """The most of the time over which workers have to be unneeded before they drain."""

    @property
    def rises(self) -> bool:
        """Whether requests come clearly faster than before."""
        return self.requests_per_second > self.usual_per_second


def estimate(
    samples: Sequence[Sample], now: float, pace: float, horizon_seconds: float, settle_seconds: float
) -> Demand:
    """From samples in the order of time. `pace`: seconds of audio that a slot in use makes per second."""
    rate, usual, soon_rate = _rates(samples, now, horizon_seconds)
    requests = sum(sample.requests for sample in samples)
    length = sum(sample.audio_seconds_asked for sample in samples) / requests if requests else 0.0
    slots_now, slots_lately = _use(samples, now - settle_seconds, min(USE_SECONDS, settle_seconds))
    hold_seconds = length / pace
    stays = math.exp(-horizon_seconds / hold_seconds) if hold_seconds > 0 else 0.0
    soon = slots_now * stays + soon_rate * hold_seconds * (1 - stays)
    return Demand(rate * length, rate, usual, slots_now, max(slots_now, soon), max(slots_lately, slots_now))


def staffed(slots: float, late_share: float) -> float:
    """Slots with which at most `late_share` of the requests wait, when `slots` are in use on average.

    Square-root staffing: slots + beta * sqrt(slots), where 1 / (1 + beta * cdf(beta) / pdf(beta)) is the
    share that waits (Halfin and Whitt, Heavy-traffic limits for queues with many exponential servers, 1981).
    That is a limit for many slots; among few, one more brings it to Erlang's formula.
    """
    slots = max(slots, 0.0)
    return slots + _beta(late_share) * math.sqrt(slots) + min(1.0, 2 * slots)


@lru_cache
def _beta(late_share: float) -> float:
    low, high = 0.0, 8.0
    for _ in range(50):
        beta = (low + high) / 2
        if 1 / (1 + beta * _NORMAL.cdf(beta) / _NORMAL.pdf(beta)) > late_share:
            low = beta
        else:
            high = beta
    return high


def _rates(samples: Sequence[Sample], now: float, horizon_seconds: float) -> tuple[float, float, float]:
    """Requests a second: now, usually, and on average until the horizon."""
    fast = _count(samples, now - FAST_SECONDS, now)
    before = _count(samples, now - 2 * FAST_SECONDS, now - FAST_SECONDS)
    began = max(samples[0].at - samples[0].seconds, now - SLOW_SECONDS) if samples else now
    usual_seconds = now - FAST_SECONDS - began
    if usual_seconds < FAST_SECONDS:
        rate = _count(samples, began, now) / max(now - began, FAST_SECONDS)
        return rate, rate, rate
    usual = _count(samples, began, now - FAST_SECONDS) / usual_seconds
    expected = usual * FAST_SECONDS
    if fast <= expected + _RISE_DEVIATIONS * math.sqrt(max(expected, 1.0)):
        rate = (usual * usual_seconds + fast) / (usual_seconds + FAST_SECONDS)
        return rate, rate, rate
    rate, slope = fast / FAST_SECONDS, 0.0
    if fast - before > _SLOPE_DEVIATIONS * math.sqrt(fast + before):
        slope = (fast - before) / FAST_SECONDS**2
    ahead = slope * (FAST_SECONDS + horizon_seconds) / 2
    return rate, usual, rate + min(ahead, rate)  # a sudden step looks like a slope, too


def _count(samples: Sequence[Sample], after: float, until: float) -> int:
    total = 0
    for sample in reversed(samples):
        if sample.at <= after:
            break
        if sample.at <= until:
            total += sample.requests
    return total


def _use(samples: Iterable[Sample], since: float, over_seconds: float) -> tuple[float, float]:
    """Slots in use or waited for at the end, and the most of that since `since`; use is averaged over some
    seconds.
    """
    last: deque[Sample] = deque()
    slot_seconds = seconds = now = most = 0.0
    for sample in samples:
        last.append(sample)
        slot_seconds += sample.used * sample.seconds
        seconds += sample.seconds
        while sample.at - last[0].at >= over_seconds:
            first = last.popleft()
            slot_seconds -= first.used * first.seconds
            seconds -= first.seconds
        now = max(slot_seconds, 0.0) / seconds + sample.waiting if seconds > 0 else float(sample.waiting)
        if sample.at > since:
            most = max(most, now)
    return now, most
