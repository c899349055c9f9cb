"""Log events of the gateway, where they are written."""

from __future__ import annotations

import io
import json
import logging
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog
from structlog.testing import LogCapture

from gateway.jobs.files import JobFiles
from gateway.live.hosted import HostedSession
from gateway.live.messages import Start
from gateway.log import configure_logging
from tests.gateway.jobs.stage import reading_worker, running
from tests.gateway.live.client import Client
from tests.gateway.stages.scripted_worker import Act, ScriptedWorker
from tests.gateway.streams.stage import gateway_of, prefer_the_first


def test_a_log_on_a_full_disk_fails_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("logging.basicConfig", lambda **_: None)
    monkeypatch.setattr("logging.captureWarnings", lambda _: None)
    before = structlog.get_config()
    with (
        io.TextIOWrapper(io.FileIO("/dev/full", "w"), write_through=True) as full,
        monkeypatch.context() as m,
    ):
        m.setattr(sys, "stderr", full)
        try:
            configure_logging("info")
            structlog.get_logger("x").info("listening", port=1)
        finally:
            structlog.configure(**before)
        with pytest.raises(OSError, match="No space left"):
            full.write("\n")


def test_what_libraries_say_is_a_line_of_json_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    given: dict[str, Any] = {}
    monkeypatch.setattr("logging.basicConfig", lambda **options: given.update(options))
    monkeypatch.setattr("logging.captureWarnings", lambda _: None)
    log, before = io.StringIO(), structlog.get_config()
    monkeypatch.setattr(sys, "stderr", log)
    try:
        configure_logging("info")
    finally:
        structlog.configure(**before)
    try:
        raise ValueError("first\nsecond")
    except ValueError:
        defect = sys.exc_info()
    said = "a task of %s\x1b[31m failed"
    record = logging.LogRecord("asyncio", logging.ERROR, "", 1, said, ("x\ny",), defect)
    given["handlers"][0].handle(record)
    (line,) = log.getvalue().splitlines()
    event = json.loads(line)
    assert (event["logger"], event["level"]) == ("asyncio", "error") and "timestamp" in event
    assert event["event"].startswith("a task of x") and "\x1b" not in event["event"]
    assert "ValueError: first" in event["exception"]


@pytest.fixture
def events() -> Iterator[list[dict[str, object]]]:
    """What is written to the log, with its tracebacks."""
    capture = LogCapture()
    before = structlog.get_config()
    structlog.configure(processors=[structlog.processors.format_exc_info, capture])
    yield capture.entries
    structlog.configure(**before)


async def test_a_defect_of_the_database_tells_no_text_of_a_client(
    tmp_path: Path, events: list[dict[str, object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gateway.jobs.service.new_job_id", lambda: "j_0000000000000000000000")
    monkeypatch.setattr(JobFiles, "create", lambda *_: None)
    async with running(tmp_path, reading_worker(), working=False) as service, service.at() as http:
        for _ in range(2):
            answer = await http.post("/api/jobs", json={"text": "Hush.", "title": "Between us"})
    assert answer.status_code == 500
    assert any("IntegrityError" in str(event.get("exception")) for event in events)
    assert "Between us" not in json.dumps(events) and "Hush" not in json.dumps(events)


async def test_a_wrong_secret_is_told_without_what_a_path_says(
    tmp_path: Path, events: list[dict[str, object]]
) -> None:
    keys = {"acme": {"key": "acme-0123456789abcdef"}}
    stage = running(tmp_path, reading_worker(), working=False, api_keys=keys)
    async with stage as service, service.at(headers={"X-API-Key": "guess"}) as http:
        assert (await http.put("/api/lexicon/words/Hush", json={"spoken": "hush"})).status_code == 401
    (told,) = [event for event in events if event["event"] == "wrong secret"]
    assert told["path"] == "/api/lexicon/..."


async def test_a_failing_database_is_told_without_what_a_path_says(
    tmp_path: Path, events: list[dict[str, object]]
) -> None:
    async with running(tmp_path, reading_worker(), working=False) as service, service.at() as http:
        await service.gateway.database.close()
        assert (await http.get("/api/jobs/j_0000000000000000000000")).status_code == 503
        await service.gateway.database.open()
    assert {event["path"] for event in events if event["event"] == "the database failed"} == {"/api/jobs/..."}


@pytest.mark.parametrize("path", ["/tts", "/v1/text-to-speech/Ann%20Example"])
async def test_a_request_is_told_without_the_voice_it_names(
    tmp_path: Path, events: list[dict[str, object]], path: str
) -> None:
    """Names of voices are names of people, and who calls a voice what is the client's."""
    async with running(tmp_path, reading_worker(), working=False) as service, service.at() as http:
        answer = await http.post(path, json={"text": "One.", "voice": "Ann Example"})
    assert answer.status_code == 404
    (told,) = [event for event in events if event["event"] == "request"]
    assert told["voice"] == "built_in" and "Ann" not in json.dumps(events)


async def test_the_line_of_a_request_leads_to_those_of_its_workers(
    tmp_path: Path, events: list[dict[str, object]]
) -> None:
    """Their ids of it begin with its ticket."""
    workers = [reading_worker(Act(1, "close")), reading_worker()]
    async with running(tmp_path, *workers, working=False) as service, service.at() as http:
        prefer_the_first(service.gateway)
        answer = await http.post("/tts", json={"text": "One."})
        ids = list(service.gateway.pool.workers)
    (told,) = [event for event in events if event["event"] == "request"]
    assert (answer.headers["X-Request-Id"], told["workers"]) == (told["request_id"], ids)
    (ticket,) = told["tickets"]
    asked = [request.request_id for worker in workers for request in worker.requests]
    assert len(asked) == 2 and all(id.startswith(f"{ticket}-") for id in asked)


async def test_the_line_of_a_live_session_leads_to_those_of_its_workers(
    events: list[dict[str, object]],
) -> None:
    worker = ScriptedWorker([Act()])
    async with gateway_of(worker) as gateway:
        hosted = HostedSession(gateway, Client(gateway), "r1", "live")
        hosted.open(Start(type="start"), gateway.callers.recall("10.0.0.1"))
        hosted.session.append("One. Two. ")
        hosted.session.stop()
        await hosted.run()
        hosted.settle("done")
        ids = list(gateway.pool.workers)
    (told,) = [event for event in events if event["event"] == "live session"]
    assert told["workers"] == ids
    (ticket,) = told["tickets"]
    assert worker.requests and all(request.request_id.startswith(f"{ticket}-") for request in worker.requests)
