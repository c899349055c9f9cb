"""What listeners hear becomes figures; figures become ratios, goals and a plot."""

from __future__ import annotations

import itertools
from xml.etree import ElementTree

import pytest

from benchmarks.gpu.engines import peer as gpu_peer
from benchmarks.gpu.goals import verdicts
from benchmarks.gpu.plot import plot
from benchmarks.gpu.profile import busy_microseconds, table
from benchmarks.gpu.results import merged
from benchmarks.gpu.work import clips, most_streams, percentile, playback, run, summary
from tests.benchmarks.gpu.stand_ins import Metronome, figures


def test_a_listener_hears_what_comes_too_late() -> None:
    assert playback([0.02, 0.05, 0.40], 0.16) == (0, 0.0)  # ends at 0.10 + 0.32
    assert playback([0.02, 0.05, 0.45], 0.16) == (1, pytest.approx(0.03))
    assert playback([5.0, 5.25, 5.41], 0.16) == (1, pytest.approx(0.01))
    late = [0.0, 0.5, 1.0, 1.5]
    assert playback(late, 0.16) == (3, pytest.approx(1.5 - 3 * 0.16 - 0.08))


def test_percentiles_are_values_that_occurred() -> None:
    assert percentile([3.0, 1.0, 2.0, 4.0], 0.5) == 3.0
    assert percentile([1.0], 0.99) == 1.0
    assert percentile([], 0.5) == 0.0


@pytest.mark.parametrize(("step_seconds", "underruns"), [(0.1, 0), (0.16, 0), (0.26, 4 * 9)])
def test_a_run_becomes_figures(step_seconds: float, underruns: int) -> None:
    engine = Metronome(step_seconds)
    figures = summary(run(engine, clips("short", 4, 10), engine.clock), engine.patch_seconds)
    assert figures["streams"] == figures["rows_of_fullest_step"] == 4
    assert figures["step_ms_p50"] == pytest.approx(1e3 * step_seconds)
    assert figures["first_audio_ms_p99"] == pytest.approx(1e3 * step_seconds)
    assert figures["audio_seconds_per_second"] == pytest.approx(4 * 0.16 / step_seconds)
    assert figures["real_time_factor_p50"] == pytest.approx(step_seconds / 0.16)
    assert figures["underruns"] == underruns


def test_late_starters_are_timed_from_their_own_start() -> None:
    engine = Metronome(0.1)
    result = run(engine, clips("short", 4, 10, ramp_seconds=0.4), engine.clock)
    first = {clip.name: result.arrivals[clip.name][0] - clip.start for clip in result.clips}
    assert all(seconds <= 0.2 + 1e-9 for seconds in first.values())


def test_a_clip_that_comes_out_short_is_an_error() -> None:
    engine = Metronome(0.1, lost="short-1")
    with pytest.raises(RuntimeError, match="short-1"):
        run(engine, clips("short", 2, 3), engine.clock)


@pytest.mark.parametrize("capacity", [0, 1, 5, 63, 64, 100, 500, 639, 640, 5000])
def test_the_search_finds_the_most_streams(capacity: int) -> None:
    tried: list[int] = []
    found = most_streams(lambda n: tried.append(n) or n <= capacity, 64, 640)
    assert found <= capacity
    assert found >= min(capacity, 640) * 0.97 - 1
    assert len(tried) <= 10 and len(set(tried)) == len(tried)


def test_scenarios_are_merged_by_shape() -> None:
    document = merged({}, {"tiny/graphs": {"a": 1}, "tiny/profile": {"b": 1}})
    document = merged(document, {"tiny/graphs": {"a": 2}, "voxcpm2/graphs": {"a": 3}})
    assert document["scenarios"] == {
        "tiny/graphs": {"a": 2},
        "tiny/profile": {"b": 1},
        "voxcpm2/graphs": {"a": 3},
    }
    assert document["goals_of_voxcpm2"] == {}


def test_goals_are_judged_by_what_was_measured() -> None:
    one = figures("short", 1, 1)
    found = verdicts({"concurrency": {"works": [one]}, "real_time": {"most_streams": 499}})
    assert found["one stream: step, ms"] == {
        "figure": one["step_ms_p50"],
        "goal": "at most 4",
        "met": False,
    }
    assert found["one stream: first audio, ms"]["met"]
    assert not found["most streams in real time"]["met"]
    assert len(found) == 3
    sizes = [{"unrecorded_all_patches": 0.0}, {"unrecorded_all_patches": 1e-9}]
    worst = {"unrecorded_other_endings": 1, "free_second_patch": 0.01, "rounding_second_patch": 0.02}
    worst["recorded_rounding_second_patch"] = 0.04
    found = verdicts({"graphs": {"worst": worst, "sizes": sizes}})
    assert found["graphs against eager: disagreements"]["figure"] == 2
    assert found["unpadded steps: difference, times what bf16 differs from fp32"]["met"]
    assert not found["recorded steps: distance from fp32, times that of unpadded ones"]["met"]


def test_the_profile_counts_gaps_and_overlaps() -> None:
    events = [
        {"name": "gemm", "ts": 100.0, "dur": 10.0},
        {"name": "copy", "ts": 105.0, "dur": 10.0},
        {"name": "gemm", "ts": 135.0, "dur": 5.0},
    ]
    assert busy_microseconds(events) == (20.0, 40.0)
    text = table(events, 1, 1e-3, "one")
    assert "50.0%" in text and "3 kernels and copies per step" in text
    assert text.index("gemm") < text.index("copy")
    assert busy_microseconds([]) == (0.0, 0.0)


def test_ratios_pair_the_same_work() -> None:
    ours = [figures("short", 1, 1), figures("short", 4, 1), figures("long", 4, 1)]
    theirs = [figures("long", 4, 2), figures("short", 1, 3)]
    rows = gpu_peer.ratios(ours, theirs)
    assert [(row["text"], row["streams"]) for row in rows] == [("short", 1), ("long", 4)]
    assert [row["step"] for row in rows] == [pytest.approx(3), pytest.approx(2)]
    assert all(row["audio_seconds_per_second"] == pytest.approx(row["step"]) for row in rows)


def test_the_plot_is_a_drawing_of_all_lines() -> None:
    works = [figures(text, streams, 1) for text, streams in itertools.product(("short", "long"), (1, 16))]
    scenarios = {"tiny/concurrency": {"works": works, "machine": {"device": "A & B"}}}
    root = ElementTree.fromstring(plot({"scenarios": scenarios}, "tiny"))
    assert len(root.findall(".//{*}polyline")) == 4
    assert len(root.findall(".//{*}circle")) == 8
    ElementTree.fromstring(plot({"scenarios": {}}, "tiny"))
