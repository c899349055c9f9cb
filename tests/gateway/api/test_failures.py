"""A disk or a database that is full, read-only or away: clients hear so, nothing half is listed, it ends."""

from __future__ import annotations

import errno
import tempfile
from pathlib import Path
from typing import Any

import httpx
import pytest
from sqlalchemy import event

from gateway.jobs.files import JobFiles
from gateway.training.files import TrainingFiles
from tests.gateway.audio.files import RATE, speech, wav
from tests.gateway.jobs.stage import reading_worker, running
from tests.gateway.stages.processes import check_error

CONSENT = {"consent_by": "Ann Example", "consent_statement": "I agree. " * 200}
ORDERS: dict[str, dict[str, Any]] = {
    "/api/jobs": {"text": "One. Two.", "title": "a" * 120},
    "/api/trainings": {"name": "Anna", **CONSENT},
    "/api/books": {"title": "A book", "blocks": [{"text": "One. " * 2000}]},
}
FILES = {"/api/jobs": JobFiles, "/api/trainings": TrainingFiles}


def stage(tmp_path: Path) -> Any:
    return running(tmp_path, reading_worker(), working=False, training_base="bundled")


async def kept(http: httpx.AsyncClient, path: str) -> int:
    return len((await http.get(path)).json()[path.rpartition("/")[2]])


@pytest.mark.parametrize("path", [*ORDERS, "/api/sessions"])
async def test_a_database_that_is_away_is_said_to_be(tmp_path: Path, path: str) -> None:
    async with stage(tmp_path) as service, service.at() as http:
        await service.gateway.database.close()
        for method in ("GET", "POST") if path in ORDERS else ("GET",):
            answer = await http.request(method, path, **({"json": ORDERS[path]} if method == "POST" else {}))
            assert check_error(answer, 503)["code"].endswith("_unavailable")
            assert answer.headers["Retry-After"]
        await service.gateway.database.open()
        assert await kept(http, path) == 0


@pytest.mark.parametrize("path", ORDERS)
async def test_a_database_without_room_is_said_to_be_full(tmp_path: Path, path: str) -> None:
    async with stage(tmp_path) as service, service.at() as http:
        before = [await http.post(path, json=ORDERS[path]) for _ in range(2)]
        assert all(answer.is_success for answer in before)

        def be_full(connection: Any, *_: object) -> None:
            connection.execute("PRAGMA max_page_count = 1")

        engine = service.gateway.database._engine.sync_engine
        event.listen(engine, "checkout", be_full)
        refusals = [await http.post(path, json=ORDERS[path]) for _ in range(20)]
        full = [answer for answer in refusals if not answer.is_success]
        assert full and {check_error(answer, 507)["code"] for answer in full} == {"disk_full"}
        event.remove(engine, "checkout", be_full)
        assert await kept(http, path) == 22 - len(full)


async def test_what_no_database_is_to_blame_for_is_a_defect(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.jobs.service.new_job_id", lambda: "j_0000000000000000000000")
    monkeypatch.setattr(JobFiles, "create", lambda *_: None)
    async with stage(tmp_path) as service, service.at() as http:
        assert (await http.post("/api/jobs", json=ORDERS["/api/jobs"])).is_success
        again = await http.post("/api/jobs", json=ORDERS["/api/jobs"])
        assert check_error(again, 500)["code"] == "internal_error"


@pytest.mark.parametrize("path", FILES)
@pytest.mark.parametrize(("number", "code"), [(errno.EROFS, "storage_failed"), (errno.EDQUOT, "disk_full")])
async def test_a_disk_that_takes_nothing_is_said_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, number: int, code: str
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(number, "no")

    async with stage(tmp_path) as service, service.at() as http:
        monkeypatch.setattr(FILES[path], "create", refuse)
        assert check_error(await http.post(path, json=ORDERS[path]), 507)["code"] == code
        assert await kept(http, path) == 0
        monkeypatch.undo()
        assert (await http.post(path, json=ORDERS[path])).is_success


@pytest.mark.parametrize(
    ("number", "status", "code"),
    [
        (errno.ENOSPC, 507, "disk_full"),
        (errno.EIO, 507, "storage_failed"),
        (errno.ENOENT, 500, "internal_error"),
    ],
)
async def test_an_upload_for_which_there_is_no_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, status: int, code: str
) -> None:
    """In the folder of temporary files. What no disk is to blame for is a defect still."""

    def refuse(*_: object) -> None:
        raise OSError(number, "no")

    async with stage(tmp_path) as service, service.at() as http:
        monkeypatch.setattr(tempfile.SpooledTemporaryFile, "rollover", refuse)
        files = {"audio": ("a.wav", wav(speech(3.0), RATE))}
        answer = await http.post("/api/voices", data={"name": "Anna"}, files=files)
        assert check_error(answer, status)["code"] == code
