"""What a worker may say of an answer, and what is committed of it."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from gateway.answers.answer import Answer, Written
from gateway.answers.order import AnswerOrder, charge, seed_of_choice
from gateway.workers.client import StreamBroken
from tests.gateway.stages.fleet import describe_model
from worker.protocol import (
    CACHE_SALT,
    ChatMessage,
    ErrorDetail,
    Frame,
    FrameKind,
    Sampling,
    TextModelDescription,
    TokenFacts,
)

MODEL = TextModelDescription(kind="text", name="tiny", revision="1", vocab_size=300, max_model_len=50)
ORDER = AnswerOrder(most_tokens=10, seed=7, prompt="Well.")
WORKER = SimpleNamespace(model=MODEL)
LEASE: Any = SimpleNamespace(epoch=2, ticket=SimpleNamespace(id="q_1"), worker=WORKER)


class Stream:
    """What an answer asks of the stream it comes by."""

    model_revision = "1"
    prompt_tokens = 5
    thinking = True
    failure: ErrorDetail | None = None

    def failed(self, frame: Frame) -> StreamBroken:
        return StreamBroken("failed", frame.finish_reason or "")


STREAM: Any = Stream()


async def begun(order: AnswerOrder = ORDER) -> tuple[Answer, list[Written]]:
    pieces: list[Written] = []
    answer = Answer(order, pieces.append)
    await answer.prepare(MODEL)
    answer.accepted(MODEL, STREAM)
    return answer, pieces


def frame(*tokens: int, text: str = "a", **fields: Any) -> Frame:
    return Frame(FrameKind.TEXT, "r", 1, 0, 1, tokens=tokens, text=text, **fields)


async def test_what_was_committed_goes_to_the_next_worker() -> None:
    answer, pieces = await begun()
    assert (answer.prompt_tokens, answer.thinking) == (5, True)
    assert answer.take(frame(1, 2, text="One"), STREAM, LEASE)
    assert answer.take(frame(3, text=" two"), STREAM, LEASE)
    start = answer.start(LEASE)
    assert (start.request_id, start.attempt) == ("q_1-2", 2)
    assert (start.resume_ids, start.seed, start.sampling.max_tokens) == ((1, 2, 3), 7, 10)
    assert answer.committed == 3
    assert [piece.text for piece in pieces] == ["One", " two"]


async def test_a_salt_is_said_to_a_worker_that_knows_what_it_is() -> None:
    """Those of an earlier build refuse what they do not know, and may be the next ones of an answer."""
    order = replace(ORDER, cache_salt="whose")
    knowing = MODEL.model_copy(update={"features": (CACHE_SALT,)})
    for model, salt in ((knowing, "whose"), (MODEL, None)):
        answer, _ = await begun(order)
        await answer.prepare(model)
        lease: Any = SimpleNamespace(epoch=3, ticket=LEASE.ticket, worker=SimpleNamespace(model=model))
        assert json.loads(answer.start(lease).model_dump_json(exclude_none=True)).get("cache_salt") == salt


FACT = TokenFacts(token="a", data=(97,), logprob=-1.0)
TOP = replace(ORDER, sampling=Sampling(logprobs=0))


@pytest.mark.parametrize(
    ("order", "wrong", "reason"),
    [
        (ORDER, frame(*range(11)), "corrupt"),
        (ORDER, frame(300), "corrupt"),
        (ORDER, frame(1, text="a" * 1025), "corrupt"),
        (ORDER, frame(1, facts=(FACT,)), "corrupt"),
        (TOP, frame(1), "corrupt"),
        (TOP, frame(1, facts=(FACT.model_copy(update={"top": (FACT,)}),)), "corrupt"),
        (ORDER, Frame(FrameKind.AUDIO, "r", 1, 0, 1, latents=bytes(4), pcm=bytes(2)), "corrupt"),
        (ORDER, frame(1, last=True, finish_reason="runaway"), "failed"),
        (ORDER, Frame(FrameKind.FINAL, "r", 1, 0, 1, last=True, finish_reason="cancelled"), "failed"),
        (ORDER, Frame(FrameKind.FINAL, "r", 1, 0, 1, last=True, finish_reason="stop"), "failed"),
    ],
)
async def test_a_worker_is_believed_within_bounds(order: AnswerOrder, wrong: Frame, reason: str) -> None:
    answer, pieces = await begun(order)
    with pytest.raises(StreamBroken) as broken:
        answer.take(wrong, STREAM, LEASE)
    assert broken.value.reason == reason
    assert (answer.committed, pieces) == (0, [])


async def test_an_answer_that_was_begun_stays_with_its_model() -> None:
    answer, _ = await begun()
    other = MODEL.model_copy(update={"revision": "2"})
    for model in (other, describe_model(), None):
        with pytest.raises(StreamBroken, match="model"):
            answer.accepted(model, STREAM)
    with pytest.raises(StreamBroken):
        await answer.prepare(describe_model())
    answer.accepted(MODEL, STREAM)


@pytest.mark.parametrize("said", [None, 0, 51])
async def test_how_long_the_prompt_is_has_bounds_too(said: int | None) -> None:
    answer = Answer(ORDER, print)
    with pytest.raises(StreamBroken, match="no prompt"):
        answer.accepted(MODEL, SimpleNamespace(model_revision="1", prompt_tokens=said))


def test_a_conversation_is_known_by_how_it_begins() -> None:
    def order(*texts: str) -> AnswerOrder:
        roles = ("system", "user", "assistant", "user")
        turns = (ChatMessage(role=role, content=text) for role, text in zip(roles, texts, strict=False))
        return AnswerOrder(most_tokens=1, seed=1, messages=tuple(turns))

    first, second = order("Be kind.", "Hello."), order("Be kind.", "Hello.", "Hi!", "How are you?")
    assert first.requirement().affinity == second.requirement().affinity
    assert order("Be kind.", "Bye.").beginning != first.beginning
    assert replace(ORDER, prompt="Other.").beginning != ORDER.beginning


def test_an_answer_costs_what_speaking_it_would() -> None:
    assert charge(0, 15) == pytest.approx(4.0)  # sixty characters, at fifteen a second
    assert charge(10, 0) == pytest.approx(charge(0, 1))


def test_seeds_of_choices_follow_from_the_first() -> None:
    seeds = [seed_of_choice(7, number) for number in range(100)]
    assert seeds[0] == 7
    assert len(set(seeds)) == 100
    assert all(0 <= seed < 2**63 for seed in seeds)
