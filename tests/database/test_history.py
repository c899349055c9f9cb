"""Figures of the last days: kept across restarts, thinned, bounded, of all gateways of a database."""

from __future__ import annotations

import asyncio
from contextlib import AbstractContextManager

import pytest
from sqlalchemy import func, select

from gateway.database import Database, FigureSpan
from gateway.operations.measurements import history
from gateway.operations.measurements.figures import Figures
from gateway.operations.measurements.history import History
from gateway.operations.measurements.sampling import PoolSampler
from gateway.slots.line.tickets import Ticket
from gateway.slots.requirement import Requirement
from tests.gateway.stages.fleet import Fleet, status
from worker.protocol import Counters

BEGIN = 1_800_000_000
"""Where a span of each length begins."""


class Site:
    """A gateway with one worker of two slots, whose clocks the test moves."""

    def __init__(self, database: Database, began_at: int = BEGIN) -> None:
        self.fleet = Fleet(2)
        self._shift = began_at - self.fleet.clock.now - 0.5
        self.history = History(self.fleet.pool, database, self._time, self.fleet.clock)

    def _time(self) -> float:
        return self.fleet.clock.now + self._shift

    def pass_seconds(self, seconds: int, pace: int = 1) -> None:
        for _ in range(0, seconds, pace):
            self.fleet.clock.advance(pace)
            self.history.look()

    def admit(self) -> AbstractContextManager[Ticket]:
        return self.fleet.pool.admit("r", Requirement(None, "default"))

    def speech(self, seconds: float) -> None:
        """What the worker has made since it started."""
        said = status(slots=2).model_copy(update={"counters": Counters(audio_seconds=seconds)})
        self.fleet.pool.reports.answered(self.fleet.workers[0], said)


async def rows_of(database: Database) -> dict[int, int]:
    count = select(FigureSpan.length, func.count()).group_by(FigureSpan.length)
    async with database.transaction() as rows:
        return dict((await rows.execute(count)).all())


async def test_load_first_audio_and_speech_are_there_after_a_restart(database: Database) -> None:
    site = Site(database)
    site.pass_seconds(10)
    with site.admit(), site.admit(), site.admit():
        site.speech(0.0)
        site.pass_seconds(5)
        site.speech(15.0)
        site.pass_seconds(4)
    for milliseconds in range(1, 101):
        site.history.ended("stop", milliseconds / 100)
    site.history.ended("queue_full", None)
    await site.history.close()
    again = Site(database, BEGIN + 21)
    shown = await again.history.read("1h")
    assert (shown["kept"], shown["span_seconds"], shown["gateways"]) == ("database", 10, 1)
    quiet, busy = shown["points"]
    assert quiet["at"] == BEGIN and (quiet["used"], quiet["slots"], quiet["workers"]) == (0, 2, 1)
    assert quiet["first_audio_p50_seconds"] is None
    assert busy["at"] == BEGIN + 10 and (busy["used"], busy["waiting"], busy["slots"]) == (2, 1, 2)
    assert busy["speech"] == pytest.approx(15 / 9, abs=0.001)
    assert busy["first_audio_p50_seconds"] == pytest.approx(0.50, rel=0.03)
    assert busy["first_audio_p95_seconds"] == pytest.approx(0.95, rel=0.03)
    assert busy["requests_per_minute"] == pytest.approx(101 / 9 * 60, abs=0.001)
    assert busy["refused_per_minute"] == pytest.approx(60 / 9, abs=0.001)
    for longer in ("6h", "1d", "7d"):
        (whole,) = (await again.history.read(longer))["points"]
        assert whole["used"] == pytest.approx(2 * 9 / 19, abs=0.001) and whole["slots"] == 2


async def test_what_two_gateways_use_is_added_and_what_both_see_is_not(database: Database) -> None:
    here, there = Site(database), Site(database)
    with here.admit(), there.admit(), there.admit():
        here.pass_seconds(10)
        there.pass_seconds(10)
    here.history.ended("stop", 0.2)
    there.history.ended("stop", 0.2)
    await there.history.write()
    here.fleet.clock.advance(0.5)
    shown = await here.history.read("1h")
    (point,) = shown["points"]
    assert (point["used"], point["slots"], point["workers"]) == (3, 2, 1)
    assert shown["gateways"] == 2


async def test_old_spans_are_thinned_and_their_number_is_bounded(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "_SHED_SECONDS", 0.0)
    site = Site(database)
    for _ in range(3):
        site.pass_seconds(3600, pace=10)
        assert await site.history.write()
    written = await rows_of(database)
    assert 360 <= written[10] <= 363 and 180 <= written[60] <= 181 and 18 <= written[600] <= 19
    assert len((await site.history.read("1h"))["points"]) >= 360
    monkeypatch.setattr(history, "MAX_SPANS", 5)
    assert await site.history.write()
    assert all(count <= 5 for count in (await rows_of(database)).values())


async def test_what_a_clock_that_was_ahead_has_measured_is_not_of_now(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a process before, and in this one, whose clock was set back, too."""
    before, site = Site(database, BEGIN + 7200), Site(database, BEGIN + 3600)
    for ahead in (before, site):
        ahead.pass_seconds(60)
        await ahead.history.write()
    site._shift -= 3660
    site.pass_seconds(30)
    for length in ("1h", "7d"):
        shown = await site.history.read(length)
        assert shown["gateways"] == 1
        assert all(BEGIN - 600 <= point["at"] <= shown["to"] for point in shown["points"])
    monkeypatch.setattr(history, "_SHED_SECONDS", 0.0)
    beside = Site(database, BEGIN + 120)  # at another machine, whose clock is ahead a little
    beside.pass_seconds(10)
    await beside.history.write()
    assert await site.history.write()
    assert await rows_of(database) == {10: 4, 60: 2, 600: 2}
    site.pass_seconds(3600, pace=10)
    assert await site.history.write()
    again = [span for (length, _), span in site.history._spans.items() if length == 10]
    assert len(again) >= 360 and max(span.seconds for span in again) <= 10


async def test_without_its_database_a_gateway_shows_its_last_hour_and_writes_it_later(
    database: Database,
) -> None:
    site = Site(database)
    await database.close()
    with site.admit():
        site.pass_seconds(7200, pace=10)
    shown = await site.history.read("7d")
    assert shown["kept"] == "memory" and shown["points"][0]["at"] + 600 >= BEGIN + 3599
    assert 360 <= len((await site.history.read("1h"))["points"]) <= 361
    await database.open()
    shown = await site.history.read("1h")
    assert shown["kept"] == "database" and {point["used"] for point in shown["points"][:-1]} == {1}


async def test_a_standstill_and_a_worker_that_starts_anew_count_for_nothing() -> None:
    fleet = Fleet(2)
    sampler = PoolSampler(fleet.pool, fleet.clock)

    def speech(seconds: float, boot_id: str) -> float:
        said = status(slots=2, boot_id=boot_id).model_copy(
            update={"counters": Counters(audio_seconds=seconds)}
        )
        fleet.pool.reports.answered(fleet.workers[0], said)
        return sampler.look().speech_seconds

    assert [speech(50.0, "a"), speech(52.0, "a"), speech(1.0, "b"), speech(4.0, "b")] == [0, 2, 0, 3]
    fleet.clock.advance(500.0)
    assert sampler.look().seconds == 10.0


def test_figures_of_another_version_are_read_as_far_as_they_are_known() -> None:
    stored = Figures(seconds=2.0, requests=3).as_fields() | {"of_another_version": 7}
    del stored["refused"]
    assert Figures.from_fields(stored) == Figures(seconds=2.0, requests=3)


async def test_a_write_that_does_not_end_is_told_as_one_that_fails(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As of SQLite on a disk of the network that hangs."""
    site, ended = Site(database), asyncio.Event()
    site.fleet.clock.advance(50)
    assert await site.history.write()

    async def hang(spans: object) -> None:
        await ended.wait()

    monkeypatch.setattr(site.history, "_store", hang)
    writing = asyncio.create_task(site.history.write())
    site.fleet.clock.advance(50)
    assert not site.history.failing
    site.fleet.clock.advance(50)
    assert site.history.failing
    ended.set()
    assert await writing and not site.history.failing
