"""What surrounds every request: ids, the one error shape, bounded bodies, metrics by route."""

from __future__ import annotations

import asyncio
import gzip
import threading
from collections.abc import AsyncIterator

import httpx
import pytest
from prometheus_client import generate_latest
from prometheus_client.core import Metric
from starlette.responses import RedirectResponse, StreamingResponse

from gateway.api.operations import health
from gateway.app import create_app
from gateway.cli import server_config
from gateway.edge import memory
from gateway.metrics import Snapshot
from gateway.settings import load_settings
from telemetry.build import VERSION, build
from tests.gateway.callers.administration import ADMIN, ADMIN_TOKEN


@pytest.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    """Of a gateway whose only worker is not there; small bodies only."""
    limits = {"max_body_bytes": 1000, "max_text_characters": 100, "body_timeout_seconds": 0.2}
    limits |= {"admin_token": ADMIN_TOKEN, "expose_metrics": True}
    app = create_app(load_settings(worker_urls="http://127.0.0.1:9", **limits))
    app.state.broken = False

    @app.get("/broken")
    async def broken() -> None:
        raise RuntimeError("canary in a traceback")

    transport = httpx.ASGITransport(app, client=("127.0.0.1", 50000), raise_app_exceptions=False)
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=ADMIN) as opened:
        yield opened


def check_shape(response: httpx.Response) -> dict[str, object]:
    error = response.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["message"]
    assert response.headers["X-Request-Id"]
    if response.status_code in (429, 503):
        assert int(response.headers["Retry-After"]) >= 1
    return error


@pytest.mark.parametrize(
    ("method", "path", "status_code", "code"),
    [
        ("GET", "/nowhere", 404, "not_found"),
        ("GET", "/static/nothing.js", 404, "not_found"),
        ("PATCH", "/tts", 405, "method_not_allowed"),
        ("POST", "/health", 405, "method_not_allowed"),
        ("POST", "/tts", 422, "invalid_body"),
        ("GET", "/ready", 503, "not_ready"),
        ("GET", "/api/queue/q_none", 404, "unknown_ticket"),
        ("DELETE", "/api/queue/q_none", 404, "unknown_ticket"),
        ("POST", "/api/workers/w9/drain", 404, "unknown_worker"),
        ("GET", "/broken", 500, "internal_error"),
    ],
)
async def test_every_error_has_the_one_shape(
    client, method: str, path: str, status_code: int, code: str
) -> None:
    response = await client.request(method, path)
    assert response.status_code == status_code
    error = check_shape(response)
    assert error["code"] == code
    assert "canary" not in response.text


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("PATCH", "/tts", "GET, HEAD, POST"),
        ("PUT", "/api/jobs", "GET, HEAD, POST"),
        ("POST", "/api/lexicon", "GET, HEAD, PUT, DELETE"),
        ("HEAD", "/api/workers/w0/drain", "POST"),
        ("POST", "/health", "GET, HEAD"),
        ("POST", "/static/js/none.js", "GET, HEAD"),
    ],
)
async def test_a_wrong_method_is_told_which_are_right(
    client: httpx.AsyncClient, method: str, path: str, allowed: str
) -> None:
    answer = await client.request(method, path)
    assert (answer.status_code, answer.headers["Allow"]) == (405, allowed)


async def test_a_slash_too_many_leads_to_the_path_and_to_no_other_scheme(client: httpx.AsyncClient) -> None:
    for path in ("/v1/audio/speech/", "/v1/audio/speech/?a=http://b/"):
        answer = await client.post(path, headers={"X-Forwarded-Proto": "https"})
        assert (answer.status_code, answer.headers["Location"]) == (307, path.replace("speech/", "speech"))


async def test_a_redirection_to_somewhere_else_leads_there(client: httpx.AsyncClient) -> None:
    elsewhere = "https://docs.example/a?b=http://127.0.0.1/"
    client._transport.app.add_api_route("/elsewhere", lambda: RedirectResponse(elsewhere))
    assert (await client.get("/elsewhere")).headers["Location"] == elsewhere


@pytest.mark.parametrize("path", ["/", "/health", "/docs", "/api/jobs", "/api/sessions/s/audio", "/ready"])
async def test_head_is_answered_as_get_without_the_body(client: httpx.AsyncClient, path: str) -> None:
    head, got = await client.head(path), await client.get(path)
    assert (head.status_code, head.content) == (got.status_code, b"") and got.content
    assert head.headers["Content-Type"] == got.headers["Content-Type"]
    assert int(head.headers["Content-Length"]) > 0


async def test_a_head_of_what_does_not_end_is_answered(client: httpx.AsyncClient) -> None:
    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b"a"
            await asyncio.sleep(0)

    app = client._transport.app

    @app.get("/endless")
    async def get_endless() -> StreamingResponse:
        return StreamingResponse(endless())

    answer = await client.head("/endless")
    assert (answer.status_code, answer.content) == (200, b"")
    metrics = (await client.get("/metrics")).text
    assert 'method="HEAD",route="/endless"' in metrics


async def test_a_body_that_is_no_json_is_400(client: httpx.AsyncClient) -> None:
    response = await client.post("/tts", content=b"{nope", headers={"Content-Type": "application/json"})
    assert response.status_code == 400
    assert check_shape(response)["code"] == "invalid_json"


@pytest.mark.parametrize("path", ["/tts", "/api/encode?format=mp3"])
async def test_a_compressed_body_is_refused(client: httpx.AsyncClient, path: str) -> None:
    content, headers = gzip.compress(b'{"text": "hi"}'), {"Content-Type": "application/json"}
    response = await client.post(path, content=content, headers={**headers, "Content-Encoding": "gzip"})
    assert response.status_code == 415
    assert "Content-Encoding" in check_shape(response)["message"]
    plain = {**headers, "Content-Encoding": "identity"}
    assert (await client.post("/tts", content=b"{}", headers=plain)).json()["error"]["param"] == "text"


@pytest.mark.parametrize("path, field", [("/tts", "text"), ("/v1/audio/speech", "input")])
async def test_a_text_that_is_too_long_is_named_as_its_client_calls_it(client, path: str, field: str) -> None:
    response = await client.post(path, json={field: "x" * 101, "model": "tts-1"})
    assert response.status_code == 422
    error = check_shape(response)
    assert (error["code"], error["param"]) == ("text_too_long", field)


@pytest.mark.parametrize("charset", ["undefined", "punycode"])
async def test_a_form_whose_charset_cannot_be_read_is_400(client: httpx.AsyncClient, charset: str) -> None:
    body = b'--x\r\nContent-Disposition: form-data; name="a.b"\r\n\r\nA\r\n--x--\r\n'
    headers = {"Content-Type": f"multipart/form-data; boundary=x; charset={charset}"}
    response = await client.post("/api/voices", content=body, headers=headers)
    assert response.status_code == 400
    assert check_shape(response)["code"] == "bad_request"


async def test_a_large_body_is_413_whether_it_says_so_or_not(client: httpx.AsyncClient) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for _ in range(20):
            yield b" " * 100

    headers = {"Content-Type": "application/json"}
    for body in (b" " * 2000, chunks()):
        response = await client.post("/tts", content=body, headers=headers)
        assert response.status_code == 413
        assert check_shape(response)["code"] == "body_too_large"


async def test_a_body_that_stops_coming_is_408(client: httpx.AsyncClient) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        yield b"{"
        await asyncio.Event().wait()

    response = await client.post("/tts", content=chunks(), headers={"Content-Type": "application/json"})
    assert response.status_code == 408
    assert check_shape(response)["code"] == "body_timeout"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("abc-123_X", True),
        ("x" * 64, True),
        ("x" * 65, False),
        ("a b", False),
        ("a\n", False),
        ("é", False),
        ("", False),
    ],
)
async def test_a_harmless_request_id_is_echoed_and_any_other_replaced(client, given: str, kept: bool) -> None:
    response = await client.get("/health", headers=[("X-Request-Id", given.encode("latin-1"))])
    assert (response.headers["X-Request-Id"] == given) is kept
    assert response.headers["X-Request-Id"]


async def test_metrics_are_labelled_by_route_and_not_by_address(client: httpx.AsyncClient) -> None:
    for n in range(5):
        await client.get(f"/nowhere/{n}")
        await client.delete(f"/api/queue/q_{n}")
    text = (await client.get("/metrics")).text
    assert 'voxfleet_http_requests_total{method="GET",route="unmatched",status="404"} 5.0' in text
    assert (
        'voxfleet_http_requests_total{method="DELETE",route="/api/queue/{ticket}",status="404"} 5.0' in text
    )
    assert f'voxfleet_build_info{{version="{build()}"}} 1.0' in text


async def test_metrics_are_read_on_the_event_loop_and_written_down_beside_it(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text of 300 workers takes tens of ms, in which no audio would be sent."""
    threads: list[threading.Thread] = []

    class Watched:
        def collect(self) -> list[Metric]:
            threads.append(threading.current_thread())
            return []

    def written(metrics: Snapshot) -> bytes:
        threads.append(threading.current_thread())
        return generate_latest(metrics)

    client._transport.app.state.gateway.metrics.registry.register(Watched())
    monkeypatch.setattr(health, "generate_latest", written)
    threads.clear()
    assert "voxfleet_build_info" in (await client.get("/metrics")).text
    reader, writer = threads
    assert reader is threading.current_thread() and writer is not reader


async def test_the_build_is_for_operators_and_the_version_for_all(client: httpx.AsyncClient) -> None:
    told = (await client.get("/version")).json()
    assert told["build"] == build()
    for wrong in ({"X-Admin-Token": ""}, {"X-Admin-Token": "not-the-token-0123456789"}):
        told = (await client.get("/version", headers=wrong)).json()
        assert told.keys() == {"name", "version", "protocol"} and told["version"] == VERSION


async def test_health_says_nothing_of_workers_and_readiness_does(client: httpx.AsyncClient) -> None:
    assert (await client.get("/health")).json()["status"] == "ok"
    assert (await client.get("/ready")).status_code == 503


async def test_the_catalog_is_complete_before_any_worker_is_up(client: httpx.AsyncClient) -> None:
    voices = (await client.get("/api/voices")).json()["voices"]
    assert [voice["id"] for voice in voices] == ["default"]
    config = (await client.get("/api/config")).json()
    assert config["model"] is None
    assert config["formats"] == ["wav", "pcm", "mp3", "flac", "opus", "aac"]
    assert (await client.get("/v1/models")).json()["data"] == []


async def test_large_bodies_share_a_bound_of_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MOST_LARGE_BYTES", 100_000)
    app = create_app(load_settings(worker_urls="http://127.0.0.1:9", admin_token=ADMIN_TOKEN))
    half_read, release = asyncio.Event(), asyncio.Event()

    async def slowly() -> AsyncIterator[bytes]:
        yield bytes(130_000)
        half_read.set()
        await release.wait()
        yield b"x"

    async def post(content: object) -> httpx.Response:
        transport = httpx.ASGITransport(app, client=("127.0.0.1", 50000))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as http:
            return await http.post("/tts", content=content)

    assert (await post(bytes(160_000))).status_code != 503
    first = asyncio.create_task(post(slowly()))
    await half_read.wait()
    refused = await post(bytes(130_000))
    assert refused.status_code == 503 and check_shape(refused)["code"] == "busy"
    assert (await post(bytes(1000))).status_code != 503
    release.set()
    assert (await first).status_code != 503
    assert (await post(bytes(130_000))).status_code != 503


def test_a_connection_waits_longer_for_the_next_request_than_clients_and_proxies_keep_it() -> None:
    """Else it is closed while that is on its way. nginx and the balancers of clouds keep it for a minute."""
    settings = load_settings(worker_urls="http://127.0.0.1:9")
    kept_seconds = server_config(settings, create_app(settings)).timeout_keep_alive
    assert kept_seconds > max(60, httpx.Limits().keepalive_expiry or 0)
