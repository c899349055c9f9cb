"""What listeners got, what it cost, and what an oracle would have paid."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise
from typing import Any

from benchmarks.fleet_simulation.day import Day
from benchmarks.fleet_simulation.traffic import DAY_SECONDS, Request
from benchmarks.shared.speech_clients import percentile

REVERSAL_SECONDS = 600.0


def oracle_worker_seconds(
    requests: list[Request], slots: int, loading_seconds: float, until: float = DAY_SECONDS
) -> float:
    """The least that serves every stream from the moment in which it comes, by who knows the day.

    At each moment as many workers serve as hold the streams that run, packed without a gap and moved for
    nothing. Each was started `loading_seconds` before, or kept through a gap where that is cheaper. None of
    them fails, dies or is slow: no real fleet costs so little.
    """
    events = sorted(
        [(request.at, 1) for request in requests]
        + [(request.at + request.held_seconds, -1) for request in requests]
    )
    total = since = 0.0
    streams = workers = 0
    free_since: dict[int, float] = defaultdict(lambda: -loading_seconds)
    for at, change in events:
        if at > until:
            break
        total += workers * (at - since)
        since = at
        streams += change
        needed = -(-streams // slots)
        if needed > workers:
            total += min(at - free_since[needed], loading_seconds)
        elif needed < workers:
            free_since[workers] = at
        workers = needed
    return total + workers * (until - since)


def reversals(day: Day) -> dict[str, int]:
    """Starts that follow a drain, and drains that follow a start, within ten minutes; and how many of these
    follow each other at most.
    """
    changes = sorted([(at, 1) for at, _, _ in day.starts] + [(at, -1) for at, _ in day.drains])
    found: Counter[str] = Counter()
    turned_at, row = [], 0
    for (before, way), (after, other) in pairwise(changes):
        if way != other and after - before <= REVERSAL_SECONDS:
            found["up_after_down" if other > 0 else "down_after_up"] += 1
            row = row + 1 if turned_at and after - turned_at[-1] <= REVERSAL_SECONDS else 1
            turned_at.append(after)
            found["most_in_a_row"] = max(found["most_in_a_row"], row)
    return {name: found[name] for name in ("up_after_down", "down_after_up", "most_in_a_row")}


def figures(
    day: Day,
    requests: list[Request],
    slots: int,
    loading_seconds: float,
    goal: float,
    until: float = DAY_SECONDS,
) -> dict[str, Any]:
    """All of it; seconds, and shares from 0 to 1."""
    waits = [one.first_audio_at - one.request.at for one in day.heard if one.first_audio_at is not None]
    attained = sum(wait <= goal for wait in waits)
    by_hour = Counter(
        int(one.request.at // 3600)
        for one in day.heard
        if one.first_audio_at is None or one.first_audio_at - one.request.at > goal
    )
    oracle = oracle_worker_seconds(requests, slots, loading_seconds, until)
    return {
        "streams": len(requests),
        "attained": round(attained / len(requests), 5),
        "missed_by_hour": {str(hour): count for hour, count in sorted(by_hour.items())},
        "refused": sum(one.refused is not None for one in day.heard),
        "moved": sum(one.moves for one in day.heard),
        "first_audio_seconds_p50": round(percentile(waits, 50), 3),
        "first_audio_seconds_p99": round(percentile(waits, 99), 3),
        "first_audio_seconds_max": round(max(waits), 3),
        "most_workers": day.most_workers,
        "workers_started": sum(count for _, count, _ in day.starts),
        "workers_drained": len(day.drains),
        "failed_starts": day.failed_starts,
        "slow_workers": day.slow_workers,
        "worker_hours": round(day.worker_seconds / 3600, 1),
        "oracle_worker_hours": round(oracle / 3600, 1),
        "cost_ratio": round(day.worker_seconds / oracle, 3),
        "reversals_within_10_min": reversals(day),
        "reasons": dict(Counter(why for *_, why in [*day.starts, *day.drains])),
    }
