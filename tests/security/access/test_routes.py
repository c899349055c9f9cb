"""S2, S11, S28: every route of the application has a row in the table; a new one without a row fails."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import httpx
import pytest
from fastapi import FastAPI
from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.app import create_app
from gateway.callers.origin import is_welcome
from gateway.settings import load_settings
from tests.security.access.route_table import ADMIN, DESCRIPTION, METRICS, OWNED, PUBLIC, WORKERS, routes_of

TOKEN = "correct-horse-battery-staple"


@functools.cache
def make_app(**options: object) -> FastAPI:
    """One for each set of options: none of these tests opens its database or starts what it watches."""
    options = {"worker_urls": "http://127.0.0.1:9", "allowed_hosts": "tts.example", **options}
    return create_app(load_settings(**options))


def test_every_route_is_in_the_table() -> None:
    assert set(routes_of(make_app().routes)) == PUBLIC | ADMIN | OWNED | WORKERS | METRICS | DESCRIPTION


@dataclass(frozen=True)
class Caller:
    """Where a request comes from and what it carries."""

    peer: str = "127.0.0.1"
    host: str = "127.0.0.1:8006"
    headers: tuple[tuple[str, str], ...] = ()


async def call(app: ASGIApp, caller: Caller, method: str, path: str) -> httpx.Response:
    transport = httpx.ASGITransport(app, client=(caller.peer, 50000))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8006") as client:
        return await client.request(method, path, headers={"Host": caller.host, **dict(caller.headers)})


def concrete(path: str) -> str:
    return path.replace("{ticket}", "q_none").replace("{id}", "w9")


LOCAL = {
    "this machine": Caller(),
    "this machine, IPv6": Caller("::1", "[::1]:8006"),
    "this machine, by name": Caller(host="localhost:8006"),
    "own page": Caller(headers=(("Origin", "http://127.0.0.1:8006"), ("Sec-Fetch-Site", "same-origin"))),
}


FOREIGN = {
    "other machine": Caller("192.168.1.7"),
    "other machine, claims to be here": Caller("192.168.1.7", "localhost:8006"),
    "forwarded by a proxy": Caller(headers=(("X-Forwarded-For", "127.0.0.1"),)),
    "forwarded, standard header": Caller(headers=(("Forwarded", "for=127.0.0.1"),)),
    "forwarded, other header": Caller(headers=(("X-Real-IP", "127.0.0.1"),)),
    "rebound DNS name": Caller(host="evil.example:8006"),
    "page of another site": Caller(headers=(("Origin", "http://evil.example"),)),
    "page of another port": Caller(headers=(("Origin", "http://127.0.0.1:9999"),)),
    "sandboxed page": Caller(headers=(("Origin", "null"),)),
    "cross-site form": Caller(headers=(("Sec-Fetch-Site", "cross-site"),)),
    "no host": Caller(host=""),
    "half an address as host": Caller(host="[::1"),
    "half an address as origin": Caller(headers=(("Origin", "http://["),)),
}


UNANSWERED = {("GET", "/api/events"), ("GET", "/api/sessions/storage")}
"""Without an end, and not without a database, which these tests do not open."""


admin_routes = pytest.mark.parametrize(("method", "path"), sorted(ADMIN - UNANSWERED))


REFUSED = {"rebound DNS name": 421, "no host": 400, "half an address as host": 400}
"""Before anybody asks for a token."""


@pytest.mark.parametrize(("method", "path"), sorted(ADMIN | METRICS))
async def test_without_the_token_not_even_this_machine_may(method: str, path: str) -> None:
    response = await call(make_app(), Caller(), method, concrete(path))
    assert response.status_code == 401
    assert response.json()["error"]["type"] == "authentication_error"


@pytest.mark.parametrize("name", [*LOCAL, *FOREIGN])
async def test_without_the_token_nobody_may(name: str) -> None:
    response = await call(make_app(), {**LOCAL, **FOREIGN}[name], "GET", "/api/workers")
    assert response.status_code == REFUSED.get(name, 401)


async def test_a_proxy_that_says_nothing_is_known_by_its_http() -> None:
    """nginx as it is installed: HTTP/1.0 to the gateway, whose own address it sends as the host."""
    app = make_app()

    async def behind_nginx(scope: Scope, receive: Receive, send: Send) -> None:
        await app({**scope, "http_version": "1.0"}, receive, send)

    response = await call(behind_nginx, Caller(), "GET", "/api/sessions")
    assert response.status_code == 403
    assert response.json()["error"]["code"] == "client_unknown"


def test_a_page_whose_origin_is_no_address_opens_no_socket() -> None:
    headers = [(b"host", b"127.0.0.1:8006"), (b"origin", b"http://[")]
    assert not is_welcome(Headers(raw=headers), [])


@admin_routes
@pytest.mark.parametrize(
    "headers",
    [
        (("Authorization", f"Bearer {TOKEN}"),),
        (("authorization", f"bearer {TOKEN}"),),
        (("X-Admin-Token", TOKEN),),
    ],
)
async def test_the_token_opens_the_admin_api_from_anywhere(method: str, path: str, headers) -> None:
    caller = Caller("192.168.1.7", "tts.example", headers)
    response = await call(make_app(admin_token=TOKEN), caller, method, concrete(path))
    assert response.status_code in (200, 404, 422)


@pytest.mark.parametrize(("method", "path"), sorted(ADMIN))
@pytest.mark.parametrize(
    "headers",
    [
        (),
        (("Authorization", "Bearer wrong"),),
        (("Authorization", f"Basic {TOKEN}"),),
        (("Authorization", "Bearer "),),
        (("Authorization", TOKEN),),
        (("X-Admin-Token", TOKEN[:-1]),),
        (("X-Admin-Token", ""),),
        (("Cookie", f"token={TOKEN}"),),
    ],
)
async def test_with_a_token_configured_even_this_machine_must_show_it(
    method: str, path: str, headers
) -> None:
    response = await call(make_app(admin_token=TOKEN), Caller(headers=headers), method, concrete(path))
    assert response.status_code == 401
    assert response.headers["WWW-Authenticate"] == "Bearer"
    assert response.json()["error"]["type"] == "authentication_error"


@pytest.mark.parametrize(("method", "path"), sorted(ADMIN))
async def test_a_token_in_the_address_is_not_looked_at(method: str, path: str) -> None:
    app = make_app(admin_token=TOKEN)
    for query in (f"token={TOKEN}", f"key={TOKEN}", f"access_token={TOKEN}"):
        assert (await call(app, Caller(), method, f"{concrete(path)}?{query}")).status_code == 401


@pytest.mark.parametrize(
    ("method", "path"), sorted(row for row in PUBLIC if row[0] not in ("MOUNT", "WEBSOCKET"))
)
async def test_public_routes_ask_nobody_who_he_is(method: str, path: str) -> None:
    response = await call(make_app(admin_token=TOKEN), Caller("192.168.1.7", "tts.example"), method, path)
    assert response.status_code not in (401, 403)


@pytest.mark.parametrize("path", ["/", "/admin", "/health", "/api/workers", "/nowhere", "/static/nothing.js"])
async def test_every_response_has_the_security_headers(path: str) -> None:
    headers = (await call(make_app(), Caller(), "GET", path)).headers
    assert "default-src 'self'" in headers["Content-Security-Policy"]
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["X-Frame-Options"] == "DENY"


@pytest.mark.parametrize(
    "path",
    [
        "/static/../pyproject.toml",
        "/static/%2e%2e/%2e%2e/pyproject.toml",
        "/static/..%2fadmin.html",
        "/static//etc/passwd",
    ],
)
async def test_static_files_stay_in_their_folder(path: str) -> None:
    assert (await call(make_app(), Caller(), "GET", path)).status_code == 404


async def test_the_schema_is_served_only_when_asked_for() -> None:
    assert (await call(make_app(), Caller(), "GET", "/openapi.json")).status_code == 404
    schema = (await call(make_app(expose_openapi=True), Caller(), "GET", "/openapi.json")).json()
    assert "/tts" in schema["paths"]
