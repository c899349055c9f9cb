"""The figures that VoxCPM2 should reach on an H200, beside those that were measured."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Scenarios = dict[str, Any]
Figure = Callable[[Scenarios], float]


def _of_one_stream(name: str) -> Figure:
    def figure(scenarios: Scenarios) -> float:
        works = scenarios["concurrency"]["works"]
        return next(row[name] for row in works if (row["streams"], row["text"]) == (1, "short"))

    return figure


def _ratio_at_64(scenarios: Scenarios) -> float:
    """The smallest over the kinds of text."""
    rows = [row for row in scenarios["peer"]["ratios"] if row["streams"] == 64]
    return min((row["audio_seconds_per_second"] for row in rows), default=0.0)


def _disagreements(scenarios: Scenarios) -> float:
    """Clips that end elsewhere with graphs than without, and batch sizes in which a bit differs."""
    worst = scenarios["graphs"]["worst"]
    differing = [row for row in scenarios["graphs"]["sizes"] if row["unrecorded_all_patches"] > 0]
    return worst["unrecorded_other_endings"] + len(differing)


def _beside_rounding(scenarios: Scenarios) -> float:
    """Of the second patches, where steps that are not padded sum in another order."""
    worst = scenarios["graphs"]["worst"]
    return worst["free_second_patch"] / worst["rounding_second_patch"]


def _recorded_rounding(scenarios: Scenarios) -> float:
    """Of the second patches, each beside fp32."""
    worst = scenarios["graphs"]["worst"]
    return worst["recorded_rounding_second_patch"] / worst["rounding_second_patch"]


GOALS: dict[str, tuple[str, float, Figure]] = {
    "one stream: step, ms": ("at most", 4.0, _of_one_stream("step_ms_p50")),
    "one stream: first audio, ms": ("at most", 15.0, _of_one_stream("first_audio_ms_p50")),
    "64 streams: times the peer's audio": ("at least", 3.0, _ratio_at_64),
    "most streams in real time": ("at least", 500, lambda found: found["real_time"]["most_streams"]),
    "graphs against eager: disagreements": ("at most", 0, _disagreements),
    "unpadded steps: difference, times what bf16 differs from fp32": ("at most", 2.0, _beside_rounding),
    "recorded steps: distance from fp32, times that of unpadded ones": ("at most", 1.5, _recorded_rounding),
    "start-up, s": ("at most", 40.0, lambda found: found["start_up"]["seconds_to_ready"]),
}  # fmt: skip


def verdicts(scenarios: Scenarios) -> dict[str, dict[str, Any]]:
    """Each goal whose scenario was measured: figure, goal, and whether it was met."""
    found = {}
    for name, (direction, goal, figure) in GOALS.items():
        try:
            value = figure(scenarios)
        except (KeyError, StopIteration):
            continue
        met = value <= goal if direction == "at most" else value >= goal
        found[name] = {"figure": value, "goal": f"{direction} {goal:g}", "met": met}
    return found
