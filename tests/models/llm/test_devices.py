"""`LLM` on two devices answers as on one, also where it refuses, and where one dies under an answer."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.errors import EngineError, OptionsError, RequestError
from engine.parallel.channel import Message
from models.llm import LLM, SamplingParams
from models.llm.engine import TextRequest
from models.llm.pool.request import PooledText, request_of
from models.pool.member import DeviceState
from models.pool.wire import Kind, pack, unpack
from tests.worker.process import wait_until

OPTIONS: dict[str, Any] = {"max_num_seqs": 4, "threads": 1}
LONG = SamplingParams(max_tokens=200, ignore_eos=True, seed=3)
NAMES = [f"cpu ({number} of 2)" for number in (1, 2)]


@pytest.fixture(scope="module")
def pool(checkpoint_directory: Path) -> Iterator[LLM]:
    with LLM(str(checkpoint_directory), devices=["cpu", "cpu"], **OPTIONS) as loaded:
        yield loaded


@pytest.fixture(scope="module")
def one(checkpoint_directory: Path) -> Iterator[LLM]:
    with LLM(str(checkpoint_directory), device="cpu", **OPTIONS) as loaded:
        yield loaded


@pytest.fixture(autouse=True)
def nothing_stays(pool: LLM) -> Iterator[None]:
    yield
    wait_until(lambda: pool.is_finished() or None, lambda: "a device has a request still")


def test_answers_come_in_order_and_are_those_of_one_device(pool: LLM, one: LLM) -> None:
    prompts = ["one", [5, 6, 7], "three", "four", "five"]
    params = [
        SamplingParams(
            max_tokens=12, seed=number, ignore_eos=True, logprobs=2, logit_bias={number: -inf, 90: 0.5}
        )
        for number in range(len(prompts))
    ]
    expected = one.generate(prompts, params, use_tqdm=False)
    answers = pool.generate(prompts, params, use_tqdm=False)
    for answer, wanted in zip(answers, expected, strict=True):
        assert {**answer, "logprobs": 0} == {**wanted, "logprobs": 0}
        for (own, top), (wanted_own, wanted_top) in zip(answer["logprobs"], wanted["logprobs"], strict=True):
            assert own == pytest.approx(wanted_own, abs=1e-3)
            assert [token for token, _ in top] == [token for token, _ in wanted_top]
    messages = [{"role": "user", "content": "hello"}]
    assert pool.chat(messages, LONG, use_tqdm=False) == one.chat(messages, LONG, use_tqdm=False)


async def test_streams_share_the_devices_and_may_be_left(pool: LLM, one: LLM) -> None:
    wanted = one.generate("hello", LONG, use_tqdm=False)[0]["token_ids"]
    streams = [pool.stream("hello", LONG) for _ in range(3)]
    for stream in streams:
        assert (await anext(stream)).token == wanted[0]
    await streams[0].aclose()
    for stream in streams[1:]:
        rest = [output async for output in stream]
        assert [output.token for output in rest] == wanted[1:] and rest[-1].finish_reason == "length"


@pytest.mark.timeout(200)
async def test_an_answer_goes_on_where_its_device_died_and_that_is_started_again(pool: LLM, one: LLM) -> None:
    letters = replace(LONG, logit_bias=dict.fromkeys(range(94), 50.0))  # printable ASCII
    params = replace(letters, stop=[one.generate("hello", letters, use_tqdm=False)[0]["text"][150:158]])
    wanted = one.generate("hello", params, use_tqdm=False)[0]
    assert wanted["finish_reason"] == "stop" and len(wanted["token_ids"]) > 100
    outputs, first = [], pool._engine._devices[0].process
    async for output in pool.stream("hello", params):
        outputs.append(output)
        if len(outputs) == 1:
            os.kill(first._process.pid, signal.SIGKILL)
    assert [output.token for output in outputs] == wanted["token_ids"]
    assert "".join(output.text for output in outputs) == wanted["text"]
    assert outputs[-1].finish_reason == "stop"
    first._threads[1].join(60)
    pool._engine._devices[0]._thread.join(100)
    assert pool.devices == [DeviceState(name, "serving") for name in NAMES]
    assert pool.generate("hello", params, use_tqdm=False) == [wanted]


@pytest.mark.parametrize(
    ("prompts", "params"),
    [
        (["good", "half \ud83d"], None),
        ([[1, 300]], None),
        ([{1}], None),
        ([np.arange(3)], None),
        (["good"], [3]),
        (["word " * 600], None),
    ],
)
def test_what_one_device_refuses_a_pool_refuses_in_the_same_words(
    pool: LLM, one: LLM, prompts: Any, params: Any
) -> None:
    raised = []
    for llm in (one, pool):
        with pytest.raises(RequestError) as refused:
            llm.generate(prompts, params, use_tqdm=False)
        raised.append((str(refused.value), vars(refused.value)))
    assert raised[0] == raised[1]


def test_nobody_steps_several_devices(pool: LLM, one: LLM) -> None:
    for call in (pool.step, lambda: pool.add_request("hello"), lambda: pool.cancel("no such")):
        with pytest.raises(EngineError, match="several devices are not stepped by hand"):
            call()
    assert one.devices == [DeviceState("cpu", "serving")]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"device": "cpu"}, "give one of them"),
        ({"tensor_parallel_size": 2}, "with them tensor_parallel_size is 1"),
        ({"devices": []}, "devices are a list"),
        ({"max_num_seqs": 0}, "max_num_seqs"),
    ],
)
def test_a_wrong_option_is_named_before_a_process_is_started(
    checkpoint_directory: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], reason: str
) -> None:
    monkeypatch.setattr("models.pool.device.start_process", lambda module: pytest.fail("started"))
    with pytest.raises(OptionsError, match=reason):
        LLM(str(checkpoint_directory), **{"devices": ["cpu", "cpu"], **options})


def test_after_close_it_serves_nobody(checkpoint_directory: Path) -> None:
    llm = LLM(str(checkpoint_directory), devices=["cpu"], **OPTIONS)
    assert llm.devices == [DeviceState("cpu", "serving")]
    llm.close()
    llm.close()
    assert [state.state for state in llm.devices] == ["lost"]
    with pytest.raises(EngineError, match="closed"):
        llm.generate("hello", use_tqdm=False)


def test_a_request_arrives_as_it_was_with_a_seed_for_all_devices() -> None:
    params = SamplingParams(
        logit_bias={4: -inf, 7: 1.5},
        bad_words=[(1, 2)],
        stop=["end"],
        stop_token_ids=[3],
        top_k=5,
        logprobs=1,
    )
    pooled = PooledText(TextRequest("r", [1, 2], params, [8], read_whole=True, salt=b"\xffa"))
    told = []
    for tokens in ([], [5, 6]):
        for token in tokens:
            pooled.take({"request_id": "r", "token": token, "top": [[5, -0.5]]})
        (record,) = unpack_of(pooled.fields())
        told.append(request_of(record))
    first, second = told
    assert first.params == second.params and first.params.seed is not None
    assert {**vars(first.params), "seed": None} == vars(params)
    assert (first.prompt, first.read_whole, first.salt) == ([1, 2], True, b"\xffa")
    assert (first.resume_ids, second.resume_ids) == ([8], [8, 5, 6])
    assert next(pooled.stream).top == ((5, -0.5),)


def unpack_of(record: dict[str, Any]) -> list[dict[str, Any]]:
    """What comes out at the other end."""
    return unpack(Message(Kind.CALL, *pack([record])))
