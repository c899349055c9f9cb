"""Jobs belong to who made them, who may have so many; what is wrong, old or too much is refused or goes."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from gateway.database import DatabaseError
from gateway.database.present import Present
from gateway.jobs.sweep import sweep
from gateway.tending import failures, orphans
from tests.gateway.jobs.stage import (
    ADMIN,
    TEXT,
    reading_worker,
    running,
)
from tests.gateway.stages.processes import check_error, eventually


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
        unseen = await http.post("/api/jobs", json={"text": TEXT, "title": "\0"})
        assert check_error(unseen, 422)["message"] == "title: holds a NUL character"
        assert not service.jobs.folder.exists()


async def test_a_job_shorter_than_its_model_s_patch_is_refused(tmp_path: Path) -> None:
    async with running(tmp_path, reading_worker(), working=False) as service, service.at() as http:
        answer = await http.post("/api/jobs", json={"text": TEXT, "max_seconds": 0.05})
        assert check_error(answer, 422)["param"] == "max_seconds"


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


async def test_what_is_old_or_without_a_row_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(orphans, "ORPHAN_SECONDS", -1)
    options = {"session_retention_days": 1e-9, "working": False}
    async with running(tmp_path, reading_worker(), **options) as gateway:
        waiting, ended = [await gateway.post() for _ in range(2)]
        await gateway.jobs.store.end(ended, "failed")
        orphan = gateway.jobs.files("j_" + "x" * 22)
        orphan.create({}, [], gateway.gateway.disk)
        await sweep(gateway.jobs, gateway.gateway)
        assert [path.name for path in gateway.jobs.folder.iterdir()] == [waiting]
        assert [job.id for job in await gateway.jobs.store.all_jobs()] == [waiting]


async def test_a_job_whose_files_are_gone_fails_and_holds_up_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A backup may have its row, and not its folder, which was removed before the files were copied."""
    monkeypatch.setattr(failures, "MISSED_SECONDS", 0)
    async with running(tmp_path, reading_worker(), working=False) as gateway:
        lost, kept = [await gateway.post() for _ in range(2)]
        shutil.rmtree(gateway.jobs.files(lost).folder)
        async with gateway.jobs.running():
            failed = await gateway.until(lost, "failed")
            await gateway.until(kept, "complete")
        assert failed["error"]["code"] == "files_lost"


async def test_jobs_wait_for_a_folder_of_all_that_is_away(tmp_path: Path) -> None:
    async with running(tmp_path, reading_worker(), working=False) as gateway:
        row = await gateway.jobs.store.get(await gateway.post())
        away = gateway.jobs.folder.rename(tmp_path / "away")
        gateway.jobs.folder.mkdir()  # where the disk with all of them belongs, which is not mounted yet
        assert not (await gateway.jobs.to_lock(row)).lock()
        gateway.jobs.folder.rmdir()
        assert (await gateway.get(row.id))["state"] == "queued"
        away.rename(gateway.jobs.folder)


async def test_jobs_stay_where_the_gateway_is_started_with_another_database(tmp_path: Path) -> None:
    async with running(tmp_path, reading_worker(), working=False) as gateway:
        job = await gateway.post()
        folder = gateway.jobs.files(job).folder
    with pytest.raises(DatabaseError, match="files of another database"):
        async with running(tmp_path, database_url=f"sqlite:///{tmp_path}/other.db"):
            pass
    assert folder.is_dir()
    async with running(tmp_path, reading_worker(), working=False) as gateway:
        assert [job.id for job in await gateway.jobs.store.all_jobs()] == [job]


async def test_a_job_ages_by_the_present_of_the_database(tmp_path: Path) -> None:
    async with running(tmp_path, reading_worker(), session_retention_days=30, working=False) as gateway:
        ended = await gateway.post()
        await gateway.jobs.store.end(ended, "failed")
        await sweep(gateway.jobs, gateway.gateway)
        assert [job.id for job in await gateway.jobs.store.all_jobs()] == [ended]
        gateway.gateway.database.present = Present(lambda: time.time() + 31 * 24 * 3600)
        await sweep(gateway.jobs, gateway.gateway)
        assert await gateway.jobs.store.all_jobs() == []


async def test_a_job_of_a_clock_that_was_set_back_goes_too(tmp_path: Path) -> None:
    async with running(tmp_path, reading_worker(), session_retention_days=30, working=False) as gateway:
        ended = await gateway.post()
        await gateway.jobs.store.end(ended, "failed")
        for days in (-1000, -1000 + 31):
            assert [job.id for job in await gateway.jobs.store.all_jobs()] == [ended]
            gateway.gateway.database.present = Present(lambda days=days: time.time() + days * 24 * 3600)
            await sweep(gateway.jobs, gateway.gateway)
        assert await gateway.jobs.store.all_jobs() == []


async def test_a_folder_without_a_row_that_is_dated_ahead_goes(tmp_path: Path) -> None:
    async with running(tmp_path, reading_worker(), working=False) as gateway:
        fresh, ahead = [gateway.jobs.files("j_" + name * 22) for name in "xy"]
        for files in (fresh, ahead):
            files.create({}, [], gateway.gateway.disk)
        os.utime(ahead.folder, (time.time() + 24 * 3600,) * 2)
        await sweep(gateway.jobs, gateway.gateway)
        assert list(gateway.jobs.folder.iterdir()) == [fresh.folder]


async def test_what_nobody_can_speak_is_refused_at_once(tmp_path: Path) -> None:
    async with running(tmp_path, reading_worker()) as service, service.at() as http:
        for name in ("voice", "model", "adapter"):
            answer = await http.post("/api/jobs", json={"text": "Hello.", name: "nobody"})
            error = check_error(answer, 404)
            assert (error["code"], error["param"]) == (f"unknown_{name}", name)
        assert not await service.jobs.store.all_jobs()


async def test_a_job_waits_for_workers_that_may_have_its_voice(tmp_path: Path) -> None:
    async with running(tmp_path) as service:
        job_id = await service.post(voice="nobody")
        assert (await service.get(job_id))["state"] == "queued"
