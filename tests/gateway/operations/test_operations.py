"""Pages that are switched off, figures of workers, the overload watch, the journal of workers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from gateway.app import create_app
from gateway.database import Database
from gateway.errors import ApiError
from gateway.operations import restart
from gateway.operations.event_log import EventLog
from gateway.operations.overload import QUIET_SECONDS, OverloadWatch
from gateway.operations.overview import describe_queue
from gateway.operations.page_gate import api_of, page_of
from gateway.operations.worker_journal import WorkerJournal
from gateway.settings import load_settings
from gateway.slots.capacity.estimates import EtaTuning, ServiceTime
from gateway.slots.capacity.figures import WINDOW_REQUESTS, WorkerFigures
from gateway.slots.line.about import About
from gateway.slots.line.standing import Standing
from gateway.slots.requirement import Requirement
from gateway.workers.client import WorkerUnreachable
from tests.gateway.administration import ADMIN, ADMIN_TOKEN
from tests.gateway.fleet import Fleet, ManualClock, status
from worker.protocol import WorkerState, WorkerStatus


@pytest.fixture
def app() -> FastAPI:
    """Of a gateway whose only worker is not there."""
    return create_app(load_settings(worker_urls="http://127.0.0.1:9", admin_token=ADMIN_TOKEN))


@pytest.fixture
async def client(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app, client=("127.0.0.1", 50000))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=ADMIN) as opened:
        yield opened


def switch_off(app: FastAPI, *pages: str) -> None:
    app.state.gateway.operations.pages.load(dict.fromkeys(pages, False))


# ------------------------------------------------------------------------------------------------------ pages


async def test_all_pages_are_on_and_the_pages_know(client: httpx.AsyncClient) -> None:
    pages = ["studio", "live", "books", "sessions", "voices"]
    shown = (await client.get("/api/pages")).json()
    assert shown == {"pages": [{"id": page, "enabled": True} for page in pages]}
    assert (await client.get("/api/config")).json()["pages"] == pages


@pytest.mark.parametrize(
    ("page", "path"),
    [
        ("live", "/live"),
        ("books", "/book"),
        ("books", "/book/b1"),
        ("sessions", "/sessions"),
        ("sessions", "/sessions/2026-05-01"),
    ],
)
async def test_a_page_that_is_off_leads_home(app: FastAPI, client: httpx.AsyncClient, page, path) -> None:
    switch_off(app, page)
    response = await client.get(path)
    assert (response.status_code, response.headers["Location"]) == (302, "/")
    assert "Content-Security-Policy" in response.headers
    assert (await client.get("/api/config")).json()["pages"] == [
        other for other in ("studio", "live", "books", "sessions", "voices") if other != page
    ]


async def test_voices_have_no_page_and_their_list_is_a_protocols(
    app: FastAPI, client: httpx.AsyncClient
) -> None:
    """Cartesia's clients ask for it."""
    switch_off(app, "voices")
    answer = await client.get("/voices", headers={"Cartesia-Version": "2025-04-16"})
    assert answer.status_code == 200


async def test_home_itself_leads_nowhere_when_it_is_off(app: FastAPI, client: httpx.AsyncClient) -> None:
    assert (await client.get("/")).status_code == 200
    switch_off(app, "studio")
    response = await client.get("/")
    assert (response.status_code, response.json()["error"]["code"]) == (404, "page_disabled")
    assert (await client.get("/admin")).status_code == 200


async def test_a_reader_at_home_is_led_to_a_page_that_is_on(app: FastAPI, client: httpx.AsyncClient) -> None:
    reader = {"Accept": "text/html"}
    switch_off(app, "studio")
    assert (await client.get("/", headers=reader)).headers["Location"] == "/live"
    switch_off(app, "studio", "live")
    assert (await client.get("/", headers=reader)).headers["Location"] == "/book"
    switch_off(app, "studio", "live", "books")
    assert (await client.get("/", headers=reader)).headers["Location"] == "/sessions"
    switch_off(app, "studio", "live", "books", "sessions")
    response = await client.get("/", headers=reader)
    assert (response.status_code, response.headers["Content-Type"]) == (404, "text/html; charset=utf-8")
    assert 'data-i18n="lost.title"' in response.text


@pytest.mark.parametrize(
    ("method", "path", "page"),
    [
        ("GET", "/api/books", "books"),
        ("POST", "/api/books/b1/export", "books"),
        ("POST", "/api/documents", "books"),
        ("GET", "/api/sessions", "sessions"),
        ("DELETE", "/api/sessions/s1", "sessions"),
        ("GET", "/api/sessions/s1/audio", "sessions"),
        ("POST", "/api/voices", "voices"),
        ("PATCH", "/api/voices/v1", "voices"),
    ],
)
async def test_the_api_of_a_page_that_is_off_refuses(
    app: FastAPI, client: httpx.AsyncClient, method: str, path: str, page: str
) -> None:
    switch_off(app, page)
    response = await client.request(method, path)
    assert response.status_code == 403
    assert response.json()["error"]["code"] == "page_disabled"


async def test_what_other_pages_need_stays(app: FastAPI, client: httpx.AsyncClient) -> None:
    switch_off(app, "studio", "live", "books", "sessions", "voices")
    assert (await client.get("/api/voices")).status_code == 200
    assert api_of("GET", "/api/sessions/storage") is None
    assert api_of("DELETE", "/api/voices/v1") is None
    assert api_of("POST", "/api/trainings/t_1/start") == "voices" and page_of("/train") == "voices"
    assert api_of("DELETE", "/api/trainings/t_1") is None
    assert api_of("GET", "/api/sessionsandmore") is None
    assert page_of("/livestock") is None
    for path in ("/tts", "/v1/audio/speech"):
        assert (await client.post(path, json={})).json()["error"]["code"] == "missing_field"


def test_a_socket_of_a_page_that_is_off_says_why_and_closes(tmp_path: Path) -> None:
    app = create_app(
        load_settings(
            worker_urls="http://127.0.0.1:9", data_dir=tmp_path, admin_token="s3cret-and-long-enough"
        )
    )
    with TestClient(app) as client:
        assert (
            client.put(
                "/api/pages",
                headers={"X-Admin-Token": "s3cret-and-long-enough"},
                json={"pages": [{"id": "live", "enabled": False}]},
            ).status_code
            == 200
        )
        with client.websocket_connect("/ws/live", subprotocols=["voxfleet"]) as socket:
            message = socket.receive_json()
            with pytest.raises(WebSocketDisconnect) as closed:
                socket.receive_json()
    assert message["type"] == "error"
    assert set(message["error"]) == {"message", "type", "param", "code"}
    assert message["error"]["code"] == "page_disabled"
    assert closed.value.code == 1008


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"pages": [{"id": "cellar", "enabled": True}]}, "pages.0.id"),
        ({"pages": [{"id": "live", "enabled": "yes"}]}, "pages.0.enabled"),
        ({"pages": [{"id": "live"}]}, "pages.0.enabled"),
        ({}, "pages"),
    ],
)
async def test_wrong_switches_are_refused_by_name(client: httpx.AsyncClient, body, param: str) -> None:
    response = await client.put("/api/pages", json=body)
    assert response.status_code == 422
    assert response.json()["error"]["param"] == param


# ---------------------------------------------------------------------------------------------------- figures


def test_figures_of_a_worker_are_of_its_last_requests() -> None:
    figures = WorkerFigures()
    assert figures.describe()["first_audio_p50_seconds"] is None
    for _ in range(1000):
        figures.first_audio(9.0)
    for number in range(WINDOW_REQUESTS):
        figures.first_audio(number / 100)
        figures.served(seconds=1.0, audio_seconds=4.0)
    figures.served(seconds=1.0, audio_seconds=0.0)
    shown = figures.describe()
    assert shown["first_audio_p50_seconds"] == 1.27
    assert shown["first_audio_p95_seconds"] == 2.43
    assert shown["rtf_p50"] == 0.25
    assert shown["requests_served"] == WINDOW_REQUESTS + 1


def test_estimates_follow_the_tuning_that_is_shared() -> None:
    tuning = EtaTuning()
    fresh, seasoned = ServiceTime(tuning), ServiceTime(tuning)
    seasoned.observe(10.0)
    tuning.prior_seconds, tuning.alpha, tuning.overdue_share = 42.0, 1.0, 0.5
    assert fresh.seconds == 42.0
    assert seasoned.remaining(100.0) == 5.0
    seasoned.observe(2.0)
    assert seasoned.seconds == 2.0


# -------------------------------------------------------------------------------------------------- event log


class Recorded(EventLog):
    """Keeps what it is told, for tests without a database."""

    def __init__(self) -> None:
        super().__init__(Database("sqlite://"))
        self.lines: list[tuple[str, str, str]] = []

    def _append(self, kind: str, subject: str, message: str, *rest: object) -> None:
        self.lines.append((kind, subject, message))


def test_an_overload_is_two_lines_however_many_are_refused() -> None:
    clock, log = ManualClock(), Recorded()
    watch = OverloadWatch(log, clock, clock.call_later)
    watch.note("stop")
    assert log.lines == []
    for _ in range(300):
        watch.note("queue_full")
        clock.advance(0.1)
    watch.note("wait_too_long")
    assert [line[0] for line in log.lines] == ["overload"]
    clock.advance(QUIET_SECONDS + 1)
    assert log.lines[1] == ("overload_ended", "", "300 x queue_full, 1 x wait_too_long refused in 30 s")
    watch.note("queue_timeout")
    assert [line[0] for line in log.lines] == ["overload", "overload_ended", "overload"]


def test_a_restart_that_was_asked_for_is_no_error_in_the_journal() -> None:
    fleet, log = Fleet(0), Recorded()
    WorkerJournal(fleet.pool, log)
    (worker,) = fleet.workers
    fleet.pool.reports.answered(worker, status())
    worker.restarting = True
    fleet.pool.reports.answered(worker, status(WorkerState.DRAINING))
    fleet.die(worker)
    fleet.pool.reports.missed(worker, "refused")
    fleet.pool.reports.missed(worker, "refused")
    fleet.pool.reports.answered(worker, status(boot_id="boot-2"))
    kinds = [kind for kind, _, _ in log.lines]
    assert kinds == ["worker_up", "worker_draining", "worker_restarting", "worker_restarted", "worker_up"]


class EndsAtOnce:
    """A client of an idle worker: a probe finds it gone before its answer is read."""

    def __init__(self, fleet: Fleet, answers: bool = True) -> None:
        self._fleet, self._answers = fleet, answers

    async def shut_down(self, wait_seconds: float) -> WorkerStatus:
        """Raises WorkerUnreachable unless it `answers`."""
        await asyncio.sleep(0)
        self._fleet.die(self._fleet.workers[0])
        if not self._answers:
            raise WorkerUnreachable("cut off")
        return status(WorkerState.DRAINING)


def supervised_fleet() -> tuple[Fleet, Recorded]:
    fleet, log = Fleet(0), Recorded()
    WorkerJournal(fleet.pool, log)
    fleet.pool.reports.answered(fleet.workers[0], status().model_copy(update={"supervised": True}))
    log.lines.clear()
    return fleet, log


async def test_an_idle_worker_that_ends_before_its_answer_is_read_restarts_and_is_not_down(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fleet, log = supervised_fleet()
    monkeypatch.setattr(restart, "RETURN_SECONDS", 0.0)
    worker = await restart.restart_worker(fleet.pool, {"w0": EndsAtOnce(fleet)}, "w0", 0.0)
    fleet.pool.reports.missed(worker, "refused")
    assert [kind for kind, _, _ in log.lines] == ["worker_restarting"]
    assert worker.state == "DOWN" and worker.pending
    given_up = asyncio.Event()
    fleet.pool.reports.on_health.append(lambda worker: given_up.set())
    await given_up.wait()
    assert log.lines[1:] == [("worker_down", "w0", "it was not started again")]
    assert not worker.pending


async def test_a_worker_that_did_not_hear_of_its_restart_is_down() -> None:
    fleet, log = supervised_fleet()
    with pytest.raises(ApiError, match="does not answer"):
        await restart.restart_worker(fleet.pool, {"w0": EndsAtOnce(fleet, answers=False)}, "w0", 30.0)
    fleet.pool.reports.missed(fleet.workers[0], "refused")
    assert [kind for kind, _, _ in log.lines][-1] == "worker_down"


async def test_a_restart_that_is_asked_for_twice_at_once_is_one() -> None:
    fleet, _ = supervised_fleet()
    clients = {"w0": EndsAtOnce(fleet)}
    asked = [restart.restart_worker(fleet.pool, clients, "w0", 30.0) for _ in range(2)]
    first, second = await asyncio.gather(*asked, return_exceptions=True)
    assert first is fleet.workers[0] and first.restarting
    assert isinstance(second, ApiError) and second.code == "already_restarting"


def test_the_journal_has_each_change_of_a_worker_once() -> None:
    fleet, log = Fleet(0), Recorded()
    WorkerJournal(fleet.pool, log)
    (worker,) = fleet.workers

    def heard() -> list[str]:
        kinds = [kind for kind, subject, _ in log.lines if subject == worker.id]
        log.lines.clear()
        return kinds

    fleet.pool.reports.answered(worker, status(WorkerState.LOADING))
    for _ in range(3):
        fleet.pool.reports.answered(worker, status())
    assert heard() == ["worker_loading", "worker_up"]
    fleet.die(worker)
    fleet.pool.reports.missed(worker, "refused")
    assert heard() == ["worker_suspect", "worker_down"]
    fleet.pool.reports.answered(worker, status(boot_id="boot-2"))
    assert heard() == ["worker_restarted", "worker_up"]
    fleet.pool.reports.answered(worker, status(WorkerState.DRAINING, boot_id="boot-2"))
    fleet.pool.reports.gone(worker, "the worker left")
    assert log.lines[-1] == ("worker_down", worker.id, "the worker left")
    fleet.pool.remove_worker(worker)
    assert heard() == ["worker_draining", "worker_down", "worker_forgotten"]


async def test_a_request_is_listed_with_its_voice_its_length_and_its_client() -> None:
    fleet = Fleet(1)
    about = About("Hazel", 1200, "openai", "curl 8.5.0")
    standing = Standing("key:shop", client="curl 8.5.0")
    with (
        fleet.pool.admit("r1", Requirement(), standing=standing, about=about),
        fleet.pool.admit("r2", Requirement(), standing=standing, about=about),
    ):
        shown = describe_queue(fleet.pool)
    told = {"voice": "Hazel", "characters": 1200, "protocol": "openai", "client": "curl 8.5.0"}
    for request in (*shown["queue"], *shown["running"]):
        assert told.items() <= request.items() and request["tenant"] == "key:shop"
    assert len(shown["queue"]) == len(shown["running"]) == 1
