"""S20: every limit holds to the character, and nothing that is too deep, long or odd is an error of ours."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
from pydantic import BaseModel, ValidationError
from starlette.routing import BaseRoute

from gateway.api.voices.lexicon import Entries
from gateway.app import create_app
from gateway.errors import from_validation
from gateway.protocols.lenient import Lenient
from gateway.protocols.openai.chat import ChatRequest
from gateway.protocols.openai.completions import CompletionRequest
from gateway.settings import load_settings
from tests.security.apps import running_app

LIMITS = {"max_text_characters": 100, "max_audio_seconds": 10, "max_body_bytes": 4096}
PASSED = (404, 503)
"""What is right waits for a worker, and there is none."""


@pytest.mark.parametrize(
    ("field", "inside", "outside"),
    [
        ("text", ["x", "x" * 99, "x" * 100], ["", " ", "x" * 101, "x" * 4000]),
        ("max_seconds", [0.01, 9.99, 10], [0, 10.01, 1e308, -1]),
        ("min_seconds", [0, 10], [-0.01, 10.01]),
        ("seed", [0, 2**32, 2**53], [-1, 2**63, 0.5, "7"]),
        ("cfg_value", [0.1, 10], [0.09, 10.01]),
        ("inference_timesteps", [2, 100], [1, 101, 2.5]),
        ("temperature", [0, 2], [-0.01, 2.01]),
        ("sample_rate", [8000, 48000], [7999, 48001]),
        ("voice", ["v", "v" * 128], ["", "v" * 129, None, ["v"]]),
        ("format", ["wav"], ["exe", "WAV", "", None]),
        ("priority", ["bulk"], ["system", ""]),
    ],
)
async def test_a_limit_is_where_it_is_said_to_be(
    field: str, inside: list[Any], outside: list[Any], tmp_path: Path
) -> None:
    async with running_app(tmp_path, no_worker_grace_seconds=0.01, **LIMITS) as (_, opened), opened() as http:
        for value in inside:
            answer = await http.post("/tts", json={"text": "Hello.", field: value})
            assert answer.status_code in PASSED, (value, answer.text)
        for value in outside:
            answer = await http.post("/tts", json={"text": "Hello.", field: value})
            assert answer.status_code in (403, 422), (value, answer.text)
            assert answer.json()["error"]["param"] == field


@pytest.mark.parametrize("size", [4095, 4096, 4097])
async def test_a_body_is_so_long_and_no_longer(size: int, tmp_path: Path) -> None:
    body = json.dumps({"text": "Hello."})
    async with running_app(tmp_path, no_worker_grace_seconds=0.01, **LIMITS) as (_, opened), opened() as http:
        answer = await http.post(
            "/tts", content=body.ljust(size), headers={"Content-Type": "application/json"}
        )
    assert answer.status_code in (PASSED if size <= 4096 else (413,))


ODD = [
    "[" * 30_000, '{"text":' * 6_000, '{"a":' * 9_000 + "1" + "}" * 9_000, "[" * 9_000 + "]" * 9_000,
    '{"text": "Hi.", "seed": 1' + "0" * 5_000 + "}", '{"text": "Hi.", "max_seconds": NaN}',
    '{"text": "Hi.", "temperature": Infinity}', '{"text": "Hi.", "temperature": 1e999}',
    '{"text": "Hi.", "text": "Ho.", "input": "Hu."}', '{"text": "\\ud800"}', '{"text": "\\u0000"}',
    "\ufeff{}",
    '{"__proto__": {}, "text": "Hi."}', '{"text": null}', "{'text': 'Hi.'}", '{"text": "Hi."} {}',
    "null", "7", '"text"', "",
]  # fmt: skip


@pytest.mark.parametrize(
    "path", ["/tts", "/v1/audio/speech", "/api/registrations", "/api/voices/v_0123456789abcdef"]
)
async def test_nothing_odd_is_an_error_of_ours(path: str, tmp_path: Path) -> None:
    method = "PATCH" if "voices" in path else "POST"
    async with running_app(tmp_path, no_worker_grace_seconds=0.01) as (_, opened), opened() as http:
        for body in ODD:
            headers = {"Content-Type": "application/json"}
            answer = await http.request(method, path, content=body.encode(), headers=headers)
            assert answer.status_code < 500 or answer.json()["error"]["code"] == "no_worker", body[:60]
            assert set(answer.json()["error"]) == {"message", "type", "param", "code"}
            assert len(answer.content) < 4096


def bodies(kind: Any) -> Iterator[type[BaseModel]]:
    """The models of ours that a body of this type is made of."""
    if not isinstance(kind, type) or get_args(kind):
        for part in get_args(kind):
            yield from bodies(part)
    elif issubclass(kind, BaseModel) and kind.__module__.startswith("gateway."):
        yield kind
        for field in kind.model_fields.values():
            yield from bodies(field.annotation)


def all_bodies(routes: list[BaseRoute]) -> Iterator[type[BaseModel]]:
    for route in routes:
        if (included := getattr(route, "original_router", None)) is not None:
            yield from all_bodies(included.routes)
        elif field := getattr(route, "body_field", None):
            yield from bodies(field.field_info.annotation)


def told(kind: type[BaseModel], body: Any) -> int:
    """How many things are wrong with it."""
    try:
        kind.model_validate(body)
    except ValidationError as error:
        return error.error_count()
    return 0


def test_nobody_is_told_of_thousands_of_unknown_fields() -> None:
    """A megabyte of them took half a second, in which the gateway did nothing else."""
    kinds = set(all_bodies(create_app(load_settings(worker_urls="http://127.0.0.1:9")).routes))
    unknown = {f"k{number}": 1 for number in range(5_000)}
    assert len(kinds) > 30
    assert [kind.__name__ for kind in kinds if told(kind, unknown) >= 250] == []


def test_nobody_is_told_of_thousands_of_words_that_are_none() -> None:
    with pytest.raises(ValidationError) as refused:
        Entries.model_validate({"entries": {f"k{number}": 1 for number in range(5_000)}})
    (told,) = refused.value.errors()
    assert told["loc"] == ("entries", "k0") and "string" in told["msg"]


def test_no_body_of_another_service_has_thousands_of_fields() -> None:
    """Those that are unknown are ignored there; a megabyte of them held up everybody for 0.2 s."""
    kinds = set(all_bodies(create_app(load_settings(worker_urls="http://127.0.0.1:9")).routes))
    lenient = {kind for kind in kinds if issubclass(kind, Lenient)}
    assert len(lenient) > 5
    for kind in lenient:
        with pytest.raises(ValidationError) as refused:
            kind.model_validate({f"k{number}": 1 for number in range(201)})
        error = from_validation(refused.value.errors())
        assert (error.code, error.param) == ("invalid_body", None)
        assert error.message == "has 201 fields, at most 200 are taken"


SPY = {"role": "spy"}
TEXT_PARTS = [{"type": "text", "text": "a"}] * 200


@pytest.mark.parametrize(
    ("kind", "body", "place"),
    [
        (ChatRequest, {"messages": [SPY] * 10_001}, "messages"),
        (ChatRequest, {"messages": [SPY | {"content": TEXT_PARTS}] * 50}, "messages"),
        (CompletionRequest, {"prompt": ["a"] * 129}, "prompt"),
        (CompletionRequest, {"prompt": [[1]] * 129}, "prompt"),
    ],
)
def test_that_there_are_too_many_is_seen_before_they_are_looked_at(
    kind: type[BaseModel], body: dict[str, Any], place: str
) -> None:
    """Three megabytes of short messages or prompts held up everybody for one to two seconds."""
    with pytest.raises(ValidationError) as refused:
        kind.model_validate(body)
    error = from_validation(refused.value.errors())
    assert error.param == place and re.search(r"more than 10000 messages|at most 128 items", error.message)


class Looked(list):  # type: ignore[type-arg]
    """A list that knows how much of it was looked at."""

    seen = 0

    def __iter__(self) -> Iterator[Any]:
        for value in super().__iter__():
            self.seen += 1
            yield value


def test_no_more_options_of_a_template_are_looked_at_than_there_may_be() -> None:
    """Three megabytes of them held up everybody for a second and a half."""
    many = Looked([[]] * 50_000)
    with pytest.raises(ValidationError, match="8192 bytes of JSON"):
        ChatRequest.model_validate({"messages": [{"role": "user"}], "chat_template_kwargs": {"a": many}})
    assert many.seen <= 8192
