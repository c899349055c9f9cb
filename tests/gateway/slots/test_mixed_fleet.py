"""Workers of two models side by side, as during an upgrade: a clip belongs to the one that took it."""

from __future__ import annotations

import contextlib

import pytest

from gateway.errors import ApiError
from gateway.slots.requirement import Requirement
from tests.gateway.live.client import SENTENCES, Client, owed
from tests.gateway.stages.fleet import Fleet, status, worker_of
from tests.gateway.stages.scripted_worker import Act, ScriptedWorker
from tests.gateway.streams.stage import CLIP, Ear, gateway_of, prefer_the_first, speak
from worker.protocol import ErrorDetail, TextModelDescription

DRAINING = ErrorDetail(message="the worker drains", type="capacity_error", code="draining")
UNTAKEN = pytest.mark.parametrize("act", [Act(fault="mute"), Act(refusal=DRAINING)], ids=["mute", "draining"])


@UNTAKEN
async def test_a_clip_that_one_model_did_not_take_is_spoken_by_another(act: Act) -> None:
    old, new = ScriptedWorker([act], revision="1"), ScriptedWorker([Act()], revision="2")
    async with gateway_of(old, new, accept_timeout_seconds=0.3) as gateway:
        prefer_the_first(gateway)
        outcome = await speak(gateway, ear := Ear())
    assert ear.pcm == CLIP and ear.starts == ["w1"]
    assert (len(old.requests), len(new.requests), outcome.migrations) == (1, 1, 0)


@UNTAKEN
async def test_so_is_a_sentence_of_a_live_session(act: Act) -> None:
    old, new = ScriptedWorker([act], revision="1"), ScriptedWorker([Act()], revision="2")
    async with gateway_of(old, new, accept_timeout_seconds=0.3) as gateway:
        prefer_the_first(gateway)
        client = Client(gateway)
        await client.say_all(*SENTENCES)
    assert client.pcm == owed(*SENTENCES)
    assert (len(old.requests), len(new.requests), client.speech.migrations) == (1, 3, 0)


TEXT = TextModelDescription(
    kind="text", name="tiny", revision="1", vocab_size=300, max_model_len=512, features=("chat",)
)


async def test_speech_and_text_each_go_to_workers_of_their_kind(open_tickets: contextlib.ExitStack) -> None:
    fleet = Fleet(2, 0)
    fleet.pool.reports.answered(fleet.workers[1], status(slots=2, model=TEXT))
    wanted = [Requirement(), Requirement(kind="text"), Requirement("tiny", kind="text"), Requirement("alpha")]
    tickets = [open_tickets.enter_context(fleet.pool.admit(f"r{n}", one)) for n, one in enumerate(wanted)]
    assert [worker_of(ticket) for ticket in tickets] == ["w0", "w1", "w1", "w0"]


@pytest.mark.parametrize(
    ("requirement", "code", "param"),
    [
        (Requirement("alpha", kind="text"), "unknown_model", "model"),
        (Requirement("tiny"), "unknown_model", "model"),
        (Requirement("tiny", kind="text", features=frozenset({"tools"})), "chat_not_supported", "messages"),
    ],
)
async def test_a_model_of_the_other_kind_is_no_model(requirement: Requirement, code: str, param: str) -> None:
    fleet = Fleet(1, 0)
    fleet.pool.reports.answered(fleet.workers[1], status(model=TEXT))
    with pytest.raises(ApiError) as refusal, fleet.pool.admit("r", requirement):
        pass
    assert (refusal.value.code, refusal.value.param) == (code, param)


async def test_without_a_text_model_nobody_waits_for_one() -> None:
    with pytest.raises(ApiError, match="there is no text model here"):
        Fleet(1).pool.admit("r", Requirement(kind="text")).__enter__()
