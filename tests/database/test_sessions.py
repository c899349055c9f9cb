"""The index of sessions and the clean-up that goes by it, on both kinds of database."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event
from structlog.testing import capture_logs

from gateway.database import Database, Session
from gateway.database.present import Present
from gateway.sessions import cleanup
from gateway.sessions.cleanup import Limits, Removed, Stored, choose, clean
from gateway.sessions.index import Progress, SessionIndex
from gateway.sessions.storage import files
from gateway.sessions.storage.recording_files import RecordingFiles
from gateway.sessions.upkeep import interrupt_dead
from voxfleet.commands.sessions import CleanError, clean_sessions

NOW = datetime.now(UTC)
DAY = timedelta(days=1)


@pytest.fixture
def index(database: Database) -> SessionIndex:
    return SessionIndex(database)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sessions").mkdir()
    return tmp_path / "sessions"


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def add(database: Database, owner: str = "me", **columns: object) -> str:
    """A row; its id."""
    session_id = files.new_session_id()
    used_at = datetime.now(UTC)
    values = {"kind": "clip", "state": "complete", "created_at": NOW, "used_at": used_at, **columns}
    async with database.transaction() as rows:
        rows.add(Session(id=session_id, owner=owner, **values))
    return session_id


def make_folder(folder: Path, session_id: str, age: timedelta = DAY, size_bytes: int = 1000) -> Path:
    """A session on disk that was written to so long ago."""
    path = folder / session_id
    (path / "audio").mkdir(parents=True)
    (path / "merged.wav").write_bytes(bytes(size_bytes))
    written_at = (datetime.now(UTC) - age).timestamp()
    for entry in (path / "merged.wav", path / "audio", path):
        os.utime(entry, (written_at, written_at))
    return path


async def test_a_row_is_made_once_and_then_follows(database: Database, index: SessionIndex) -> None:
    session_id = files.new_session_id()
    new = Session(id=session_id, kind="live", owner="me", title="First words", voice="slt", created_at=NOW)
    await index.save([Progress(session_id, {"utterances": 1}, new)])
    await index.change(session_id, title="Mine", comment="good")
    ended = {
        "state": "complete",
        "ended_at": NOW,
        "utterances": 3,
        "audio_seconds": 4.5,
        "size_bytes": 1 << 40,
    }
    await index.save([Progress(session_id, ended)])
    row = await index.get(session_id)
    assert (row.state, row.utterances, row.size_bytes) == ("complete", 3, 1 << 40)
    assert (row.title, row.comment, row.voice) == ("Mine", "good", "slt"), "what the owner wrote stays"
    assert row.used_at >= NOW


async def test_lists_are_ones_own_newest_first_and_in_pages(database: Database, index: SessionIndex) -> None:
    mine = [await add(database, created_at=NOW - DAY * age) for age in range(4)]
    twins = [await add(database, created_at=NOW - DAY * 9) for _ in range(3)]
    await add(database, owner="you")
    expected = mine + sorted(twins, reverse=True)
    found, before = [], None
    while page := await index.list("me", 2, before):
        found += [row.id for row in page]
        before = (page[-1].created_at, page[-1].id)
    assert found == expected
    assert len(await index.list(None, 100)) == 8


async def test_a_look_is_written_down_once_a_minute(
    database: Database, index: SessionIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.sessions.index.TOUCH_SECONDS", 3600.0)  # however slow the test is
    fresh = datetime.now(UTC) - timedelta(seconds=20)
    recent, old = await add(database, used_at=fresh), await add(database, used_at=NOW - DAY)
    for session_id in (recent, old):
        await index.touch(await index.get(session_id))
    assert (await index.get(recent)).used_at == fresh
    assert (await index.get(old)).used_at > NOW - DAY


async def test_a_share_key_stays_until_it_is_taken_back(database: Database, index: SessionIndex) -> None:
    first, second = await add(database), await add(database)
    key = (await index.share(first)).share_key
    assert (await index.share(first)).share_key == key
    assert len(key) >= 32 and (await index.share(second)).share_key != key
    await index.change(first, share_key=None)
    assert (await index.share(first)).share_key != key


async def test_an_active_session_is_not_removed(database: Database, index: SessionIndex) -> None:
    active, done = await add(database, state="active"), await add(database)
    assert not await index.remove(active)
    assert await index.remove(done) and not await index.remove(done)
    assert await index.totals() == (1, 1, 0)


async def test_sessions_of_dead_gateways_are_interrupted_and_those_of_living_ones_are_not(
    database: Database, index: SessionIndex, folder: Path
) -> None:
    living, dead, elsewhere, silent = [await add(database, state="active") for _ in range(4)]
    for session_id in (living, dead):
        recording = RecordingFiles(folder / session_id, noted=True)
        recording.begin({"type": "session", "id": session_id, "kind": "clip", "created_at": NOW.isoformat()})
        recording.write({"type": "utterance", "at": 0, "index": 0, "text": "Hi.", "parameters": {}})
        line = {"type": "audio", "at": 1, "index": 0, "samples": 1000, "sample_rate": 1000}
        recording.audio(line, bytes(2000), 1000)
        if session_id == dead:
            recording.close()  # as the kernel does for a process that died
        else:
            held = recording
    await index.change(silent, used_at=NOW - timedelta(minutes=5))
    await interrupt_dead(index, folder)
    everyone = (living, dead, elsewhere, silent)
    states = {session_id: (await index.get(session_id)).state for session_id in everyone}
    assert states == {living: "active", dead: "interrupted", elsewhere: "active", silent: "interrupted"}
    row = await index.get(dead)
    assert (row.utterances, row.audio_seconds) == (1, 1.0) and row.size_bytes > 2000
    assert json.loads((folder / dead / "meta.json").read_text())["reason"] == "gateway_died"
    held.close()


async def test_damaged_sessions_keep_no_other_from_being_brought_in_order(
    database: Database, index: SessionIndex, folder: Path
) -> None:
    old = NOW - timedelta(minutes=5)
    no_index, no_end, wrong, whole = [await add(database, state="active", used_at=old) for _ in range(4)]
    lines = {
        no_index: {"type": "utterance", "at": 0, "text": "Hi.", "parameters": {}},
        wrong: {"type": "utterance", "at": 0, "index": 0, "text": None, "parameters": {}},
        whole: {"type": "utterance", "at": 0, "index": 0, "text": "Hi.", "parameters": {}},
    }
    for session_id in (no_index, no_end, wrong, whole):
        recording = RecordingFiles(folder / session_id, noted=True)
        recording.begin({"type": "session", "id": session_id, "kind": "clip", "created_at": NOW.isoformat()})
        recording.write(lines.get(session_id, lines[whole]))
        recording.close()
    (folder / no_end / files.META).write_text('{"state": "complete"}')
    with capture_logs() as logs:
        await interrupt_dead(index, folder)
        await interrupt_dead(index, folder)
    everyone = (no_index, no_end, wrong, whole)
    assert {(await index.get(session_id)).state for session_id in everyone} == {"interrupted"}
    assert (await index.get(whole)).utterances == 1
    told = [log["session_id"] for log in logs if log["event"] == "a session cannot be recovered"]
    assert sorted(told) == sorted((no_index, no_end, wrong)), "each once"


async def test_clean_up_by_age_counts_from_the_beginning(
    database: Database, index: SessionIndex, folder: Path
) -> None:
    old = await add(database, created_at=NOW - 31 * DAY, used_at=NOW, size_bytes=5)
    kept = [
        await add(database, created_at=NOW - 29 * DAY, used_at=NOW - 29 * DAY),
        await add(database, created_at=NOW - 40 * DAY, state="active"),
    ]
    for session_id in (old, *kept):
        make_folder(folder, session_id)
    limits = Limits.from_numbers(retention_days=30, max_storage_gb=0)
    expected = [Removed(old, "age", 5)]
    assert await clean(index, folder, limits, dry_run=True) == expected
    assert (folder / old).exists() and await index.get(old) is not None
    assert await clean(index, folder, limits) == expected
    assert names_in(folder) == sorted(kept)
    assert await index.get(old) is None
    assert await clean(index, folder, limits) == []


async def test_clean_up_by_age_goes_by_the_present_of_the_database(
    database: Database, index: SessionIndex, folder: Path
) -> None:
    times = iter((NOW + 2 * DAY, NOW + 5000 * DAY))
    database.present = Present(lambda: next(times).timestamp(), lambda: 0.0)
    old, young = [await add(database, created_at=NOW - age * DAY) for age in (29, 27)]
    for session_id in (old, young):
        make_folder(folder, session_id)
    assert await clean(index, folder, Limits.from_numbers(30, 0)) == [Removed(old, "age", 0)]
    assert names_in(folder) == [young]


async def test_clean_up_by_capacity_takes_the_least_recently_used_first(
    database: Database, index: SessionIndex, folder: Path
) -> None:
    gigabyte = 10**9
    names = {
        "active": await add(database, state="active", used_at=NOW - 9 * DAY, size_bytes=gigabyte),
        "looked at": await add(database, created_at=NOW - 90 * DAY, used_at=NOW, size_bytes=gigabyte),
        "forgotten": await add(database, used_at=NOW - 5 * DAY, size_bytes=gigabyte),
        "quiet": await add(database, used_at=NOW - 3 * DAY, size_bytes=gigabyte),
    }
    for session_id in names.values():
        make_folder(folder, session_id)
    for limit, expected in ((4, []), (3, ["forgotten"]), (2.5, ["quiet"]), (1, ["looked at"]), (0.5, [])):
        removed = await clean(index, folder, Limits.from_numbers(0, limit))
        assert removed == [Removed(names[name], "capacity", gigabyte) for name in expected]
    assert names_in(folder) == [names["active"]]


async def test_a_look_at_very_many_sessions_holds_up_nobody(
    database: Database, index: SessionIndex, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S20: 50,000 rows were made into objects at once and compared, which took a second of each minute."""
    made, threads = [], []
    old = await add(database, created_at=NOW - 31 * DAY)
    for _ in range(3):
        await add(database)

    def noted(*arguments: Any) -> list[Removed]:
        threads.append(threading.current_thread())
        return choose(*arguments)

    def note(session: Session, _: object) -> None:
        made.append(session)

    monkeypatch.setattr(cleanup, "choose", noted)
    event.listen(Session, "load", note)
    try:
        assert await clean(index, folder, Limits.from_numbers(30, 0), dry_run=True) == [
            Removed(old, "age", 0)
        ]
    finally:
        event.remove(Session, "load", note)
    assert made == [] and threads and threading.current_thread() not in threads


async def test_folders_without_a_row_go_like_others_but_not_what_is_no_session(
    index: SessionIndex, folder: Path
) -> None:
    old, young, held, dated, begun = (files.new_session_id() for _ in range(5))
    make_folder(folder, old, age=3 * DAY)
    make_folder(folder, young, age=DAY / 2)
    make_folder(folder, held, age=3 * DAY)
    meta = {"id": dated, "state": "complete", "created_at": (NOW - 2 * DAY).isoformat()}
    files.write_json(make_folder(folder, dated, age=DAY * 0) / "meta.json", meta)
    (folder / begun).mkdir()
    os.utime(folder / begun)
    journal = files.Journal(folder / held / "recording.jsonl")
    os.utime(folder / held / "recording.jsonl", (0, 0))
    os.utime(folder / held, (0, 0))
    (folder / "notes").mkdir()
    (folder / "notes.txt").write_text("keep")
    removed = await clean(index, folder, Limits.from_numbers(1, 0))
    assert {(item.session_id, item.reason) for item in removed} == {(old, "age"), (dated, "age")}
    assert names_in(folder) == sorted([young, held, begun, "notes", "notes.txt"])
    assert await clean(index, folder, Limits(size_bytes=0)) == [Removed(young, "capacity", 1000)]
    journal.close()


async def test_a_folder_without_a_row_goes_a_week_after_it_was_written_last(
    database: Database, index: SessionIndex, folder: Path
) -> None:
    """Its owner cannot see it, nor delete it."""
    orphan, young = files.new_session_id(), files.new_session_id()
    make_folder(folder, orphan, age=7.1 * DAY)
    make_folder(folder, young, age=6.9 * DAY)
    make_folder(folder, known := await add(database, used_at=NOW - 2 * DAY), age=2 * DAY)
    held = files.new_session_id()
    make_folder(folder, held, age=2 * DAY)
    journal = files.Journal(folder / held / "recording.jsonl")
    for entry in (folder / held / "recording.jsonl", folder / held):
        os.utime(entry, (0, 0))
    assert await clean(index, folder, Limits.from_numbers(30, 20)) == [Removed(orphan, "orphan", 1000)]
    assert names_in(folder) == sorted([young, known, held])
    journal.close()


async def test_the_command_goes_by_the_settings_of_the_gateway(
    database_url: str, database: Database, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VOXFLEET_DATABASE_URL", database_url)
    monkeypatch.setenv("VOXFLEET_SESSION_RETENTION_DAYS", "30")
    old = await add(database, created_at=NOW - 10 * DAY)
    make_folder(folder, old)
    assert await asyncio.to_thread(clean_sessions, folder.parent, None, None) == []
    removed = await asyncio.to_thread(clean_sessions, folder.parent, 7, None)
    assert [item.session_id for item in removed] == [old] and names_in(folder) == []
    with pytest.raises(CleanError, match="no folder"):
        await asyncio.to_thread(clean_sessions, folder / "nowhere", 7, None)
    with pytest.raises(CleanError, match="session_retention_days"):
        await asyncio.to_thread(clean_sessions, folder.parent, -1, None)


async def test_without_limits_nothing_is_even_looked_at(folder: Path) -> None:
    unopened = SessionIndex(Database("sqlite:///never-opened.db"))
    assert await clean(unopened, folder, Limits.from_numbers(0, 0)) == []
    assert choose([], Limits(age=DAY, size_bytes=0), NOW) == []


@pytest.mark.parametrize("days", [1e6, 1e10, 1e300])
def test_a_retention_of_ages_keeps_all_and_leaves_the_limit_of_size(days: float) -> None:
    old = Stored("old", NOW - 1000 * DAY, NOW, 1000, active=False, indexed=True)
    assert choose([old], Limits.from_numbers(days, 0), NOW) == []
    assert choose([old], Limits.from_numbers(days, 1e-9), NOW) == [Removed("old", "capacity", 1000)]
