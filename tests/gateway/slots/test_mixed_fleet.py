"""Workers of two models side by side, as during an upgrade: a clip belongs to the one that took it."""

from __future__ import annotations

import pytest

from tests.gateway.live.test_speech import PATIENT, SENTENCES, Client, owed
from tests.gateway.scripted_worker import Act, ScriptedWorker
from tests.gateway.streams.test_relay import CLIP, Ear, gateway_of, prefer_the_first, speak
from worker.protocol import ErrorDetail

DRAINING = ErrorDetail(message="the worker drains", type="capacity_error", code="draining")
UNTAKEN = pytest.mark.parametrize("act", [Act(fault="mute"), Act(refusal=DRAINING)], ids=["mute", "draining"])


@UNTAKEN
async def test_a_clip_that_one_model_did_not_take_is_spoken_by_another(act: Act) -> None:
    old, new = ScriptedWorker([act], revision="1"), ScriptedWorker([Act()], revision="2")
    async with gateway_of(old, new) as gateway:
        prefer_the_first(gateway)
        outcome = await speak(gateway, ear := Ear())
    assert ear.pcm == CLIP and ear.starts == ["w1"]
    assert (len(old.requests), len(new.requests), outcome.migrations) == (1, 1, 0)


@UNTAKEN
async def test_so_is_a_sentence_of_a_live_session(act: Act) -> None:
    old, new = ScriptedWorker([act], revision="1"), ScriptedWorker([Act()], revision="2")
    options = {**PATIENT, "accept_timeout_seconds": 0.3}
    async with gateway_of(old, new, **options) as gateway:
        prefer_the_first(gateway)
        client = Client(gateway)
        await client.say_all(*SENTENCES)
    assert client.pcm == owed(*SENTENCES)
    assert (len(old.requests), len(new.requests), client.speech.migrations) == (1, 3, 0)
