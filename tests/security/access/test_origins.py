"""S5: pages of other sites use nothing, by CORS or WebSocket, unless their very origin is allowed."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest
from starlette.datastructures import Headers

from gateway.callers.origin import is_welcome
from tests.security.apps import running_app

GOOD = "https://good.example"
EVIL = [
    "https://evil.example",
    "null",
    "https://good.example.evil.com",
    "https://evilgood.example",
    "http://good.example",
    "https://good.example:8443",
    "https://GOOD.example@evil.com",
    "http://[",
    "*",
]


@pytest.mark.parametrize("origin", EVIL)
async def test_no_answer_is_for_a_page_that_is_not_allowed(origin: str, tmp_path: Path) -> None:
    async with running_app(tmp_path, allowed_origins=GOOD) as (_, opened), opened(Origin=origin) as http:
        asked = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "x-api-key"}
        for answer in (
            await http.get("/api/voices"),
            await http.options("/tts", headers=asked),
            await http.post("/api/voices", data={"name": "x"}),
            await http.delete("/api/voices/v_0123456789abcdef"),
        ):
            assert "Access-Control-Allow-Origin" not in answer.headers
        assert (await http.post("/api/voices", data={"name": "x"})).status_code == 403


async def test_an_allowed_page_is_named_and_cookies_never_are(tmp_path: Path) -> None:
    async with running_app(tmp_path, allowed_origins=GOOD) as (_, opened), opened(Origin=GOOD) as http:
        answer = await http.get("/api/voices")
        assert answer.headers["Access-Control-Allow-Origin"] == GOOD
        assert "Access-Control-Allow-Credentials" not in answer.headers
        assert "Origin" in answer.headers["Vary"]


async def test_without_the_setting_no_page_is_named(tmp_path: Path) -> None:
    async with running_app(tmp_path) as (_, opened), opened(Origin=GOOD) as http:
        answer = await http.get("/api/voices")
        assert not [name for name in answer.headers if name.startswith("access-control")]


@pytest.mark.parametrize("path", ["/ws/tts", "/ws/live"])
@pytest.mark.parametrize("origin", EVIL[:-1])
async def test_nor_does_it_open_a_socket(path: str, origin: str, tmp_path: Path) -> None:
    async with running_app(tmp_path, allowed_origins=GOOD) as (app, _):
        headers = [(b"host", b"127.0.0.1:8006"), (b"origin", origin.encode())]
        scope = {
            "type": "websocket",
            "path": path,
            "raw_path": path.encode(),
            "root_path": "",
            "query_string": b"",
            "headers": headers,
            "client": ("127.0.0.1", 5),
            "http_version": "1.1",
            "scheme": "ws",
            "subprotocols": [],
            "extensions": {"websocket.http.response": {}},
        }
        sent: list[dict[str, object]] = []
        arriving = iter([{"type": "websocket.connect"}, {"type": "websocket.disconnect", "code": 1006}])

        async def receive() -> dict[str, object]:
            return next(arriving)

        async def send(message: dict[str, object]) -> None:
            sent.append(message)

        await app(scope, receive, send)
        assert "websocket.accept" not in [message["type"] for message in sent]
        assert sent[0].get("status", 403) == 403


@pytest.mark.parametrize(
    "kind", [None, "text/plain", "application/x-www-form-urlencoded", "multipart/form-data"]
)
async def test_nor_does_it_say_what_needs_no_permission_to_be_sent(kind: str | None, tmp_path: Path) -> None:
    """A browser asks before it sends JSON, and sends these at once: they are no JSON, whatever is in them."""
    orders = {
        "/tts": {"text": "a"},
        "/tts/links": {"text": "a"},
        "/tts/bytes": {"transcript": "a"},
        "/v1/speak": {"text": "a"},
        "/vapi": {"message": {"type": "voice-request", "text": "a"}},
        "/jambonz": {"text": "a"},
        "/dev/captioned_speech": {"input": "a"},
        "/piper": {"text": "a"},
        "/xtts/tts_to_audio/": {"text": "a"},
        "/v2/speak": {"text": "a"},
        "/v1/tts": {"text": "a"},
        "/v1/audio/speech": {"input": "a"},
        "/v1/audio/speech/batch": {"items": [{"input": "a"}]},
        "/v1/text-to-speech/default": {"text": "a"},
        "/v1/text-to-dialogue": {"inputs": [{"text": "a", "voice_id": "default"}]},
        "/v1/chat/completions": {"messages": [{"role": "user", "content": "a"}]},
        "/v1/completions": {"prompt": "a"},
    }
    headers = {"Content-Type": kind} if kind else {}
    async with running_app(tmp_path) as (_, opened), opened(Origin=EVIL[0]) as http:
        for path, order in orders.items():
            answer = await http.post(path, content=json.dumps(order), headers=headers)
            if kind == "text/plain" and path in ("/v1/speak", "/v2/speak"):  # which take it from others
                assert (answer.status_code, answer.json()["err_code"]) == (403, "CROSS_SITE")
                continue
            assert answer.status_code in (400, 422), path
            assert "application/json" in answer.text, path


def test_no_version_of_fastapi_is_asked_for_that_takes_it_for_json() -> None:
    project = tomllib.loads((Path(__file__).parents[3] / "pyproject.toml").read_text(encoding="utf-8"))
    (asked,) = (line for line in project["project"]["dependencies"] if line.startswith("fastapi>="))
    assert tuple(map(int, asked.partition(">=")[2].split("."))) >= (0, 132)


def test_an_origin_is_compared_whole() -> None:
    assert is_welcome(Headers({"origin": GOOD, "host": "tts.example"}), [GOOD])
    assert is_welcome(Headers({"origin": "https://tts.example", "host": "tts.example"}), [])
    for origin in EVIL:
        assert not is_welcome(Headers({"origin": origin, "host": "tts.example"}), [GOOD])
