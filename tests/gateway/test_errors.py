"""Every error has the one shape, and the name of the field is the client's."""

from __future__ import annotations

import json
from typing import Annotated, Any

import httpx
import pytest
from fastapi import FastAPI, Query
from pydantic import BaseModel, ValidationError

from gateway.books.request import BlocksChange, MakeRequest, NewBook
from gateway.errors import ApiError, from_validation, install_error_handlers
from gateway.jobs.request import JobRequest
from gateway.live.messages import Append
from gateway.protocols.openai.chat import ChatRequest
from gateway.protocols.openai.completions import CompletionRequest
from gateway.requests import ClipRequest, TtsRequest

app = FastAPI()
install_error_handlers(app)


@app.post("/clips/{index}")
async def clips(index: int, order: ClipRequest, limit: Annotated[int, Query(ge=1)] = 1) -> None:
    """A route with fields in its path, query and body."""


async def ask(path: str, **options: Any) -> dict[str, Any]:
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://gateway") as http:
        answer = await http.post(path, **options)
    return {"status": answer.status_code, **answer.json()["error"]}


@pytest.mark.parametrize("path", ["/v1/realtime", "/clips/1"])
async def test_a_socket_at_an_address_without_one_is_not_found(path: str) -> None:
    """As a request is: clients take 403 for a wrong key."""
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "websocket.connect"}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    scope = {"type": "websocket", "path": path, "headers": [], "query_string": b"", "root_path": ""}
    await app({**scope, "extensions": {"websocket.http.response": {}}}, receive, send)
    assert sent[0]["type"] == "websocket.http.response.start" and sent[0]["status"] == 404
    assert json.loads(sent[1]["body"])["error"]["code"] == "not_found"


def test_where_there_is_no_header_the_error_itself_says_when_to_come_back() -> None:
    busy, wrong = ApiError(503, "no_worker", "none", retry_after_seconds=4.2), ApiError(422, "empty", "empty")
    assert busy.to_message() == {**busy.to_dict(), "retry_after_seconds": 5}
    assert wrong.to_message() == wrong.to_dict()


@pytest.mark.parametrize(
    ("path", "body", "param"),
    [
        ("/clips/one", {"text": "hi"}, "index"),
        ("/clips/1?limit=0", {"text": "hi"}, "limit"),
        ("/clips/1", {"text": "hi", "speed": 9}, "speed"),
        ("/clips/1", {"text": "hi", "body": 1}, "body"),
        ("/clips/1", {"text": "hi", "query": 1}, "query"),
    ],
)
async def test_a_field_is_called_what_its_client_calls_it(path: str, body: Any, param: str) -> None:
    error = await ask(path, json=body)
    assert (error["status"], error["param"]) == (422, param)
    assert param in error["message"] and "query." not in error["message"]


@pytest.mark.parametrize(
    ("content", "status", "message"),
    [
        (b"{nope", 400, "the body is not JSON: Expecting property name"),
        (b'{"text": "\xff"}', 400, "the body is not UTF-8"),
        (b"[" * 100_000, 400, "the body has too many lists and objects within each other"),
        (b'{"text": "hi", "seed": ' + b"9" * 5000 + b"}", 400, "the body has a number with too many digits"),
        (rb'{"text": "hi", "\ud800": 1}', 422, "the name of a field is not valid Unicode"),
        (b"[]", 422, "the body must be a JSON object, sent as application/json"),
    ],
)
async def test_why_a_body_cannot_be_read_is_told(content: bytes, status: int, message: str) -> None:
    error = await ask("/clips/1", content=content, headers={"Content-Type": "application/json"})
    assert (error["status"], error["param"]) == (status, None)
    assert error["message"].startswith(message)
    assert error["code"] == ("invalid_json" if status == 400 else "invalid_body")


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"voice": ""}, "voice: String should have at least 1 character"),
        ({"voice": "a" * 129}, "voice: String should have at most 128 characters"),
        ({"adapter": "a" * 129}, "adapter: String should have at most 128 characters"),
        ({"language": "a" * 17}, "language: String should have at most 16 characters"),
    ],
)
async def test_the_length_of_a_text_is_told_in_characters(fields: dict[str, Any], message: str) -> None:
    assert (await ask("/clips/1", json={"text": "hi", **fields}))["message"] == message


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"stop": ""}, "stop"),
        ({"stop": ["a", ""]}, "stop.1"),
        ({"messages": [{"role": "user", "content": 5}]}, "messages.0.content"),
        ({"messages": [{"role": "user", "content": [{"type": "image"}]}]}, "messages.0.content.0.type"),
    ],
)
def test_no_kind_of_a_field_is_a_part_of_its_name(fields: dict[str, Any], param: str) -> None:
    with pytest.raises(ValidationError) as refused:
        ChatRequest.model_validate({"messages": [{"role": "user", "content": "hi"}], **fields})
    assert from_validation(refused.value.errors()).param == param


MANY = {f"k{number}": 1 for number in range(1000)}


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        (ChatRequest, {"messages": [1] * 1000}),
        (
            ChatRequest,
            {"messages": [{"role": "user"}], "logit_bias": dict.fromkeys(map(str, range(2000)), "")},
        ),
        (CompletionRequest, {"prompt": [{}] * 1000}),
        (CompletionRequest, {"prompt": [["a"] * 1000] * 1000}),
        (CompletionRequest, {"prompt": ["a", *[1] * 1000]}),
        (TtsRequest, {"text": "hi", "lexicon": MANY}),
        (TtsRequest, {"text": "hi", **MANY}),
        (JobRequest, {"text": "hi", "chapters": [MANY]}),
        (Append, {"type": "append", "text": "hi", **MANY}),
        (NewBook, {"title": "T", "blocks": [{}] * 1000}),
        (NewBook, {"title": "T", "blocks": [{"text": "hi", **MANY}]}),
        (NewBook, {"title": "T", "blocks": [{"text": "hi", "pronunciations": MANY}]}),
        (NewBook, {"title": "T", "blocks": [{"text": "hi"}] * 100_001}),
        (BlocksChange, {"version": 1, "blocks": [1] * 1000}),
        (MakeRequest, {"blocks": [1] * 1000}),
    ],
)
def test_of_a_thousand_mistakes_few_are_looked_for(kind: type[BaseModel], body: dict[str, Any]) -> None:
    """A client hears of one. Telling of each takes microseconds, and a body has room for millions."""
    with pytest.raises(ValidationError) as caught:
        kind.model_validate(body)
    assert caught.value.error_count() <= 300
    assert from_validation(caught.value.errors()).status_code == 422
