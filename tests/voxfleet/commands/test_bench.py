"""The arithmetic of `voxfleet bench`."""

from __future__ import annotations

import pytest

from voxfleet.commands.bench import BenchResult, Playback, RequestResult, distribution


def play(preroll_seconds: float, *chunks: tuple[float, float]) -> Playback:
    playback = Playback(preroll_seconds)
    for at_seconds, audio_seconds in chunks:
        playback.receive(at_seconds, audio_seconds)
    return playback


def test_chunks_in_time_cause_no_underrun() -> None:
    playback = play(0.0, (1.0, 0.5), (1.5, 0.5), (1.6, 0.5))
    assert (playback.underruns, playback.silent_seconds, playback.audio_seconds) == (0, 0.0, 1.5)


def test_a_late_chunk_is_an_underrun_as_long_as_it_is_late() -> None:
    playback = play(0.0, (1.0, 0.5), (1.75, 0.5))
    assert playback.underruns == 1
    assert playback.silent_seconds == pytest.approx(0.25)


def test_a_pause_shifts_all_that_follows() -> None:
    """After the pause of 0.25 s the second chunk plays until 2.25, so a third at 2.25 is in time."""
    playback = play(0.0, (1.0, 0.5), (1.75, 0.5), (2.25, 0.5))
    assert playback.underruns == 1


def test_a_preroll_absorbs_its_own_length() -> None:
    assert play(0.25, (1.0, 0.5), (1.75, 0.5)).underruns == 0
    assert play(0.2, (1.0, 0.5), (1.75, 0.5)).underruns == 1


def test_the_summary_adds_up() -> None:
    result = BenchResult(2, wall_seconds=2.0)
    result.requests = [
        RequestResult(0.1, 0.5, play(0, (0.1, 1.0))),
        RequestResult(0.3, 1.5, play(0, (0.3, 0.5), (1.0, 0.5))),
    ]
    result.errors["queue_full"] += 1
    summary = result.summary()
    assert (summary["requests"], summary["errors"]) == (2, {"queue_full": 1})
    assert (summary["audio_seconds"], summary["audio_seconds_per_second"]) == (2.0, 1.0)
    assert summary["first_audio_seconds"]["p50"] == pytest.approx(0.2)
    assert summary["rtf"]["max"] == pytest.approx(1.5)
    assert (summary["underruns"], summary["requests_with_underruns"], summary["silent_seconds"]) == (
        1,
        1,
        0.2,
    )


def test_nothing_measured_is_none_and_not_zero() -> None:
    assert distribution([]) is None
    summary = BenchResult(1).summary()
    assert summary["rtf"] is None
    assert summary["audio_seconds_per_second"] is None
