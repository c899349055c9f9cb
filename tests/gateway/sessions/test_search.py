"""Sessions are found by what was said, by their owners alone, and not any more once they are deleted."""

from __future__ import annotations

import asyncio
import io
import threading
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import unquote

import pytest
from sqlalchemy import update

from gateway.database import Session, connection
from gateway.sessions.file_names import stem_of
from gateway.sessions.storage.files import TIMELINE
from gateway.sessions.upkeep import make_searchable
from tests.forks import PATIENCE_SECONDS
from tests.gateway.sessions.clients import ADMIN, Clients
from tests.gateway.stages.processes import check_error

TEXT = "Straße und ÉCOLE, 100% safe_mode. " + "今天天气很好,我们去公园散步。"


async def found(clients: Clients, search: str, owner: str = "10.0.0.1", **options: object) -> list[str]:
    async with clients.at(owner, headers=ADMIN if "all" in options else {}) as me:
        answer = await me.get("/api/sessions", params={"search": search, **options})
    assert answer.is_success, answer.text
    return [session["id"] for session in answer.json()["sessions"]]


def all_bytes(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    "search", ["strasse", "école", "公园", "散步 天气", "SLT straße", "100%", "safe_mode", "ｓａｆｅ"]
)
async def test_what_was_said_is_found_in_any_case_script_and_order(clients: Clients, search: str) -> None:
    session_id = await clients.record("10.0.0.1", TEXT)
    assert await found(clients, search) == [session_id]


@pytest.mark.parametrize("search", ["strasse nirgends", "10_%", "safeXmode", "雨天", "%", "_ _"])
async def test_what_was_not_said_is_not_found(clients: Clients, search: str) -> None:
    await clients.record("10.0.0.1", "Straße und 100 safe-mode. 今天天气很好。")
    assert await found(clients, search) == []


async def test_each_finds_ones_own_and_nobody_what_is_deleted(clients: Clients) -> None:
    mine = await clients.record("10.0.0.1", "A secret garden.")
    yours = await clients.record("10.0.0.2", "A secret passage.")
    assert await found(clients, "secret") == [mine]
    assert await found(clients, "passage") == []
    assert set(await found(clients, "secret", all=True)) == {mine, yours}
    async with clients.at("10.0.0.1") as me:
        await me.patch(f"/api/sessions/{mine}", json={"title": "Hollyhocks", "comment": "for the fair"})
        assert await found(clients, "hollyhocks fair garden") == [mine]
        await me.patch(f"/api/sessions/{mine}", json={"title": "", "comment": ""})
        assert await found(clients, "hollyhocks") == []
        assert (await me.delete(f"/api/sessions/{mine}")).status_code == 204
        check_error(await me.get("/api/sessions", params={"search": "x" * 201}), 422)
    assert await found(clients, "secret") == []
    assert await found(clients, "secret", all=True) == [yours]
    held = all_bytes(Path(clients.gateway.settings.data_dir))
    assert b"secret passage" in held and b"secret garden" not in held


async def test_one_that_is_being_recorded_is_found_by_its_first_words(clients: Clients) -> None:
    recording = clients.begin("10.0.0.1", "Early words.")
    async with clients.at("10.0.0.1") as me:
        await me.get(f"/api/sessions/{recording.session_id}")  # its row is there with the answer
    assert await found(clients, "early") == [recording.session_id]
    recording.utterance("Late ones.", {"seed": 2})
    recording.finish("stop")
    await clients.gateway.recorder.settled(recording.session_id)
    assert await found(clients, "late") == [recording.session_id]


async def test_who_searches_at_length_keeps_the_database_from_nobody(
    clients: Clients, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S20: sixteen searches in three hundred texts of 100,000 letters had all connections for minutes."""
    await clients.record("10.0.0.1", "Something.")
    mine = await clients.record("10.0.0.2", "Something else.")
    looked, go_on, place_of = threading.Event(), threading.Event(), connection._place_of

    def slowly(content: str | None, word: str) -> int | None:
        looked.set()
        go_on.wait(PATIENCE_SECONDS)
        return place_of(content, word)

    monkeypatch.setattr(connection, "_place_of", slowly)
    await clients.gateway.database.close()
    await clients.gateway.database.open()
    searches = [asyncio.create_task(found(clients, "something")) for _ in range(20)]
    await asyncio.to_thread(looked.wait, PATIENCE_SECONDS)
    async with clients.at("10.0.0.2") as other:
        answer = await other.get("/api/sessions")
    assert [session["id"] for session in answer.json()["sessions"]] == [mine]
    go_on.set()
    assert [len(ids) for ids in await asyncio.gather(*searches)] == [1] * 20


async def test_sessions_from_before_the_search_are_found_too(clients: Clients) -> None:
    session_id = await clients.record("10.0.0.1", "An old recording.")
    damaged = await clients.record("10.0.0.1", "Another one.")
    folder = clients.gateway.recorder.folder
    (folder / damaged / TIMELINE).write_text('{"utterances": [null]}')
    async with clients.gateway.database.transaction() as rows:
        await rows.execute(update(Session).values(search_title=None, search_text=None))
    assert await found(clients, "old") == []
    await make_searchable(clients.gateway.recorder.index, folder)
    assert await found(clients, "old slt") == [session_id]


async def test_the_list_tells_voice_and_seed(clients: Clients) -> None:
    await clients.record("10.0.0.1")
    async with clients.at("10.0.0.1") as me:
        (session,) = (await me.get("/api/sessions")).json()["sessions"]
    assert (session["voice"], session["seed"]) == ("slt", 1)


async def test_several_are_one_zip_file_with_a_folder_each(clients: Clients) -> None:
    ids = [await clients.record("10.0.0.1", text) for text in ("Same title.", "Same title.", "../../天气?")]
    yours = await clients.record("10.0.0.2")
    active = clients.begin("10.0.0.1").session_id
    async with clients.at("10.0.0.1") as me:
        answer = await me.post("/api/sessions/download", json={"ids": [*ids, ids[0]]})
        single = await me.get(f"/api/sessions/{ids[2]}/audio")
        for wrong, status in (
            ([yours], 404),
            ([active], 409),
            ([], 422),
            ([ids[0]] * 101, 422),
            (["../x"], 404),
        ):
            check_error(await me.post("/api/sessions/download", json={"ids": wrong}), status)
        foreign = {"Origin": "https://evil.example"}
        check_error(await me.post("/api/sessions/download", json={"ids": ids}, headers=foreign), 403)
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        assert archive.testzip() is None
        folders = sorted({name.partition("/")[0] for name in archive.namelist()})
    day = f"slt-{datetime.now(UTC):%Y-%m}"
    assert len(folders) == 3 and all(day in folder for folder in folders)
    assert folders[1] == f"{folders[0]}-2" and folders[2].startswith("天气-")
    assert "filename*=UTF-8''天气-slt-" in unquote(single.headers["Content-Disposition"])


@pytest.mark.parametrize(
    ("title", "voice", "stem"),
    [
        ("The quick, brown fox!", "Ruth", "the-quick-brown-fox-ruth-2026-03-01"),
        (
            "one two three four five six seven eight nine",
            "default",
            "one-two-three-four-five-six-seven-eight-2026-03-01",
        ),
        ('..\\<con>:"|?*', "v_0123456789abcdef", "con-2026-03-01"),
        ("\u202e…", "default", "speech-2026-03-01"),
        ("हिन्दी में", "default", "हिन्दी-में-2026-03-01"),
        ("天" * 80, "default", "天" * 40 + "-2026-03-01"),
    ],
)
def test_a_file_is_called_by_its_words_its_voice_and_its_day(title: str, voice: str, stem: str) -> None:
    row = Session(id="s_x", title=title, voice=voice, created_at=datetime(2026, 3, 1, tzinfo=UTC))
    assert stem_of(row) == stem
    assert len(stem.encode()) <= 180
