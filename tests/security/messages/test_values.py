"""S20: JSON of very many tiny values is refused before it is parsed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from gateway import bodies
from gateway.bodies import ValueCount, parse_message
from gateway.errors import ApiError
from gateway.live.messages import parse_command, parse_start
from gateway.protocols.elevenlabs.messages import read_lines, read_message
from gateway.requests import fields_of, parse_stream_request
from tests.security.apps import running_app

TINY = [
    "[" + "[]," * 2000 + "0]", "[" + "{}," * 2000 + "0]", "[" + "0," * 2000 + "0]", "[" * 2001,
    '{"text": "' + "[" * 5000 + '\\"", "a": [' + '"[",' * 1999 + "0]}",
]  # fmt: skip


@pytest.mark.parametrize("message", TINY)
@pytest.mark.parametrize(
    "read", [fields_of, parse_stream_request, parse_start, parse_command, read_message, read_lines]
)
def test_a_message_of_very_many_values_is_not_parsed(
    read: object, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A megabyte of them took up to 0.2 s, for each of the sockets that sent one."""
    monkeypatch.setattr(bodies.json, "loads", lambda text: pytest.fail("it was parsed"))
    with pytest.raises(ApiError, match="more than 2000 values") as refused:
        read(message)  # type: ignore[operator]
    assert refused.value.code == "invalid_json"


@pytest.mark.parametrize(
    "value", ["," * 100_000, '[{"' * 5000, '\\",[' * 5000, [0] * 1999, [[]] * 999, {"a": ["[,{" * 9]}]
)
def test_any_text_is_and_so_are_a_few_values(value: object) -> None:
    message = {"text": value}
    assert parse_message(json.dumps(message)) == message
    assert parse_message(json.dumps(message).encode()) == message


def test_no_message_is_parsed_elsewhere() -> None:
    root = Path(bodies.__file__).parent
    files = [path for room in ("api", "protocols", "live", "streams") for path in (root / room).rglob("*.py")]
    parsing = {path for path in files if "json.loads(" in path.read_text("utf-8")}
    assert {path.relative_to(root).as_posix() for path in parsing} == {
        "protocols/elevenlabs/context.py",
        "streams/resumption/token.py",
    }, "of our own making"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-32-be"])
async def test_a_body_of_very_many_values_is_not_parsed(
    encoding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Forty, of a megabyte each, held up everybody for eleven seconds."""
    body = '{"text": "\\"", "a": [' + "[]," * 50_000 + "0]}"
    loads = json.loads
    async with running_app(tmp_path) as (_, opened), opened() as http:
        headers = {"Content-Type": "application/json"}
        monkeypatch.setattr(json, "loads", lambda text, **_: pytest.fail("it was parsed"))
        answer = await http.post("/tts", content=body.encode(encoding), headers=headers)
        monkeypatch.undo()
    error = loads(answer.content)["error"]
    assert (answer.status_code, error["code"]) == (400, "invalid_json")
    assert error["message"] == "the body has more than 50000 values"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-32-be"])
@pytest.mark.parametrize("length", [1, 3, 1000])
def test_values_are_counted_while_a_body_comes(length: int, encoding: str) -> None:
    """Six megabytes, counted when all of them were there, held up everybody for a fifth of a second."""
    body = json.dumps({'\\"[,{': ['\\[,{"', "[,{\u212c\\\\", [], {}]}, ensure_ascii=False).encode(encoding)
    values, few_values, few_lists = ValueCount(7, 4), ValueCount(6), ValueCount(7, 3)
    for start in range(0, len(body), length):
        for count in (values, few_values, few_lists):
            count.add(body[start : start + length])
    assert values.count == 7
    values.check()
    with pytest.raises(ApiError, match="more than 6 values"):
        few_values.check()
    with pytest.raises(ApiError, match="more than 3 lists and objects"):
        few_lists.check()


async def test_a_prompt_may_have_many_tokens_and_not_many_lists(tmp_path: Path) -> None:
    """Half a megabyte of lists took half a second of everybody's."""
    async with running_app(tmp_path) as (_, opened), opened() as http:
        tokens, lists = [
            await http.post("/v1/completions", json={"model": "m", "prompt": prompt})
            for prompt in ([1] * 60_000, [[]] * 50_000)
        ]
    assert tokens.status_code != 400
    assert lists.json()["error"]["message"] == "the body has more than 50000 lists and objects"


async def test_no_route_parses_such_a_body(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that took bodies as large as recordings are, did: two megabytes took a second."""
    async with running_app(tmp_path, max_prompt_characters=1000) as (app, opened), opened() as http:
        routes = [
            (method, re.sub(r"{\w+}", "x", path))
            for path, methods in app.openapi()["paths"].items()
            for method, told in methods.items()
            if "application/json" in told.get("requestBody", {}).get("content", {})
        ]
        monkeypatch.setattr(json, "loads", lambda text, **_: pytest.fail("it was parsed"))
        for method, path in routes:
            headers = {"Content-Type": "application/json"}
            await http.request(method, path, content="[" + "[]," * 200_000 + "0]", headers=headers)
    assert ("post", "/api/trainings") in routes


async def test_a_body_has_any_text(tmp_path: Path) -> None:
    async with running_app(tmp_path) as (_, opened), opened() as http:
        answer = await http.post("/tts", json={"text": "Hi. " + '[{,"\\' * 19_000, "speed": 9})
    assert answer.json()["error"]["param"] == "speed"
