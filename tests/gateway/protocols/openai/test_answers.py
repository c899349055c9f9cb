"""`POST /v1/chat/completions` and `/v1/completions` of a real gateway with a text model."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from gateway.protocols.openai.completions import CompletionForm
from gateway.slots.line.charge import charge
from tests.gateway.stages.processes import (
    GatewayProcess,
    all_free,
    check_error,
    events_of,
    eventually,
    started_fleets,
)
from tests.text_models import STORY, telling_model
from worker.protocol import TokenFacts
from worker.protocol.token_facts import TokenLogprob

CHAT, COMPLETIONS = "/v1/chat/completions", "/v1/completions"
QUESTION = [{"role": "user", "content": "What did you see?"}]


def nested(depth: int) -> list[Any]:
    return [nested(depth - 1)] if depth else []


def said(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    """A gateway with a text model and a speech model."""
    model = telling_model(tmp_path_factory.mktemp("models") / "teller")
    limits = {"max_prompt_characters": 9000, "max_answer_tokens": 3000, "max_answer_choices": 4}
    settings = {"data_dir": tmp_path_factory.mktemp("data"), "max_chat_messages": 5, **limits}
    with started_fleets() as start:
        workers = [start.worker(model=str(model), device="cpu", slots=4, step_ms=0), start.worker()]
        gateway = start.gateway(workers, **settings).wait_until_serving(2)
        yield gateway
        assert not gateway.defects()
        assert not any(worker.defects() for worker in workers)


async def ask(fleet: GatewayProcess, path: str = CHAT, **fields: Any) -> httpx.Response:
    first = {"messages": QUESTION} if path == CHAT else {"prompt": "Well."}
    async with fleet.http() as http:
        return await http.post(path, json={**first, "max_tokens": 24, "seed": 3, **fields})


async def told(fleet: GatewayProcess, **fields: Any) -> str:
    answer = (await ask(fleet, **fields)).json()
    return answer["choices"][0]["message"]["content"]


async def test_an_answer_is_told_as_openai_tells_it(fleet: GatewayProcess) -> None:
    response = await ask(fleet)
    answer = response.json()
    (choice,) = answer["choices"]
    assert (answer["object"], answer["model"]) == ("chat.completion", "teller")
    assert answer["id"].startswith("chatcmpl-")
    assert choice["message"]["role"] == "assistant"
    assert choice["message"]["content"].startswith(STORY[0])
    assert choice["finish_reason"] == "length"
    usage = answer["usage"]
    assert usage["completion_tokens"] == 24
    assert usage["total_tokens"] == usage["prompt_tokens"] + 24
    assert (response.headers["X-Seed"], response.headers["X-Migrations"]) == ("3", "0")


async def test_a_stream_tells_the_same_answer_and_counts_its_tokens(fleet: GatewayProcess) -> None:
    whole = await told(fleet)
    response = await ask(fleet, stream=True, stream_options={"include_usage": True})
    assert response.headers["Content-Type"].startswith("text/event-stream")
    *events, last = events_of(response.text)
    deltas = [event["choices"][0]["delta"] for event in events]
    assert deltas[0] == {"role": "assistant", "content": ""}
    assert "".join(delta.get("content", "") for delta in deltas) == whole
    assert [event["choices"][0]["finish_reason"] for event in events][-1] == "length"
    assert len({event["id"] for event in [*events, last]}) == 1
    assert all(event["usage"] is None for event in events)
    assert (last["choices"], last["usage"]["completion_tokens"]) == ([], 24)


@pytest.mark.parametrize("spoken", [{}, {"modalities": ["text", "audio"]}], ids=["read", "heard"])
async def test_who_waits_is_told_its_place_where_it_asks_for_that(
    fleet: GatewayProcess, spoken: dict[str, Any]
) -> None:
    """Behind answers that have all slots."""
    ahead = {"messages": QUESTION, "max_tokens": 3000, "stream": True}
    behind = {**ahead, "max_tokens": 3, "stream_options": {"include_queue": True}, **spoken}
    async with fleet.http() as http, contextlib.AsyncExitStack() as waiting:
        async with contextlib.AsyncExitStack() as first:
            for _ in range(4):
                await first.enter_async_context(http.stream("POST", CHAT, json=ahead))
            told = await waiting.enter_async_context(http.stream("POST", CHAT, json=behind))
            lines = told.aiter_lines()
            event = json.loads((await anext(lines)).removeprefix("data: "))
        rest = events_of("\n".join([line async for line in lines]))
    assert (event["choices"], event["queue"]["position"]) == ([], 1)
    assert event["queue"].keys() == {"position", "eta_seconds"}
    assert rest[-1]["choices"][0]["finish_reason"] == "length"
    await all_free(fleet)


async def test_without_the_option_a_stream_counts_nothing(fleet: GatewayProcess) -> None:
    events = events_of((await ask(fleet, stream=True)).text)
    assert not any("usage" in event for event in events)


async def test_a_seed_and_not_the_time_decides_what_is_written(fleet: GatewayProcess) -> None:
    texts = [await told(fleet, seed=seed, max_tokens=80) for seed in (1, 1, 2, -1)]
    assert texts[0] == texts[1]
    assert len(set(texts)) == 3


async def test_several_choices_differ_and_the_prompt_counts_once(fleet: GatewayProcess) -> None:
    alone = (await ask(fleet, max_tokens=80)).json()
    answer = (await ask(fleet, max_tokens=80, n=3)).json()
    texts = [choice["message"]["content"] for choice in answer["choices"]]
    assert [choice["index"] for choice in answer["choices"]] == [0, 1, 2]
    assert texts[0] == alone["choices"][0]["message"]["content"]
    assert len(set(texts)) == 3
    assert answer["usage"]["prompt_tokens"] == alone["usage"]["prompt_tokens"]
    assert answer["usage"]["completion_tokens"] == 240
    streamed = ["", "", ""]
    for event in events_of((await ask(fleet, max_tokens=80, n=3, stream=True)).text):
        (choice,) = event["choices"]
        streamed[choice["index"]] += choice["delta"].get("content", "")
    assert streamed == texts


async def test_a_stop_string_ends_an_answer_and_is_no_part_of_it(fleet: GatewayProcess) -> None:
    for stop in ("home.", ["never", " home."]):
        (choice,) = (await ask(fleet, stop=stop)).json()["choices"]
        assert choice["message"]["content"].rstrip() == " The old ship came"
        assert choice["finish_reason"] == "stop"


async def test_log_probabilities_stand_beside_each_token(fleet: GatewayProcess) -> None:
    (choice,) = (await ask(fleet, max_tokens=6, logprobs=True, top_logprobs=2)).json()["choices"]
    content = choice["logprobs"]["content"]
    assert "".join(entry["token"] for entry in content) == choice["message"]["content"]
    assert bytes(content[0]["bytes"]) == b" The"
    assert [len(entry["top_logprobs"]) for entry in content] == [2] * 6
    completion = (await ask(fleet, COMPLETIONS, max_tokens=6, logprobs=1)).json()["choices"][0]
    told = completion["logprobs"]
    assert "".join(told["tokens"]) == completion["text"]
    assert told["text_offset"][:3] == [0, 4, 8]
    assert len(told["token_logprobs"]) == len(told["top_logprobs"]) == 6


def test_of_likely_tokens_that_look_alike_the_likeliest_is_told() -> None:
    """Single bytes of characters all look like U+FFFD. The token that was drawn is told, too."""
    part, other = "\N{REPLACEMENT CHARACTER}", " The"
    likely = [
        TokenLogprob(token=token, data=(byte,), logprob=logprob)
        for token, byte, logprob in ((part, 195, -0.7), (other, 84, -2.5), (part, 226, -2.9))
    ]
    drawn = TokenFacts(token=" sea", data=(115,), logprob=-3.1, top=tuple(likely))
    told = CompletionForm().choice(" sea", [drawn])["logprobs"]["top_logprobs"]
    assert told == [{part: -0.7, other: -2.5, " sea": -3.1}]


async def test_a_bias_changes_what_is_written(fleet: GatewayProcess) -> None:
    entry = (await ask(fleet, COMPLETIONS, max_tokens=1, prompt=" The", logprobs=0)).json()
    assert entry["choices"][0]["text"] == " old"
    banned = {str(token): -100 for token in range(256, 285)}
    (choice,) = (await ask(fleet, COMPLETIONS, max_tokens=1, prompt=" The", logit_bias=banned)).json()[
        "choices"
    ]
    assert choice["text"] != " old"


async def test_completions_take_texts_and_tokens_one_or_several(fleet: GatewayProcess) -> None:
    several = (await ask(fleet, COMPLETIONS, prompt=["One.", "Two."], n=2)).json()
    assert [choice["index"] for choice in several["choices"]] == [0, 1, 2, 3]
    ids = (await ask(fleet, COMPLETIONS, prompt=[[33, 34], [35]], max_tokens=4)).json()
    assert ids["usage"] == {"prompt_tokens": 3, "completion_tokens": 8, "total_tokens": 11}
    one = (await ask(fleet, COMPLETIONS, prompt=[33, 34], max_tokens=4)).json()
    assert one["choices"][0]["text"] == ids["choices"][0]["text"]
    events = events_of((await ask(fleet, COMPLETIONS, prompt="One.", stream=True)).text)
    assert "".join(event["choices"][0]["text"] for event in events) == several["choices"][0]["text"]


async def test_content_in_parts_and_other_names_of_roles_mean_the_same(fleet: GatewayProcess) -> None:
    parts = [{"type": "text", "text": "What did "}, {"type": "text", "text": "you see?"}]
    plain, split = [
        (
            await ask(fleet, messages=[{"role": role, "content": "Tell."}, {"role": "user", "content": said}])
        ).json()
        for role, said in (("system", QUESTION[0]["content"]), ("developer", parts))
    ]
    assert plain["usage"] == split["usage"]
    assert plain["choices"] == split["choices"]


async def test_options_of_the_template_reach_it(fleet: GatewayProcess) -> None:
    thinking, silent, same = [
        (await ask(fleet, **fields)).json()["usage"]["prompt_tokens"]
        for fields in ({}, {"enable_thinking": False}, {"chat_template_kwargs": {"enable_thinking": False}})
    ]
    assert silent == same > thinking


@pytest.mark.parametrize(
    ("path", "fields", "status", "param", "code"),
    [
        (CHAT, {"model": "gpt-9"}, 404, "model", "unknown_model"),
        (CHAT, {"model": "synthetic"}, 404, "model", "unknown_model"),
        (CHAT, {"messages": []}, 422, "messages", "invalid_value"),
        (CHAT, {"messages": QUESTION * 6}, 422, "messages", "invalid_value"),
        (CHAT, {"messages": said("a" * 9001)}, 422, "messages", "text_too_long"),
        (CHAT, {"messages": said("a" * 5000)}, 422, "messages", "context_length_exceeded"),
        (CHAT, {"messages": [{"role": "spy", "content": "a"}]}, 422, "messages.0.role", "invalid_value"),
        (CHAT, {"max_tokens": 3001}, 422, "max_tokens", "invalid_value"),
        (CHAT, {"max_completion_tokens": 3001}, 422, "max_completion_tokens", "invalid_value"),
        (CHAT, {"max_completion_tokens": 0}, 422, "max_completion_tokens", "invalid_value"),
        (CHAT, {"n": 5}, 422, "n", "invalid_value"),
        (CHAT, {"temperature": 2.5}, 422, "temperature", "invalid_value"),
        (CHAT, {"top_logprobs": 3}, 422, "top_logprobs", "invalid_value"),
        (CHAT, {"logit_bias": {"one": 1}}, 422, "logit_bias", "invalid_value"),
        (CHAT, {"logit_bias": {"285": 1}}, 422, "logit_bias", "invalid_request"),
        (CHAT, {"stop": ["a"] * 17}, 422, None, "invalid_value"),
        (CHAT, {"chat_template_kwargs": {"a": "b" * 9000}}, 422, "chat_template_kwargs", "invalid_value"),
        (CHAT, {"chat_template_kwargs": {"a": nested(300)}}, 422, "chat_template_kwargs", "invalid_value"),
        (CHAT, {"chat_template_kwargs": {"messages": 1}}, 422, "messages", "invalid_request"),
        (CHAT, {"tools": [{"type": "function"}]}, 422, "tools", "not_supported"),
        (CHAT, {"response_format": {"type": "json_object"}}, 422, "response_format", "not_supported"),
        (CHAT, {"priority": "interactive"}, 403, "priority", "priority_not_allowed"),
        (COMPLETIONS, {"prompt": ""}, 422, "prompt", "empty_prompt"),
        (COMPLETIONS, {"prompt": [[]]}, 422, "prompt", "empty_prompt"),
        (COMPLETIONS, {"prompt": []}, 422, "prompt", "empty_prompt"),
        (COMPLETIONS, {"prompt": 5}, 422, "prompt", "invalid_value"),
        (COMPLETIONS, {"prompt": None}, 422, "prompt", "missing_field"),
        (COMPLETIONS, {"prompt": ["a", 5]}, 422, "prompt.1", "invalid_value"),
        (COMPLETIONS, {"prompt": [1, -1]}, 422, "prompt.1", "invalid_value"),
        (COMPLETIONS, {"prompt": [[1], ["a"]]}, 422, "prompt.1.0", "invalid_value"),
        (COMPLETIONS, {"prompt": [{}]}, 422, "prompt.0", "invalid_value"),
        (COMPLETIONS, {"prompt": ["a"] * 5}, 422, "n", "invalid_value"),
        (COMPLETIONS, {"suffix": "end"}, 422, "suffix", "not_supported"),
        (COMPLETIONS, {"best_of": 2}, 422, "best_of", "not_supported"),
        (COMPLETIONS, {"prompt": [400]}, 422, "prompt", "invalid_request"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("stream", [False, True])
async def test_what_is_wrong_is_refused_by_name(
    fleet: GatewayProcess, path: str, fields: dict, status: int, param: str | None, code: str, stream: bool
) -> None:
    first = {"messages": QUESTION} if path == CHAT else {"prompt": "Well."}
    async with fleet.http(headers={}) as http:
        response = await http.post(path, json={**first, "stream": stream, **fields})
    error = check_error(response, status)
    assert error["code"] == code
    assert param is None or error["param"] == param


async def test_fields_that_mean_nothing_here_are_named(fleet: GatewayProcess) -> None:
    response = await ask(fleet, user="ann", store=False, response_format={"type": "text"}, tools=[])
    assert response.headers["X-Ignored-Fields"] == "store, tools, user"
    completed = await ask(fleet, COMPLETIONS, n=2, best_of=2)
    assert (completed.status_code, "X-Ignored-Fields" in completed.headers) == (200, False)


async def test_models_of_both_kinds_are_listed_and_speech_is_spoken_by_its_own(fleet: GatewayProcess) -> None:
    async with fleet.http() as http:
        listed = (await http.get("/v1/models")).json()["data"]
        one = (await http.get("/v1/models/teller")).json()
        config = (await http.get("/api/config")).json()
        spoken = await http.post("/tts", json={"text": "Hello.", "model": "synthetic"})
        wrong = check_error(await http.post("/tts", json={"text": "Hello.", "model": "teller"}), 404)
    assert [model["id"] for model in listed] == ["synthetic", "teller"]
    assert one["id"] == "teller"
    assert (config["model"], config["text_models"]) == ("synthetic", ["teller"])
    assert config["thinking_models"] == ["teller"]
    assert spoken.is_success
    assert wrong["code"] == "unknown_model"


async def test_what_was_read_and_written_is_counted_and_never_logged(fleet: GatewayProcess) -> None:
    async def counted() -> str:
        async with fleet.http() as http:
            return (await http.get("/metrics")).text

    def tokens(metrics: str) -> float:
        lines = metrics.splitlines()
        return float(
            next(line for line in lines if line.startswith('voxfleet_tokens_total{kind="answer"')).split()[1]
        )

    await ask(fleet, max_tokens=1)
    before = tokens(await counted())
    await ask(fleet, max_tokens=7, messages=said("the code is marzipan"))
    metrics = await counted()
    assert tokens(metrics) == before + 7
    assert 'voxfleet_requests_total{outcome="length",protocol="openai_chat"}' in metrics
    assert not any("marzipan" in line or "old ship" in line for line in fleet.log)


async def test_the_controller_of_a_fleet_is_told_of_tokens_as_if_they_were_spoken(
    fleet: GatewayProcess,
) -> None:
    kinds = [{"kind": "texts", "model": "teller", "least": 0, "most": 1}]
    report = {"place": "local", "objective_seconds": 1.0, "first_token_seconds": 60.0, "kinds": kinds}

    async def seen() -> tuple[dict[str, Any], float]:
        async with fleet.http() as http:
            answer = (await http.put("/api/fleet", json=report)).json()
        (writer,) = [worker for worker in answer["workers"] if worker["writes"]]
        return answer["models"].get("teller", {}), writer["audio_seconds"]

    await ask(fleet, max_tokens=3)
    model, made = await seen()
    await ask(fleet, max_tokens=30)

    async def all_told() -> dict[str, Any] | None:
        now, made_now = await seen()
        return now if made_now > made + charge(0, 29) else None

    now = await eventually(all_told, "the worker has not told of its tokens")
    assert [now[name] - model[name] for name in ("requests", "first_audios", "late")] == [1, 1, 0]
    async with fleet.http() as http:
        metrics = (await http.get("/metrics")).text
    events = [line for line in metrics.splitlines() if line.startswith("voxfleet_objective_events_total")]
    assert any('objective="first_token"' in line and 'model="teller"' in line for line in events)


async def test_a_client_that_leaves_gives_its_slot_back(fleet: GatewayProcess) -> None:
    body = {"messages": QUESTION, "max_tokens": 3000, "stream": True}
    async with fleet.http() as http, http.stream("POST", CHAT, json=body) as response:
        async for line in response.aiter_lines():
            if line and json.loads(line.removeprefix("data: "))["choices"][0]["delta"].get("content"):
                break
    await all_free(fleet)
