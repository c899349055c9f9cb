"""The voice of a live session against workers that misbehave: each utterance is right, and who speaks it next
is told what came before.
"""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

import pytest

from gateway.audio.fade import fade_out
from gateway.callers.identity import Caller
from gateway.errors import ApiError
from gateway.requests import TtsRequest
from gateway.service import Gateway
from gateway.slots.capacity.worker import Health, Worker
from gateway.slots.line.standing import Priority
from gateway.streams.clip.progress import seed_of_take
from gateway.voices.resolution import Speaker
from tests.gateway.live.client import SENTENCES, Client, owed
from tests.gateway.stages.fleet import status
from tests.gateway.stages.scripted_worker import PATCH_BYTES, Act, ScriptedWorker
from tests.gateway.streams.stage import IMPATIENT, gateway_of, prefer_the_first
from tests.gateway.timing.audio import FakeAligner
from worker.protocol import WATCHED, ErrorDetail


async def test_times_of_sentences_follow_and_all_are_told_before_the_end() -> None:
    async with gateway_of(ScriptedWorker([Act()]), aligner="off") as gateway:
        gateway.aligner = FakeAligner(seconds_each=0.05)
        client = Client(gateway, timestamps="word")
        await client.say_all(*SENTENCES)
    text, told = "".join(SENTENCES), [message["part"] for message in client.of_type("timestamps")]
    assert [part.source for part in told] == ["aligned"] * 3
    assert "".join(part.text for part in told) == text
    words = [word for part in told for word in part.words]
    assert [text[word.start : word.end] for word in words] == text.split()
    assert all(a.end_seconds <= b.start_seconds + 1e-9 for a, b in pairwise(words))
    assert words[-1].end_seconds <= len(client.pcm) / 2 / 24_000


async def test_a_sentence_that_goes_wrong_is_cut_and_said_again() -> None:
    second = SENTENCES[1]
    worker = ScriptedWorker([Act()], features=(WATCHED,), flaws={(second, 7): (3, "noisy")})
    async with gateway_of(worker, aligner="off") as gateway:
        client = Client(gateway, timestamps="word")
        await client.say_all(*SENTENCES)
    whole, end = owed(second), 3 * PATCH_BYTES
    lost = whole[:end] + fade_out(whole[end : end + PATCH_BYTES], 24_000) + bytes(2 * 4800)
    again = owed(second, seed=seed_of_take(7, 0, 1))
    assert client.pcm == owed(SENTENCES[0]) + lost + again + owed(SENTENCES[2])
    ends = [message["last_sample"] for message in client.of_type("utterance_done")]
    assert ends == [len(heard) // 2 for heard in (
        owed(SENTENCES[0]), owed(SENTENCES[0]) + lost + again, client.pcm
    )]  # fmt: skip
    told = [message["part"] for message in client.of_type("timestamps")]
    said_from = (len(owed(SENTENCES[0])) + len(lost)) / 2 / 24_000
    assert all(word.start_seconds >= said_from - 0.2 for word in told[1].words)
    assert "".join(part.text for part in told) == "".join(SENTENCES)


async def test_after_an_interruption_nothing_is_told_of_what_was_said_before() -> None:
    async with gateway_of(ScriptedWorker([Act()]), aligner="off") as gateway:
        gateway.aligner = aligner = FakeAligner(seconds_each=0.05)
        aligner.may_answer.clear()
        client = Client(gateway, timestamps="word")
        async with client.running():
            client.session.append(SENTENCES[0])
            await aligner.was_asked(1)
            client.session.cancel(0)
            aligner.may_answer.set()
            client.session.append(SENTENCES[1])
            client.session.stop()
    assert [(told["index"], told["epoch"]) for told in client.of_type("timestamps")] == [(1, 1)]


@pytest.mark.parametrize("fault", ["cut", "leave", "hang", "corrupt", "failed"])
async def test_an_utterance_whose_worker_fails_is_finished_by_another(fault: str) -> None:
    faulty = ScriptedWorker([Act(), Act(3, fault)], features=("prompt",))
    sound = ScriptedWorker([Act()], features=("prompt",))
    async with gateway_of(faulty, sound, **(IMPATIENT if fault == "hang" else {})) as gateway:
        prefer_the_first(gateway)
        client = Client(gateway)
        await client.say_all(*SENTENCES)
    assert client.pcm == owed(*SENTENCES)
    assert sound.requests[0].resume_latents.shape[0] == 3
    assert sound.requests[0].prompt_text == SENTENCES[0]
    assert len(client.of_type("started")) == 1
    assert [message["finish_reason"] for message in client.of_type("utterance_done")] == ["stop"] * 3
    assert client.speech.migrations == 1


class TunedSpeaker(Speaker):
    """A voice that brings parameters."""

    def __init__(self, **parameters: Any) -> None:
        super().__init__("default")
        self._parameters = parameters

    def fill_in(self, request: TtsRequest) -> TtsRequest:
        return request.model_copy(update=self._parameters)


async def say_with(speaker: Speaker, gateway: Gateway, monkeypatch: pytest.MonkeyPatch) -> Client:
    async def resolve(reference: str, tenant: str) -> Speaker:
        return speaker

    monkeypatch.setattr(gateway.voices, "resolve", resolve)
    client = Client(gateway, seed=None)
    await client.say_all(SENTENCES[0])
    return client


async def test_the_seed_that_is_told_is_the_one_of_the_voice(monkeypatch: pytest.MonkeyPatch) -> None:
    async with gateway_of(ScriptedWorker([Act()])) as gateway:
        client = await say_with(TunedSpeaker(seed=11), gateway, monkeypatch)
    assert client.pcm == owed(SENTENCES[0], seed=11)
    assert client.of_type("started")[0]["seed"] == client.speech.seed == 11


async def test_no_other_model_speaks_than_the_one_that_the_voice_names(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with gateway_of(worker := ScriptedWorker([Act()])) as gateway:
        with pytest.raises(ApiError, match="there is no model 'beta'"):
            await say_with(TunedSpeaker(model="beta"), gateway, monkeypatch)
    assert not worker.requests


EMPTY = ErrorDetail(
    message="nothing that can be spoken", type="invalid_request_error", param="text", code="empty"
)


async def test_text_that_a_worker_refuses_costs_that_utterance_alone() -> None:
    worker = ScriptedWorker([Act(), Act(refusal=EMPTY), Act()])
    async with gateway_of(worker) as gateway:
        client = Client(gateway)
        await client.say_all(*SENTENCES)
    assert client.pcm == owed(SENTENCES[0], SENTENCES[2])
    reasons = [message["finish_reason"] for message in client.of_type("utterance_done")]
    assert reasons == ["stop", "refused", "stop"]
    (complaint,) = client.of_type("error")
    assert (complaint["fatal"], complaint["error"]["code"]) == (False, "empty")


async def test_text_that_another_worker_takes_is_said() -> None:
    wrong, sound = ScriptedWorker([Act(refusal=EMPTY)]), ScriptedWorker([Act()])
    async with gateway_of(wrong, sound) as gateway:
        client = Client(gateway)
        await client.say_all(*SENTENCES)
        assert gateway.pool.workers["w0"].figures.failures["rejected"] == 1
    assert client.pcm == owed(*SENTENCES)
    assert not client.of_type("error")


async def test_options_that_a_worker_refuses_end_the_session() -> None:
    refusal = ErrorDetail(message="too much", type="invalid_request_error", param="cfg_value", code="range")
    worker = ScriptedWorker([Act(refusal=refusal)])
    async with gateway_of(worker) as gateway:
        with pytest.raises(ApiError, match="too much"):
            await Client(gateway).say_all(*SENTENCES)


async def test_leaving_gives_back_everything() -> None:
    worker = ScriptedWorker([Act(3, "hang")])
    async with gateway_of(worker) as gateway:
        client = Client(gateway)
        task = asyncio.create_task(client.speech.run())
        client.session.append("A sentence. And")
        await client.on_audio.wait()
        task.cancel()
        await asyncio.wait({task})
        assert task.cancelled() and client.session.ended


def test_a_session_waits_in_the_highest_class_that_its_client_may_ask_for() -> None:
    known, anonymous = Caller("key:shop", Priority.INTERACTIVE), Caller("127.0.0.1", Priority.DEFAULT)
    assert known.standing_for(None, 5.0, known.highest).priority is Priority.INTERACTIVE
    assert known.standing_for("bulk", 5.0, known.highest).priority is Priority.BULK
    assert anonymous.standing_for(None, 5.0, anonymous.highest).priority is Priority.DEFAULT
    with pytest.raises(ApiError, match="default at most"):
        anonymous.standing_for("interactive", 5.0, anonymous.highest)


def test_an_engine_that_stands_still_because_all_is_paused_does_not_hang() -> None:
    worker = Worker("w0", "http://w0")
    resting = status(slots=2, slots_used=1, step=7).model_copy(update={"slots_paused": 1})
    worker.answered(resting)
    worker.suspected("silence")
    worker.answered(resting)
    assert worker.health is Health.UP
    working = status(slots=2, slots_used=2, step=7).model_copy(update={"slots_paused": 1})
    worker.answered(working)
    worker.suspected("silence")
    worker.answered(working)
    assert worker.health is Health.SUSPECT


async def test_a_lexicon_holds_for_the_session_and_divides_no_word() -> None:
    worker = ScriptedWorker([Act()])
    async with gateway_of(worker) as gateway:
        client = Client(gateway, lexicon={"Yahoo! Inc.": "yah hoo ink"})
        async with client.running():
            for piece in ("Meet Yah", "oo", "! ", "Inc", ". Then go.", " Bye."):
                client.session.append(piece)
            client.session.stop()
    assert [start.text for start in worker.requests] == ["Meet yah hoo ink ", "Then go. ", "Bye."]
    assert client.of_type("utterance")[0]["text"] == "Meet Yahoo! Inc. "
