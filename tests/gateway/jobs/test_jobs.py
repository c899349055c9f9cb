"""Jobs: spoken part by part whatever happens meanwhile, fetched whole, and gone when they are deleted."""

from __future__ import annotations

import asyncio
import errno
import io
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import av
import httpx
import pytest
import soundfile

from gateway.app import create_app
from gateway.audio.note import SOURCE_TYPE
from gateway.jobs import service, sweep
from gateway.jobs.files import JobFiles
from gateway.jobs.result import result_pieces
from gateway.service import Gateway
from gateway.settings import load_settings
from tests.gateway.processes import check_error, eventually
from tests.gateway.scripted_worker import Act, ScriptedWorker, frames_of
from tests.gateway.streams.test_relay import QUICK, all_serving
from worker.protocol import ErrorDetail, StartRequest

SEED = 3
RATE = 24_000
PARTS = ["Chapter 1", "One part is short.", "The next one is longer.", "Chapter 2", "The last."]
TEXT = "Chapter 1\n\nOne part is short. The next one is longer.\n\nChapter 2\n\nThe last."
PAUSE = bytes(2 * round(0.7 * RATE))
FORMATS = ("wav", "mp3", "flac", "opus", "aac", "m4b")
ADMIN = {"X-Admin-Token": "administrators-token"}


def pcm_of(text: str) -> bytes:
    return b"".join(frame.pcm for frame in frames_of(StartRequest(request_id="r", text=text, seed=SEED)))


BEFORE_CHAPTER_2 = pcm_of(PARTS[0]) + PAUSE + pcm_of(PARTS[1]) + pcm_of(PARTS[2])
WHOLE = PAUSE.join([BEFORE_CHAPTER_2, pcm_of(PARTS[3]), pcm_of(PARTS[4])])


def reading_worker(*script: Act) -> ScriptedWorker:
    return ScriptedWorker(list(script or [Act()]), part_characters=24)


class Service:
    """A gateway with its jobs, and clients of it at addresses of their own."""

    def __init__(self, gateway: Gateway, app: Any) -> None:
        self.gateway = gateway
        self.jobs: service.Jobs = app.state.jobs
        self._app = app

    def at(self, address: str = "10.0.0.1", **options: Any) -> httpx.AsyncClient:
        transport = httpx.ASGITransport(self._app, client=(address, 5000))
        return httpx.AsyncClient(transport=transport, base_url="http://voxfleet", **options)

    async def post(self, **fields: Any) -> str:
        """The id of a new job."""
        async with self.at() as http:
            answer = await http.post("/api/jobs", json={"text": TEXT, "seed": SEED, **fields})
        assert answer.status_code == 202, answer.text
        assert answer.headers["Location"] == f"/api/jobs/{answer.json()['job']['id']}"
        return answer.json()["job"]["id"]

    async def get(self, job_id: str) -> dict[str, Any]:
        async with self.at() as http:
            return (await http.get(f"/api/jobs/{job_id}")).json()["job"]

    async def until(self, job_id: str, state: str) -> dict[str, Any]:
        async def poll() -> dict[str, Any] | None:
            job = await self.get(job_id)
            return job if job["state"] == state else None

        return await eventually(poll, f"the job is not {state}")

    async def until_parts(self, job_id: str, parts: int) -> None:
        async def poll() -> bool | None:
            return True if (await self.jobs.store.get(job_id)).parts >= parts else None

        await eventually(poll, f"the job has not {parts} parts")

    async def result(self, job_id: str, **query: Any) -> bytes:
        async with self.at() as http:
            answer = await http.get(f"/api/jobs/{job_id}/result", params=query)
        assert answer.status_code == 200, answer.text
        return answer.content


@asynccontextmanager
async def running(
    tmp_path: Path, *workers: ScriptedWorker, working: bool = True, **options: Any
) -> AsyncIterator[Service]:
    """Nothing may be held when the block ends."""
    async with AsyncExitStack() as stack:
        for worker in workers:
            await stack.enter_async_context(worker.running())
        options = {"data_dir": tmp_path / "data", "admin_token": ADMIN["X-Admin-Token"], **QUICK, **options}
        app = create_app(load_settings(worker_urls=[worker.url for worker in workers], **options))
        gateway: Gateway = app.state.gateway
        await stack.enter_async_context(gateway.running())
        await all_serving(gateway)
        if working:
            await stack.enter_async_context(app.state.jobs.running())
        yield Service(gateway, app)
    assert not gateway.pool.tickets
    assert not any(worker.leases for worker in gateway.pool.workers.values())


async def test_a_job_is_spoken_part_by_part_and_fetched_whole(tmp_path: Path) -> None:
    worker = reading_worker()
    async with running(tmp_path, worker) as service:
        job_id = await service.post(title="A book")
        job = await service.until(job_id, "complete")
        assert await service.result(job_id, format="pcm") == WHOLE
        assert service.gateway.metrics.jobs.labels("complete")._value.get() == 1
    assert [start.text for start in worker.requests] == PARTS
    assert (job["title"], job["progress"], job["eta_seconds"], job["error"]) == ("A book", 1.0, None, None)
    assert job["audio_seconds"] == pytest.approx(len(WHOLE) / 2 / RATE, abs=0.001)
    assert [chapter["title"] for chapter in job["chapters"]] == ["Chapter 1", "Chapter 2"]
    second = len(BEFORE_CHAPTER_2) / 2 / RATE
    assert [chapter["start_seconds"] for chapter in job["chapters"]] == [0, pytest.approx(second, abs=0.001)]


async def test_any_format_has_all_of_it_and_its_chapters(tmp_path: Path) -> None:
    async with running(tmp_path, reading_worker()) as service:
        job_id = await service.post(format="ulaw")
        await service.until(job_id, "complete")
        files = {name: await service.result(job_id, format=name) for name in FORMATS}
        telephony = await service.result(job_id)
        slow = await service.result(job_id, format="wav", sample_rate=8000)
        async with service.at() as http:
            for wrong in ({"format": "exe"}, {"format": "mp3", "sample_rate": 9000}, {"sample_rate": 1}):
                check_error(await http.get(f"/api/jobs/{job_id}/result", params=wrong), 422)
    seconds = len(WHOLE) / 2 / RATE
    assert len(telephony) == pytest.approx(8000 * seconds, rel=0.01)
    assert len(soundfile.read(io.BytesIO(slow))[0]) == pytest.approx(8000 * seconds, rel=0.01)
    for name in ("wav", "flac"):
        samples, rate = soundfile.read(io.BytesIO(files[name]), dtype="int16")
        assert rate == RATE and samples.tobytes() == WHOLE
    for name, data in files.items():
        with av.open(io.BytesIO(data)) as file:
            stream = file.streams.audio[0]
            decoded = sum(frame.samples for frame in file.decode(stream)) / stream.rate
            titles = [chapter["metadata"]["title"] for chapter in file.chapters()]
        assert decoded == pytest.approx(seconds, abs=0.2), name
        assert titles == ([] if name == "wav" else ["Chapter 1", "Chapter 2"]), name


async def test_an_audiobook_is_made_once_kept_and_gone_with_its_job(tmp_path: Path) -> None:
    async with running(tmp_path, reading_worker()) as service:
        job_id = await service.post(format="m4b", title="A book")
        await service.until(job_id, "complete")
        first, again = await asyncio.gather(service.result(job_id), service.result(job_id, format="m4b"))
        files = service.jobs.files(job_id)
        (kept,) = files.folder.glob("*.m4b*")
        assert first == again == kept.read_bytes()
        assert first.index(b"moov") < first.index(b"mdat")  # so that a player finds its way at once
        row = await service.jobs.store.get(job_id)
        assert row.size_bytes == sum(path.stat().st_size for path in files.folder.iterdir())
        async with service.at() as http:
            part = await http.get(f"/api/jobs/{job_id}/result", headers={"Range": "bytes=4-7"})
            assert (part.status_code, part.content) == (206, b"ftyp")
            assert part.headers["Content-Type"] == "audio/mp4"
        await service.result(job_id, bit_rate=32_000)
        (other,) = files.folder.glob("*.m4b*")
        assert other != kept and other.stat().st_size < len(first)
        async with service.at() as http:
            assert (await http.delete(f"/api/jobs/{job_id}")).status_code == 204
        assert not files.folder.exists()
    with av.open(io.BytesIO(first)) as file:
        assert (file.metadata["title"], file.metadata["comment"]) == ("A book", SOURCE_TYPE)


async def test_an_audiobook_of_a_job_that_goes_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, going = threading.Event(), threading.Event()

    def slow(*args: Any, **options: Any) -> Iterator[bytes]:
        begun.set()
        going.wait(30)
        yield from result_pieces(*args, **options)

    async with running(tmp_path, reading_worker()) as service:
        job_id = await service.post()
        await service.until(job_id, "complete")
        monkeypatch.setattr("gateway.jobs.service.result_pieces", slow)
        async with service.at() as http:
            fetching = asyncio.create_task(http.get(f"/api/jobs/{job_id}/result", params={"format": "m4b"}))
            await asyncio.to_thread(begun.wait)
            deleting = asyncio.create_task(http.delete(f"/api/jobs/{job_id}"))
            going.set()
            assert (await deleting).status_code == 204
            assert (await fetching).status_code in (200, 404)  # it may have been made just before
        assert not service.jobs.files(job_id).folder.exists()
        assert not service.jobs.audiobooks._making


async def test_a_job_goes_on_after_a_restart(tmp_path: Path) -> None:
    first, second = reading_worker(Act(), Act(), Act(1, "hang")), reading_worker()
    async with running(tmp_path, first, frame_timeout_seconds=30, stall_timeout_seconds=30) as service:
        job_id = await service.post()
        await service.until_parts(job_id, 2)
        job = await service.get(job_id)
        assert job["state"] == "running" and 0 < job["progress"] < 1 and job["eta_seconds"] is not None
    files = service.jobs.files(job_id)
    with files.audio.open("ab") as file:  # what a crash may leave behind the last part
        file.write(b"\1\2\3")
    with (files.folder / "parts.jsonl").open("a") as file:
        file.write("[1, 2, 3]\n")
    async with running(tmp_path, second) as service:
        await service.until(job_id, "complete")
        assert await service.result(job_id, format="pcm") == WHOLE
    assert [start.text for start in second.requests] == PARTS[2:]


@pytest.mark.parametrize("fault", ["cut", "failed"])
async def test_a_job_outlives_workers_and_waits_for_one(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.jobs.runner._FIRST_PAUSE_SECONDS", 0.01)
    busy = Act(refusal=ErrorDetail(message="no", type="capacity_error", code="no_slot"))
    script = [Act(1, fault), Act(), Act(1, fault), Act(0, fault), busy, Act()]
    async with running(tmp_path, reading_worker(*script), max_migrations=0) as service:
        job_id = await service.post()
        await service.until(job_id, "complete")
        assert await service.result(job_id, format="pcm") == WHOLE


async def test_whoever_waits_for_speech_goes_between_two_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    worker = reading_worker()
    async with running(tmp_path, worker, working=False) as service, service.at("10.0.0.2") as http:
        job_id = await service.post()
        keep, statuses = service.jobs.store.change, []

        async def speak_and_keep(*args: Any, **columns: Any) -> bool:
            if columns.get("parts") == 2:
                statuses.append((await http.post("/tts", json={"text": "Let me through."})).status_code)
            return await keep(*args, **columns)

        monkeypatch.setattr(service.jobs.store, "change", speak_and_keep)
        async with service.jobs.running():
            await service.until(job_id, "complete")
    assert statuses == [200]
    assert [start.text for start in worker.requests] == [*PARTS[:2], "Let me through.", *PARTS[2:]]


async def test_a_cancelled_job_goes_on_where_it_was(tmp_path: Path) -> None:
    worker = reading_worker(Act(), Act(), Act(1, "hang"), Act())
    async with running(tmp_path, worker, frame_timeout_seconds=30, stall_timeout_seconds=30) as service:
        job_id = await service.post()
        await service.until_parts(job_id, 2)
        async with service.at() as http:
            cancelled = await http.post(f"/api/jobs/{job_id}/cancel")
            assert cancelled.json()["job"]["state"] == "cancelled"
            assert not service.gateway.pool.tickets
            check_error(await http.post(f"/api/jobs/{job_id}/cancel"), 409)
            error = check_error(await http.get(f"/api/jobs/{job_id}/result"), 409)
            assert error["code"] == "job_not_complete"
            assert (await http.post(f"/api/jobs/{job_id}/resume")).json()["job"]["state"] == "queued"
        await service.until(job_id, "complete")
        assert await service.result(job_id, format="pcm") == WHOLE
        async with service.at() as http:
            check_error(await http.post(f"/api/jobs/{job_id}/resume"), 409)


async def test_a_deleted_job_leaves_nothing(tmp_path: Path) -> None:
    """S14: neither in the database nor in the folder."""
    worker = reading_worker(Act(), Act(), Act(1, "hang"), Act())
    canary = "The canary sang."
    async with running(tmp_path, worker, frame_timeout_seconds=30, stall_timeout_seconds=30) as service:
        job_id = await service.post(text=f"{canary}\n\n{TEXT}", title=canary)
        await service.until_parts(job_id, 2)
        async with service.at() as http:
            assert (await http.delete(f"/api/jobs/{job_id}")).status_code == 204
            check_error(await http.get(f"/api/jobs/{job_id}"), 404)
        assert not service.gateway.pool.tickets
        left = [path for path in (tmp_path / "data").rglob("*") if path.is_file()]
        assert left and not any(canary.encode() in path.read_bytes() for path in left)
        assert not service.jobs.files(job_id).folder.exists()


async def test_a_job_that_cannot_be_spoken_says_why_and_operators_hear_no_text(tmp_path: Path) -> None:
    refused = ErrorDetail(message="too odd", type="invalid_request_error", param="text", code="too_odd")
    async with running(tmp_path, reading_worker(Act(refusal=refused), Act())) as service:
        job_id = await service.post(title="The canary sang.")
        job = await service.until(job_id, "failed")
        assert job["error"] == {"code": "too_odd", "message": "too odd"}
        (line,) = await service.gateway.operations.log.read(10, None, "job")
        assert (line.subject, line.message) == (job_id, "failed: too_odd")
        async with service.at() as http:
            await http.post(f"/api/jobs/{job_id}/resume")
        assert (await service.until(job_id, "complete"))["error"] is None


async def test_a_full_disk_fails_a_job_that_goes_on_when_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check() -> None:
        raise OSError(errno.ENOSPC, "full")

    async with running(tmp_path, reading_worker(), working=False) as service:
        job_id = await service.post()
        monkeypatch.setattr(service.gateway.disk, "check", check)
        async with service.jobs.running():
            assert (await service.until(job_id, "failed"))["error"]["code"] == "disk_full"
            async with service.at() as http:
                answer = await http.post("/api/jobs", json={"text": TEXT})
                assert check_error(answer, 507)["code"] == "disk_full"
                monkeypatch.undo()
                await http.post(f"/api/jobs/{job_id}/resume")
            await service.until(job_id, "complete")
        assert await service.result(job_id, format="pcm") == WHOLE


async def test_a_job_belongs_to_its_owner(tmp_path: Path) -> None:
    async with running(tmp_path, reading_worker(), working=False) as service:
        job_id = await service.post()
        async with service.at("10.9.9.9") as http:
            for method, path in (
                ("GET", ""), ("GET", "/result"), ("POST", "/cancel"), ("POST", "/resume"), ("DELETE", "")
            ):  # fmt: skip
                answer = await http.request(method, f"/api/jobs/{job_id}{path}")
                assert check_error(answer, 404)["code"] == "unknown_job"
            assert (await http.get("/api/jobs")).json() == {"jobs": [], "next_before": None}
            check_error(await http.get("/api/jobs", params={"all": True}), 401)
            check_error(await http.get("/api/jobs/..%2f..%2fsecret"), 404)
            everybodys = await http.get("/api/jobs", params={"all": True}, headers=ADMIN)
            assert [job["owner"] for job in everybodys.json()["jobs"]] == ["10.0.0.1"]
            assert (await http.get(f"/api/jobs/{job_id}", headers=ADMIN)).status_code == 200
        async with service.at(headers={"Origin": "http://evil.example"}) as http:
            assert (await http.delete(f"/api/jobs/{job_id}")).status_code == 403
        more = [await service.post() for _ in range(2)]
        async with service.at() as http:
            page = (await http.get("/api/jobs", params={"limit": 2})).json()
            rest = (await http.get("/api/jobs", params={"before": page["next_before"]})).json()
        listed = [job["id"] for job in page["jobs"] + rest["jobs"]]
        assert sorted(listed) == sorted([job_id, *more]) and listed[-1] == job_id


WRONG = [
    ({"text": "x" * 1001}, "text"),
    ({"text": "..."}, "text"),
    ({"priority": "interactive"}, "priority"),
    ({"record": True}, "record"),
    ({"max_seconds": 1e9}, "max_seconds"),
    ({"title": "x" * 161}, "title"),
    ({"title": "\0"}, "title"),
    ({"chapters": "some"}, "chapters"),
    ({"chapters": [{"title": "B", "start": 5}, {"title": "A", "start": 5}]}, "chapters"),
    ({"chapters": [{"title": "A", "start": 10_000}]}, "chapters"),
    ({"format": "exe"}, "format"),
    ({"format": "mp3", "sample_rate": 9000}, "sample_rate"),
    ({"nothing": 1}, "nothing"),
]


async def test_what_is_wrong_is_refused_by_name(tmp_path: Path) -> None:
    async with running(tmp_path, working=False, max_job_characters=1000) as service, service.at() as http:
        for fields, param in WRONG:
            error = check_error(await http.post("/api/jobs", json={"text": TEXT, **fields}), 422)
            assert error["param"].startswith(param)
        assert not service.jobs.folder.exists()


async def test_there_are_so_many_jobs_and_no_more(tmp_path: Path) -> None:
    limits = {"max_jobs": 3, "max_jobs_per_owner": 2}
    async with running(tmp_path, working=False, **limits) as service:
        first = [await service.post() for _ in range(2)]
        async with service.at() as http, service.at("10.0.0.2") as other:
            body = {"text": TEXT}
            assert check_error(await http.post("/api/jobs", json=body), 429)["code"] == "too_many_jobs"
            assert (await other.post("/api/jobs", json=body)).status_code == 202
            check_error(await other.post("/api/jobs", json=body), 429)
            await http.delete(f"/api/jobs/{first[0]}")
            assert (await other.post("/api/jobs", json=body)).status_code == 202
        assert len(list(service.jobs.folder.iterdir())) == 3


async def test_owners_take_turns_and_a_gateway_works_on_so_many_at_once(tmp_path: Path) -> None:
    async with running(tmp_path, working=False, jobs_at_once=2) as service:
        for _ in range(3):
            await service.post()
        async with service.at("10.0.0.2") as http:
            other = (await http.post("/api/jobs", json={"text": TEXT})).json()["job"]["id"]
        async with service.jobs.running():

            async def poll() -> set[str] | None:
                return set(service.jobs.tending.tasks) if len(service.jobs.tending.tasks) == 2 else None

            assert other in await eventually(poll, "two jobs are not worked on")
        assert not service.jobs.tending.tasks


async def test_a_job_that_another_process_works_on_is_left_to_it(tmp_path: Path) -> None:
    async with running(tmp_path, reading_worker()) as service:
        held = JobFiles(service.jobs.folder, "j_" + "x" * 22)
        held.create({}, [], service.gateway.disk)
        assert held.lock() and not JobFiles(service.jobs.folder, "j_" + "x" * 22).lock()
        held.unlock()
        assert JobFiles(service.jobs.folder, "j_" + "x" * 22).lock()


async def test_what_is_old_or_without_a_row_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "ORPHAN_SECONDS", -1)
    options = {"session_retention_days": 1e-9, "working": False}
    async with running(tmp_path, reading_worker(), **options) as gateway:
        waiting, ended = [await gateway.post() for _ in range(2)]
        await gateway.jobs.store.end(ended, "failed")
        orphan = gateway.jobs.files("j_" + "x" * 22)
        orphan.create({}, [], gateway.gateway.disk)
        await sweep.sweep(gateway.jobs, gateway.gateway)
        assert [path.name for path in gateway.jobs.folder.iterdir()] == [waiting]
        assert [job.id for job in await gateway.jobs.store.all_jobs()] == [waiting]


async def test_a_voice_that_nobody_has_fails_the_job(tmp_path: Path) -> None:
    async with running(tmp_path, reading_worker()) as service:
        job_id = await service.post(voice="nobody", text="Hello.")
        assert (await service.until(job_id, "failed"))["error"]["code"] == "unknown_voice"


async def test_tasks_end_with_the_gateway(tmp_path: Path) -> None:
    worker = reading_worker(Act(1, "hang"))
    async with running(tmp_path, worker, frame_timeout_seconds=30, stall_timeout_seconds=30) as service:
        job_id = await service.post()
        await service.until(job_id, "running")
        assert service.jobs.tending.tasks
    assert not service.jobs.tending.tasks
