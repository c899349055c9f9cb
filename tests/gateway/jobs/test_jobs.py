"""Jobs are spoken part by part whatever happens meanwhile, and gone when they are deleted."""

from __future__ import annotations

import asyncio
import errno
import threading
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from gateway.jobs.files import JobFiles
from gateway.tending.failures import OfAnotherBuild
from tests.gateway.jobs.stage import (
    BEFORE_CHAPTER_2,
    PARTS,
    RATE,
    TEXT,
    WHOLE,
    reading_worker,
    running,
)
from tests.gateway.stages.processes import check_error, eventually
from tests.gateway.stages.scripted_worker import Act, ScriptedWorker
from tests.gateway.streams.stage import latents_of
from worker.protocol import ANY_VOICE, ErrorDetail


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


async def test_a_job_goes_on_after_a_restart(tmp_path: Path) -> None:
    first, second = reading_worker(Act(), Act(), Act(1, "hang")), reading_worker()
    async with running(tmp_path, first) as service:
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


@pytest.mark.parametrize(
    ("name", "lost"), [("parts.jsonl", -1), ("parts.jsonl", -6), ("words.jsonl", -1), ("audio.pcm", -2)]
)
async def test_a_job_whose_files_are_behind_its_row_begins_anew(tmp_path: Path, name: str, lost: int) -> None:
    first, second = reading_worker(Act(), Act(), Act(1, "hang")), reading_worker()
    async with running(tmp_path, first) as service:
        job_id = await service.post(timestamps="word")
        await service.until_parts(job_id, 2)
    path = service.jobs.files(job_id).folder / name
    path.write_bytes(path.read_bytes()[:lost])
    async with running(tmp_path, second) as service:
        await service.until(job_id, "complete")
        assert await service.result(job_id, format="pcm") == WHOLE
    assert [start.text for start in second.requests] == PARTS


async def waits(logs: list[Any]) -> bool | None:
    return True if any(line["event"] == "a job waits" for line in logs) else None


async def test_a_job_whose_model_has_other_weights_since_begins_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after an upgrade: nobody will have the weights of its first parts again."""
    first, second = reading_worker(Act(), Act(), Act(1, "hang")), reading_worker()
    second.revision = "2"
    async with running(tmp_path, first) as service:
        job_id = await service.post()
        await service.until_parts(job_id, 2)
    monkeypatch.setattr("gateway.jobs.runner._FIRST_PAUSE_SECONDS", 0.01)
    with capture_logs() as logs:
        async with running(tmp_path, second, no_worker_grace_seconds=0.01) as service:
            await eventually(partial(waits, logs), "the job does not wait")
    assert not second.requests, "its weights may come back"
    async with running(tmp_path, second, no_worker_grace_seconds=0.01) as service:
        monkeypatch.setattr("gateway.jobs.runner._WEIGHTS_PATIENCE_SECONDS", 0.0)
        await service.until(job_id, "complete")
        assert await service.result(job_id, format="pcm") == WHOLE
    assert [start.text for start in second.requests] == PARTS


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
    async with running(tmp_path, worker) as service:
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


async def test_what_is_being_written_is_waited_for_before_it_is_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thread that made a file meanwhile would have left a folder that cannot be removed."""
    writing, go_on, done = (threading.Event() for _ in range(3))
    order: list[str] = []
    append, remove = JobFiles.append, JobFiles.remove

    def appending(files: JobFiles, *part: Any) -> int:
        writing.set()
        try:
            assert go_on.wait(10)
            return append(files, *part)
        finally:
            order.append("written")
            done.set()

    def removing(files: JobFiles) -> None:
        order.append("removed")
        remove(files)

    monkeypatch.setattr(JobFiles, "append", appending)
    monkeypatch.setattr(JobFiles, "remove", removing)
    async with running(tmp_path, reading_worker()) as service, service.at() as http:
        job_id = await service.post()
        assert await asyncio.to_thread(writing.wait, 10)
        asyncio.get_running_loop().call_later(0.2, go_on.set)
        assert (await http.delete(f"/api/jobs/{job_id}")).status_code == 204
        assert await asyncio.to_thread(done.wait, 10)
    assert order == ["written", "removed"]


async def test_a_deleted_job_leaves_nothing(tmp_path: Path) -> None:
    """S14: neither in the database nor in the folder."""
    worker = reading_worker(Act(), Act(), Act(1, "hang"), Act())
    canary = "The canary sang."
    async with running(tmp_path, worker) as service:
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


async def test_a_job_that_another_process_works_on_is_left_to_it(tmp_path: Path) -> None:
    async with running(tmp_path, reading_worker()) as service:
        held = JobFiles(service.jobs.folder, "j_" + "x" * 22)
        held.create({}, [], service.gateway.disk)
        assert held.lock() and not JobFiles(service.jobs.folder, "j_" + "x" * 22).lock()
        held.unlock()
        assert JobFiles(service.jobs.folder, "j_" + "x" * 22).lock()


async def test_a_job_of_a_newer_version_is_left_to_a_gateway_that_knows_its_fields(tmp_path: Path) -> None:
    """While versions change, gateways of both look for work."""
    async with running(tmp_path, reading_worker(), working=False) as service:
        job_id = await service.post()
        job, files = await service.jobs.store.get(job_id), service.jobs.files(job_id)
        known = files.request
        files.ask_for({**known, "of_tomorrow": 1})
        with pytest.raises(OfAnotherBuild):
            await service.jobs.work(job, files)
        assert (await service.get(job_id))["state"] == "queued"
        files.ask_for(known)
        async with service.jobs.running():
            await service.until(job_id, "complete")


async def test_tasks_end_with_the_gateway(tmp_path: Path) -> None:
    worker = reading_worker(Act(1, "hang"))
    async with running(tmp_path, worker) as service:
        job_id = await service.post()
        await service.until(job_id, "running")
        assert service.jobs.tending.tasks
    assert not service.jobs.tending.tasks


async def test_a_job_that_goes_on_keeps_the_voice_that_was_made_up_for_it(tmp_path: Path) -> None:
    features = (ANY_VOICE, "reference")
    first = ScriptedWorker([Act(), Act(), Act(1, "hang")], part_characters=24, features=features)
    second = ScriptedWorker([Act()], part_characters=24, features=features)
    async with running(tmp_path, first) as service:
        job_id = await service.post()
        await service.until_parts(job_id, 2)
    async with running(tmp_path, second) as service:
        await service.until(job_id, "complete")
    assert [start.text for start in second.requests] == PARTS[2:]
    given = [start.reference_latents.data for start in (*first.requests[1:], *second.requests)]
    heading, one, longer = map(latents_of, PARTS[:3])
    assert given == [heading, one, one, longer, longer], "the longest so far, as long as that is short"
