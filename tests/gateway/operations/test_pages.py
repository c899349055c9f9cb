"""Pages that are switched off, and what of the API goes with them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from gateway.app import create_app
from gateway.operations.page_gate import api_of, page_of
from gateway.settings import load_settings
from tests.gateway.callers.administration import ADMIN, ADMIN_TOKEN


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


async def test_all_pages_are_on_and_the_pages_know(client: httpx.AsyncClient) -> None:
    pages = ["studio", "live", "chat", "books", "sessions", "voices"]
    shown = (await client.get("/api/pages")).json()
    assert shown == {"pages": [{"id": page, "enabled": True} for page in pages]}
    assert (await client.get("/api/config")).json()["pages"] == pages


@pytest.mark.parametrize(
    ("page", "path"),
    [
        ("live", "/live"),
        ("chat", "/chat"),
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
        other for other in ("studio", "live", "chat", "books", "sessions", "voices") if other != page
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
    assert (await client.get("/", headers=reader)).headers["Location"] == "/chat"
    switch_off(app, "studio", "live", "books", "sessions", "chat")
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
    switch_off(app, "studio", "live", "chat", "books", "sessions", "voices")
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
