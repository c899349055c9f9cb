"""What is dated ahead of the clock goes as other things do, counted from when that was noticed."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

from sqlalchemy import Engine, event, select

from gateway.database import Database, Session
from gateway.database.tables import DatedAhead
from gateway.database.transactions import AT_A_TIME
from gateway.sessions.cleanup import Limits, Removed, Stored, choose, noticed_ahead
from gateway.sessions.index import SessionIndex
from gateway.sessions.storage import files
from gateway.sessions.storage.recording_files import RecordingFiles
from gateway.sessions.upkeep import interrupt_dead

NOW = datetime.now(UTC)
DAY, YEAR = timedelta(days=1), timedelta(days=365)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
A_MONTH = Limits.from_numbers(30, 0)


def stored(id: str, date: datetime, used_at: datetime | None = None) -> Stored:
    return Stored(id, date, used_at or date, 1000, active=False, indexed=True)


async def gone_at(
    now: datetime, database: Database, *sessions: Stored, limits: Limits = A_MONTH, note: bool = True
) -> list[str]:
    """What goes of all sessions in a clean-up at `now`."""
    dated = await noticed_ahead(database, "session", list(sessions), now, note=note)
    return [item.session_id for item in choose(dated, limits, now)]


async def test_what_was_made_while_the_clock_was_ahead_ages_from_when_that_is_noticed(
    database_url: str, database: Database
) -> None:
    sessions = stored("ahead", NOW + 5 * YEAR), stored("young", NOW)
    assert await gone_at(NOW, database, *sessions) == []
    another = Database(database_url)  # as after a restart of the gateway
    await another.open()
    assert await gone_at(NOW + 29 * DAY, another, *sessions) == []
    assert await gone_at(NOW + 31 * DAY, another, *sessions) == ["young", "ahead"]
    await another.close()


async def test_clocks_that_differ_by_hours_are_no_matter(database: Database) -> None:
    sessions = [stored("of another gateway", NOW + DAY / 2)]
    assert await gone_at(NOW, database, *sessions) == []
    assert await gone_at(NOW + 30 * DAY, database, *sessions) == []
    assert await gone_at(NOW + 31 * DAY, database, *sessions) == ["of another gateway"]


async def test_a_clock_that_begins_in_1970_makes_nothing_old(database: Database) -> None:
    sessions = stored("yesterday's", NOW - DAY), stored("old", NOW - 40 * DAY)
    for _ in range(2):
        assert await gone_at(EPOCH, database, *sessions) == []
        assert await gone_at(NOW, database, *sessions) == ["old"]
    async with database.transaction() as rows:
        assert list(await rows.scalars(select(DatedAhead))) == []


async def test_thousands_dated_ahead_are_noted_and_forgotten_in_turns(database: Database) -> None:
    """No object is made of any, and no statement waits for one of them alone."""
    many = [stored(f"s{number}", NOW) for number in range(5 * AT_A_TIME)]
    made, statements = [], []

    def note_object(row: DatedAhead, *_: object) -> None:
        made.append(row)

    def note_statement(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        statements.append(statement)

    watched = [
        (DatedAhead, "init", note_object),
        (DatedAhead, "load", note_object),
        (Engine, "before_cursor_execute", note_statement),
    ]
    for target, name, listener in watched:
        event.listen(target, name, listener)
    try:
        for now in (EPOCH, EPOCH, NOW):
            assert await gone_at(now, database, *many) == []
    finally:
        for target, name, listener in watched:
            event.remove(target, name, listener)
    kinds = Counter(statement.split()[0] for statement in statements)
    assert not made and kinds["INSERT"] == kinds["DELETE"] == 5


async def test_a_dry_run_notes_nothing_and_kinds_do_not_mix(database: Database) -> None:
    ahead = stored("ahead", NOW + YEAR)
    assert await gone_at(NOW, database, ahead, note=False) == []
    assert await gone_at(NOW + 31 * DAY, database, ahead) == []
    assert await noticed_ahead(database, "training", [], NOW + 31 * DAY) == []
    assert await gone_at(NOW + 62 * DAY, database, ahead) == ["ahead"]


async def test_by_capacity_they_are_no_fresher_than_when_they_were_noticed(database: Database) -> None:
    sessions = stored("first", NOW + YEAR), stored("second", NOW + 2 * YEAR), stored("looked at", NOW, NOW)
    assert await gone_at(NOW - DAY, database, *sessions[:2]) == []
    for limit, gone in ((3000, []), (2000, ["first"]), (1000, ["first", "second"])):
        assert await gone_at(NOW, database, *sessions, limits=Limits(size_bytes=limit)) == gone


async def test_one_that_cannot_be_recovered_and_is_dated_ahead_is_interrupted(
    database: Database, tmp_path: Path
) -> None:
    index, ids = SessionIndex(database), [files.new_session_id() for _ in range(2)]
    for session_id, used_at in zip(ids, (NOW + YEAR, NOW + DAY / 2), strict=True):
        recording = RecordingFiles(tmp_path / session_id, noted=True)
        recording.begin({"type": "session", "id": session_id, "kind": "clip", "created_at": NOW.isoformat()})
        recording.write({"type": "utterance", "at": 0, "text": "without an index", "parameters": {}})
        recording.close()
        async with database.transaction() as rows:
            rows.add(Session(id=session_id, owner="me", kind="clip", state="active", used_at=used_at))
    await interrupt_dead(index, tmp_path)
    assert [(await index.get(session_id)).state for session_id in ids] == ["interrupted", "active"]


def test_what_is_chosen_keeps_its_reason() -> None:
    ahead = Stored("ahead", NOW + YEAR, NOW + YEAR, 5, active=False, indexed=True, ahead_since=NOW - 31 * DAY)
    assert choose([ahead], A_MONTH, NOW) == [Removed("ahead", "age", 5)]
