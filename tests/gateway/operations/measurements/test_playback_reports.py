"""What players report: totals, so that nothing counts twice, and bounded, so that nobody weighs too much."""

from __future__ import annotations

import pytest

from gateway.errors import ApiError
from gateway.metrics import Metrics
from gateway.operations.measurements.objectives import Kind
from gateway.operations.measurements.playback import PlaybackReports
from tests.gateway.stages.fleet import Fleet, ManualClock

KIND = Kind("m", "built_in", "voxfleet", "anonymous")


def value_of(metrics: Metrics, name: str) -> float:
    return metrics.registry.get_sample_value(name)


@pytest.fixture
def metrics() -> Metrics:
    return Metrics(Fleet().pool)


async def test_reports_are_totals_so_repeated_and_late_ones_count_once(metrics: Metrics) -> None:
    clock = ManualClock()
    reports = PlaybackReports(metrics, clock)
    for underruns, played, buffered_ms in ((0, 24000, 300), (2, 48000, 0.5), (2, 48000, 80), (1, 24000, 80)):
        message = {
            "type": "stats", "underruns": underruns, "played_samples": played, "buffered_ms": buffered_ms,
        }  # fmt: skip
        reports.take(message, KIND, 24000)
        clock.advance(1.0)
    other = PlaybackReports(metrics, clock)
    other.take({"type": "stats", "played_samples": 12000}, KIND, 24000)
    assert value_of(metrics, "voxfleet_playback_underruns_total") == 2
    assert value_of(metrics, "voxfleet_playback_clips_total") == 2
    assert value_of(metrics, "voxfleet_playback_clips_with_underruns_total") == 1
    assert value_of(metrics, "voxfleet_played_seconds_total") == 2.5
    assert value_of(metrics, "voxfleet_playback_buffered_seconds_count") == 4
    assert value_of(metrics, "voxfleet_playback_buffered_seconds_sum") == pytest.approx(0.4605)


async def test_nobody_played_more_than_was_sent_and_a_flood_of_reports_weighs_little(
    metrics: Metrics,
) -> None:
    reports = PlaybackReports(metrics, ManualClock())
    for _ in range(50):
        report = {"type": "stats", "played_samples": 10**9, "buffered_ms": 5}
        reports.take(report, KIND, 24000, sent_samples=48000)
    assert value_of(metrics, "voxfleet_played_seconds_total") == 2
    assert value_of(metrics, "voxfleet_playback_buffered_seconds_count") == 1


async def test_after_a_resumption_only_what_is_new_counts(metrics: Metrics) -> None:
    first, second = PlaybackReports(metrics), PlaybackReports(metrics, resumed=True)
    for reports, underruns, played in ((first, 1, 24000), (second, 1, 24000), (second, 3, 48000)):
        reports.take({"type": "stats", "underruns": underruns, "played_samples": played}, KIND, 24000)
    assert value_of(metrics, "voxfleet_playback_underruns_total") == 3
    assert value_of(metrics, "voxfleet_played_seconds_total") == 2
    assert value_of(metrics, "voxfleet_playback_clips_total") == 1
    assert value_of(metrics, "voxfleet_playback_clips_with_underruns_total") == 1


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"underruns": -1}, "underruns"),
        ({"underruns": 1e9}, "underruns"),
        ({"played_samples": "many"}, "played_samples"),
        ({"played_samples": 2**50}, "played_samples"),
        ({"buffered_ms": 10**9}, "buffered_ms"),
        ({"buffered_ms": float("nan")}, "buffered_ms"),
        ({"mood": "good"}, "mood"),
    ],
)
async def test_reports_that_make_no_sense_are_refused_by_name(metrics: Metrics, fields, param: str) -> None:
    with pytest.raises(ApiError) as caught:
        PlaybackReports(metrics).take({"type": "stats", **fields}, KIND, 24000)
    assert (caught.value.status_code, caught.value.param) == (422, param)
    assert value_of(metrics, "voxfleet_playback_clips_total") == 0
