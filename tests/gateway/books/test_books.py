"""Books: made block by block, heard and made again, kept through restarts, and gone when they are deleted."""

from __future__ import annotations

import io
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import av
import pytest
import soundfile
from sqlalchemy.ext.asyncio import AsyncSession

from gateway.jobs import sweep
from gateway.settings.storage import DATABASE_FILE
from tests.gateway.books.reader import BLOCKS, SPOKEN, silence, written
from tests.gateway.jobs.stage import RATE, reading_worker, running
from tests.gateway.stages.processes import check_error, pcm_of
from tests.gateway.stages.scripted_worker import Act
from worker.protocol import ErrorDetail


async def test_books_are_listed_page_by_page(tmp_path: Path) -> None:
    async with running(tmp_path, working=False) as service, service.at() as http:
        for title in ("One", "Two", "Three"):
            (await http.post("/api/books", json={"title": title, "blocks": []})).raise_for_status()
        first = (await http.get("/api/books", params={"limit": 2})).json()
        rest = (await http.get("/api/books", params={"before": first["next_before"]})).json()
        assert [book["title"] for book in first["books"] + rest["books"]] == ["Three", "Two", "One"]
        assert rest["next_before"] is None
        for wrong in ({"before": "1.j_pyIiuKZIzHo_dK3R9G9xTg"}, {"limit": 201}):
            check_error(await http.get("/api/books", params=wrong), 422)


@pytest.mark.parametrize("format", ["wav", "m4b", "srt"])
async def test_an_export_names_the_blocks_whose_audio_is_gone(tmp_path: Path, format: str) -> None:
    async with running(tmp_path, reading_worker()) as service, service.at() as http:
        reader = await written(service, http)
        await reader.made()
        gone, cut = (service.jobs.files(reader.takes(number)[0]["id"]).audio for number in (1, 4))
        gone.unlink()
        cut.write_bytes(cut.read_bytes()[:-2])
        error = check_error(await http.get(f"{reader.path}/export", params={"format": format}), 409)
    assert error["code"] == "take_lost" and error["message"].endswith(": 2, 5")


async def test_a_book_is_made_block_by_block_and_exported_in_order(tmp_path: Path) -> None:
    worker = reading_worker()
    async with running(tmp_path, worker) as service, service.at() as http:
        reader = await written(service, http)
        assert reader.book["progress"] == {
            "blocks": 5, "ready": 1, "making": 0, "queued": 0, "failed": 0, "seconds_left": None
        }  # fmt: skip
        error = check_error(await http.get(f"{reader.path}/export"), 409)
        assert error["message"].endswith("blocks without a take: 1, 2, 4, 5")
        await reader.made()
        files = {name: await reader.export(name) for name in ("pcm", "wav", "mp3", "m4b", "srt", "vtt")}
        assert files["m4b"] == await reader.export("m4b")
        (listed,) = (await http.get("/api/books")).json()["books"]
        jobs = (await http.get("/api/jobs")).json()["jobs"]
        hidden = await http.get(f"/api/jobs/{reader.takes(0)[0]['id']}")
        named = await http.get(f"{reader.path}/export", params={"format": "srt"})
    assert sorted(start.text for start in worker.requests) == sorted(SPOKEN)
    assert (listed["title"], listed["progress"]["ready"]) == ("Der Weg \u2192", 5)
    assert listed["characters"] == sum(len(block["text"]) for block in BLOCKS)
    assert jobs == [] and check_error(hidden, 404)
    assert "filename*=UTF-8''Der%20Weg%20%E2%86%92.srt" in named.headers["Content-Disposition"]
    whole = b""
    for number, block in enumerate(BLOCKS):
        if number != 2:
            (take,) = reader.takes(number)
            assert take["state"] == "ready" and take["progress"] == 1.0 and not take["stale"]
            assert reader.book["blocks"][number]["take"] == take["id"]
            whole += pcm_of(block["text"], take["seed"])
        whole += silence(block.get("pause_ms", 700))
    assert files["pcm"] == whole
    check_files(files, whole)


def check_files(files: dict[str, bytes], whole: bytes) -> None:
    samples, rate = soundfile.read(io.BytesIO(files["wav"]), dtype="int16")
    assert rate == RATE and samples.tobytes() == whole
    seconds = len(whole) / 2 / RATE
    for name in ("mp3", "m4b"):
        with av.open(io.BytesIO(files[name])) as file:
            stream = file.streams.audio[0]
            decoded = sum(frame.samples for frame in file.decode(stream)) / stream.rate
            chapters = [(mark["metadata"]["title"], mark["start"]) for mark in file.chapters()]
            assert file.metadata["title"] == "Der Weg \u2192"
        assert decoded == pytest.approx(seconds, abs=0.2), name
        assert [title for title, _ in chapters] == ["One", "Two"] and chapters[0][1] == 0
    cues = files["srt"].decode().split("\n\n")
    assert [cue.splitlines()[2] for cue in cues] == ["One", "They walked.", "Two", "Home again."]
    assert files["vtt"].startswith(b"WEBVTT\n\n00:00:00.000 --> ")
    starts = [cue.splitlines()[1].partition(" ")[0] for cue in cues]
    assert starts == sorted(starts) and starts[1] > "00:00:01"


async def test_a_book_goes_on_after_a_restart_and_another_gateway_sees_it(tmp_path: Path) -> None:
    first, second = reading_worker(Act(), Act(1, "hang")), reading_worker()
    async with running(tmp_path, first, jobs_at_once=1) as service, service.at() as http:
        reader = await written(service, http)
        await reader.call("POST", "/make", 202)
        await reader.until(ready=2, making=1, queued=2)
        assert reader.book["progress"]["seconds_left"] is not None
        kept = reader.takes(0)
    async with running(tmp_path, second) as service, service.at() as http:
        reader.http = http
        await reader.until(ready=5, making=0, queued=0)
        assert reader.takes(0) == kept
        whole = await reader.export("pcm")
        assert pcm_of("They walked.", reader.takes(1)[0]["seed"]) in whole
    assert sorted(start.text for start in second.requests) == sorted(SPOKEN[1:])


async def test_what_waits_is_stopped_and_what_failed_is_made_again(tmp_path: Path) -> None:
    refused = ErrorDetail(message="too odd", type="invalid_request_error", param="text", code="too_odd")
    worker = reading_worker(Act(refusal=refused), Act(1, "hang"), Act())
    async with running(tmp_path, worker, jobs_at_once=1) as service, service.at() as http:
        reader = await written(service, http)
        await reader.call("POST", "/make", 202)
        await reader.until(failed=1, making=1)
        assert reader.takes(0)[0]["error"] == {"code": "too_odd", "message": "too odd"}
        await reader.call("DELETE", "/make")
        assert reader.book["progress"] | {"making": 0, "queued": 0} == reader.book["progress"]
        assert not service.gateway.pool.tickets
        await reader.made()
        assert [len(reader.takes(number)) for number in range(5)] == [1, 1, 0, 1, 1]


async def test_a_deleted_book_leaves_nothing(tmp_path: Path) -> None:
    """S14: neither in the database nor in a folder, while a take of it is made."""
    canary = "The canary sang."
    worker = reading_worker(Act(), Act(1, "hang"))
    async with running(tmp_path, worker, jobs_at_once=1) as service, service.at() as http:
        reader = await written(service, http, title=canary, blocks=[{"text": canary}, {"text": "More."}])
        await reader.call("POST", "/make", 202)
        await reader.until(ready=1, making=1)
        await reader.call("PUT", "/blocks", json=reader.edited(0, text="Nothing."))
        await reader.call("DELETE", "", 204)
        check_error(await http.get(reader.path), 404)
        assert not service.gateway.pool.tickets
        assert not any(files_with(canary, tmp_path / "data"))
        assert list(service.jobs.folder.iterdir()) == []


async def test_no_take_is_added_while_its_book_is_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its row would go untold, and its folder stay."""
    tried: list[str] = []
    read = AsyncSession.scalars

    async def read_and_try(rows: AsyncSession, *statement: Any) -> Any:
        found = await read(rows, *statement)
        with closing(sqlite3.connect(tmp_path / "data" / DATABASE_FILE, timeout=0)) as another:
            try:
                another.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                tried.append(str(error))
            else:
                tried.append("written")
        return found

    async with running(tmp_path, reading_worker(), working=False) as service, service.at() as http:
        reader = await written(service, http)
        await reader.call("POST", "/make", 202)
        with monkeypatch.context() as patched:
            patched.setattr(AsyncSession, "scalars", read_and_try)
            await reader.call("DELETE", "", 204)
    assert tried == ["database is locked"]


def files_with(text: str, folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


async def test_books_go_by_age_with_their_takes(tmp_path: Path) -> None:
    options = {"session_retention_days": 1e-9, "working": False}
    async with running(tmp_path, reading_worker(), **options) as service, service.at() as http:
        waiting, idle = await written(service, http), await written(service, http)
        await waiting.call("POST", "/make", 202)
        await sweep.sweep(service.jobs, service.gateway)
        assert [book["id"] for book in (await http.get("/api/books")).json()["books"]] == [waiting.book["id"]]
        await waiting.call("DELETE", "/make")
        await sweep.sweep(service.jobs, service.gateway)
        assert (await http.get("/api/books")).json() == {"books": [], "next_before": None}
        assert json.loads((await http.get(idle.path)).content)["error"]["code"] == "unknown_book"
