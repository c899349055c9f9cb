"""Who may talk to a worker: every route, with and without the secret."""

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import websockets

from gateway.workers.client import WorkerUnreachable
from tests.security.workers.registrar import client_of
from tests.worker.harness import Client, WorkerProcess
from worker.app import create_app
from worker.protocol import GENERATE_PATH, SLOTS_PATH, Accepted
from worker.settings import WorkerSettings

SECRET = "canary-secret-0123456789"
OPEN = {("GET", "/health"), ("GET", "/ready")}
GUARDED = {("POST", "/drain"), ("POST", "/resume"), ("POST", "/encode"), ("POST", "/shutdown")}
GUARDED |= {("POST", "/adapters")}


@pytest.fixture(scope="module")
def guarded() -> Iterator[WorkerProcess]:
    process = WorkerProcess(environment={"VOXFLEET_WORKER_SECRET": SECRET}, anew=True)
    try:
        yield process.wait_until_ready()
    finally:
        process.kill()


def test_every_route_is_listed_here_as_open_or_guarded() -> None:
    app = create_app(WorkerSettings(model="synthetic"))
    routes = {(method, route.path) for route in app.routes for method in getattr(route, "methods", ["WS"])}
    assert routes == OPEN | GUARDED | {("WS", GENERATE_PATH), ("WS", SLOTS_PATH)}


async def test_cookies_of_a_stranger_are_not_even_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading 60 KB of backslashes takes four seconds, in which no stream gets its frames."""
    read: list[str] = []
    monkeypatch.setattr("starlette.requests.cookie_parser", lambda cookies: {"read": read.append(cookies)})
    worker = httpx.ASGITransport(create_app(WorkerSettings(model="synthetic")))
    async with httpx.AsyncClient(transport=worker, base_url="http://worker") as http:
        assert (await http.get("/health", headers={"Cookie": r'a="\\\\"'})).status_code == 200
    assert not read


@pytest.mark.parametrize(("method", "path"), sorted(GUARDED))
@pytest.mark.parametrize(
    "authorization",
    [
        None,
        "",
        "Bearer",
        f"Bearer {SECRET}x",
        f"Bearer {SECRET[:-1]}",
        f"Bearer  {SECRET}",
        f"Basic {SECRET}",
        SECRET,
        "Bearer \u00e4".encode("latin-1"),
    ],
)
def test_a_guarded_route_refuses_a_missing_or_wrong_secret(
    guarded: WorkerProcess, method: str, path: str, authorization: str | bytes | None
) -> None:
    """S3: a worker serves holders of its secret."""
    headers = {} if authorization is None else {"Authorization": authorization}
    response = guarded.request(method, path, headers=headers)
    assert response.status_code == 401
    assert response.headers["www-authenticate"] == "Bearer"
    assert response.json()["error"]["code"] == "unauthorized"
    assert response.json()["error"]["type"] == "authentication_error"


def test_a_secret_in_the_query_is_not_taken(guarded: WorkerProcess) -> None:
    assert guarded.request("POST", f"/drain?secret={SECRET}&authorization={SECRET}").status_code == 401


@pytest.mark.parametrize("path", ["/health", "/ready"])
def test_a_probe_is_open_and_tells_the_state_alone(guarded: WorkerProcess, path: str) -> None:
    response = guarded.request("GET", path)
    assert response.json() == {"state": "IDLE"}
    assert response.status_code == 200
    assert SECRET not in response.text


@pytest.mark.parametrize("secret", [None, "wrong"])
async def test_a_socket_without_the_secret_is_refused_at_the_handshake(
    guarded: WorkerProcess, secret: str | None
) -> None:
    with pytest.raises(websockets.InvalidStatus) as caught:
        async with guarded.connect(secret=secret):
            pass
    assert caught.value.response.status_code == 401
    assert b'"unauthorized"' in caught.value.response.body


async def test_a_gateway_with_another_secret_is_told_that_it_is_that(guarded: WorkerProcess) -> None:
    async with client_of(guarded.url) as client:
        with pytest.raises(WorkerUnreachable, match="another secret"):
            await client.control.status()


async def test_with_the_secret_everything_is_open(guarded: WorkerProcess) -> None:
    headers = {"Authorization": f"bearer {SECRET}"}
    for path in ("/drain", "/resume"):
        assert guarded.request("POST", path, headers=headers).status_code == 200
    unsupervised = guarded.request("POST", "/shutdown", headers=headers)
    assert unsupervised.json()["error"]["code"] == "not_supervised"
    async with guarded.connect(secret=SECRET) as websocket:
        await Client(websocket).start()
        assert isinstance((await Client(websocket).receive_all())[0], Accepted)


@pytest.mark.parametrize("origin", ["https://evil.example", "http://127.0.0.1:8006", "null"])
async def test_browsers_are_refused_even_on_this_machine(worker: WorkerProcess, origin: str) -> None:
    assert worker.request("POST", "/drain", headers={"Origin": origin}).status_code == 403
    with pytest.raises(websockets.InvalidStatus) as caught:
        async with worker.connect(headers={"Origin": origin}):
            pass
    assert caught.value.response.status_code == 403
    assert worker.health().state == "IDLE"


def test_the_secret_is_in_no_log_and_no_command_line(guarded: WorkerProcess) -> None:
    command_line = Path(f"/proc/{guarded.process.pid}/cmdline").read_bytes()
    assert SECRET.encode() not in command_line
    assert guarded.log
    assert SECRET not in "".join(guarded.log)
