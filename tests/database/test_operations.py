"""What operators change and read, on both databases: it survives a restart and holds at every gateway."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import timedelta

import pytest
from sqlalchemy import func, select

from gateway.database import Database, Event, Setting
from gateway.database.present import Present
from gateway.database.tables import now
from gateway.errors import ApiError
from gateway.operations import event_log, operations
from gateway.operations.event_log import EventLog
from gateway.operations.operations import Operations
from gateway.operations.pages import PageState
from gateway.operations.stored import read_groups, write_group
from gateway.slots.capacity.estimates import EtaTuning
from gateway.slots.pool import WorkerPool

PATIENCE_SECONDS = 20.0


@asynccontextmanager
async def running_operations(url: str) -> AsyncIterator[tuple[Operations, EtaTuning]]:
    """As a gateway has them, from its start to its end."""
    database, tuning = Database(url), EtaTuning()
    await database.open()
    made = Operations(WorkerPool([], max_queue=1, no_worker_grace_seconds=1.0), database, tuning)
    async with made.running():
        yield made, tuning
    await database.close()


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_SECONDS):
        while not condition():  # noqa: ASYNC110 - what is waited for is in a database
            await asyncio.sleep(0.01)


async def test_changes_survive_a_restart(database_url: str) -> None:
    async with running_operations(database_url) as (first, _):
        await first.set_pages([PageState(id="live", enabled=False)], "somebody")
        await first.set_eta({"alpha": 0.5}, "somebody")
        assert "live" not in first.pages.enabled()
    async with running_operations(database_url) as (second, tuning):
        assert second.pages.enabled() == ["studio", "chat", "books", "sessions", "voices"]
        assert tuning == EtaTuning(alpha=0.5)
        await second.set_pages([PageState(id="live", enabled=True)], "somebody")
        assert "live" in second.pages.enabled()


async def test_a_change_at_one_gateway_reaches_the_others(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operations, "REFRESH_SECONDS", 0.02)
    async with (
        running_operations(database_url) as (here, _),
        running_operations(database_url) as (there, tuning),
    ):
        await asyncio.gather(
            here.set_pages([PageState(id="voices", enabled=False)], "one"),
            there.set_pages([PageState(id="sessions", enabled=False)], "another"),
        )
        await here.set_eta({"prior_seconds": 9}, "one")
        await until(
            lambda: here.pages.enabled() == there.pages.enabled() == ["studio", "live", "chat", "books"]
        )
        await until(lambda: tuning.prior_seconds == 9)


async def test_what_makes_no_sense_changes_nothing(database_url: str) -> None:
    async with running_operations(database_url) as (made, tuning):
        for fields, param in (({"alpha": 0}, "alpha"), ({"alpha": "0.5"}, "alpha"), ({"aplha": 1}, "aplha")):
            with pytest.raises(ApiError) as caught:
                await made.set_eta(fields, "somebody")
            assert (caught.value.status_code, caught.value.param) == (422, param)
        assert tuning == EtaTuning()


async def test_a_stored_value_that_is_of_no_use_is_passed_over(database_url: str) -> None:
    database = Database(database_url)
    await database.open()
    await write_group(database, "eta", {"alpha": 17, "overdue_share": 0.5, "of_another_version": 1})
    await write_group(database, "pages", {"live": False, "of_another_version": False})
    async with database.transaction() as rows:
        rows.add(Setting(key="without-a-group", value={"value": 1}))
    await database.close()
    async with running_operations(database_url) as (made, tuning):
        assert tuning == EtaTuning(overdue_share=0.5)
        assert made.pages.enabled() == ["studio", "chat", "books", "sessions", "voices"]


async def test_a_failing_database_leaves_what_holds_and_says_so(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operations, "REFRESH_SECONDS", 0.02)
    tuning = EtaTuning()
    made = Operations(WorkerPool([], max_queue=1, no_worker_grace_seconds=1.0), database, tuning)
    async with made.running():
        await made.set_pages([PageState(id="live", enabled=False)], "somebody")
        made.log.quote("admin", "w0", "before")
        await until(lambda: "before" in [line.message for line in made.log.recent()])
        await database.close()
        with pytest.raises(ApiError) as caught:
            await made.set_eta({"alpha": 0.9}, "somebody")
        assert caught.value.code == "database_unavailable"
        made.log.quote("admin", "w0", "meanwhile")
        shown = [line.message for line in await made.log.read(10, None, "admin")]
        assert shown == ["meanwhile", "before"]
        assert "live" not in made.pages.enabled() and tuning == EtaTuning()
        await database.open()
        await made.set_eta({"alpha": 0.9}, "somebody")
        assert [line.message for line in await made.log.read(10, None, "admin")] == ["meanwhile", "before"]
    assert (await read_groups(database))["eta"] == {"alpha": 0.9}


async def test_the_end_cuts_no_read_off(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    ends: list[str] = []
    begun = asyncio.Event()

    async def read_slowly(database: Database) -> dict[str, dict[str, object]]:
        begun.set()
        try:
            await asyncio.sleep(0.05)
        except asyncio.CancelledError:
            ends.append("cut off")
            raise
        ends.append("read")
        return {}

    monkeypatch.setattr(operations, "REFRESH_SECONDS", 0.001)
    made = Operations(WorkerPool([], max_queue=1, no_worker_grace_seconds=1.0), database, EtaTuning())
    async with made.running():
        monkeypatch.setattr(operations, "read_groups", read_slowly)
        await begun.wait()
    assert ends and set(ends) == {"read"}


async def test_the_log_is_read_in_pages_newest_first(database: Database) -> None:
    log = EventLog(database)
    for number in range(7):
        log.quote("even" if number % 2 == 0 else "odd", f"w{number}", "x" * 2000)
    newest = await log.read(3, None, None)
    assert [line.subject for line in newest] == ["w6", "w5", "w4"]
    assert all(len(line.message) == 500 for line in newest)
    assert [line.subject for line in await log.read(9, newest[-1].id, None)] == ["w3", "w2", "w1", "w0"]
    assert [line.subject for line in await log.read(9, None, "odd")] == ["w5", "w3", "w1"]


async def test_the_log_keeps_so_many_lines_of_so_many_days(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_log, "KEPT_LINES", 10)
    monkeypatch.setattr(event_log, "_SHED_EVERY_LINES", 5)
    async with database.transaction() as rows:
        rows.add(Event(kind="admin", subject="ancient", at=now() - timedelta(days=31)))
    log = EventLog(database)
    log.quote("admin", "first", "")
    assert [line.subject for line in await log.read(50, None, None)] == ["first"]
    for number in range(6):
        for _ in range(5):
            log.quote("admin", f"batch {number}", "")
        await log.read(1, None, None)
    async with database.transaction() as rows:
        assert await rows.scalar(select(func.count(Event.id))) == 10
    assert {line.subject for line in await log.read(50, None, None)} == {"batch 4", "batch 5"}


async def test_lines_age_by_the_present_of_the_database(database: Database) -> None:
    log = EventLog(database)
    database.present = Present(lambda: now().timestamp() - 2 * 24 * 3600)
    async with database.transaction() as rows:
        rows.add(Event(kind="admin", subject="old", at=now() - timedelta(days=31)))
    log.quote("admin", "first", "")
    assert [line.subject for line in await log.read(50, None, None)] == ["first", "old"]


async def test_what_was_recorded_last_is_written_at_the_end(database: Database) -> None:
    log = EventLog(database)
    log.start()
    log.quote("shutdown", "", "the end")
    await log.close()
    async with database.transaction() as rows:
        assert [event.message for event in await rows.scalars(select(Event))] == ["the end"]


async def test_a_line_says_what_it_tells_and_of_what_after_a_restart(database: Database) -> None:
    log = EventLog(database)
    log.say("admin", "w0", "drain", who="10.0.0.1")
    log.say("voice", "v", "voice_added", owner="key:a", voice="{who} " + "x" * 1000)
    log.quote("worker_down", "w0", "its registration ran out")
    log.quote("worker_down", "w0", "ConnectError")
    await log.close()
    quoted, known, voice, drain = [line.describe() for line in await EventLog(database).read(4, None, None)]
    assert drain["message"] == "drain, by the administrator at 10.0.0.1"
    assert (drain["saying"], drain["facts"]) == ("drain", {"who": "10.0.0.1"})
    assert voice["facts"]["voice"] == ("{who} " + "x" * 1000)[:160] and voice["message"].endswith("xxx")
    assert (known["saying"], known["facts"]) == ("registration_ended", {})
    assert quoted["message"] == "ConnectError" and "saying" not in quoted
