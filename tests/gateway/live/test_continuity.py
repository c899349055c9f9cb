"""What a sentence takes over from the one before."""

from __future__ import annotations

import pytest

from gateway.live.messages import Start
from gateway.live.speech.continuity import take_over
from gateway.streams.clip.clip import Clip
from gateway.streams.clip.conditioning import Conditioning
from tests.gateway.live.client import SENTENCES, Client, owed
from tests.gateway.stages.fleet import describe_model
from tests.gateway.stages.scripted_worker import Act, ScriptedWorker, frames_of
from tests.gateway.streams.stage import gateway_of
from worker.protocol import Latents, StartRequest


def latents_of(text: str) -> bytes:
    return b"".join(frame.latents for frame in frames_of(StartRequest(request_id="r", text=text, seed=7)))


async def test_a_sentence_continues_the_one_before_where_the_model_can() -> None:
    worker = ScriptedWorker([Act()], features=("prompt",))
    async with gateway_of(worker) as gateway:
        client = Client(gateway)
        await client.say_all(*SENTENCES)
    assert client.pcm == owed(*SENTENCES)
    first, second, third = worker.requests
    assert first.prompt_text is None and first.prompt_latents is None
    assert second.prompt_text == SENTENCES[0]
    assert second.prompt_latents.data == latents_of(SENTENCES[0])
    assert third.prompt_text == SENTENCES[1]
    assert len({request.request_id for request in worker.requests}) == 3


async def test_without_that_feature_each_sentence_begins_anew() -> None:
    worker = ScriptedWorker([Act()], features=("reference",))
    async with gateway_of(worker) as gateway:
        await Client(gateway).say_all(*SENTENCES)
    assert [request.prompt_latents for request in worker.requests] == [None, None, None]


@pytest.mark.parametrize("longest", [None, 0.32])
def test_a_voice_with_a_prompt_of_its_own_keeps_it(longest: float | None) -> None:
    model = describe_model(features=("prompt",), max_prompt_seconds=longest)
    patch = bytes(4 * 4 * 64)
    before = Clip(Start(type="start").request("Said before. "), 7, 60)
    before.begin(model)
    before.commit(patch, 3840)
    before.end_part("stop")
    own = Conditioning(
        "default", None, "Words of the voice.", Latents(shape=(1, 4, 64), data=patch[:-1] + b"1")
    )
    told = take_over(own, before, model)
    assert told.prompt_text == "Words of the voice. Said before. "
    assert told.prompt_latents.shape == (2, 4, 64)
    assert told.prompt_latents.data == own.prompt_latents.data + patch
    assert take_over(own, before, describe_model("alpha", "another", features=("prompt",))) is own


@pytest.mark.parametrize(("longest", "words"), [(0.2, "Said before. "), (0.1, "Words of the voice.")])
def test_what_is_longer_than_the_model_continues_is_left_out(longest: float, words: str) -> None:
    model = describe_model(features=("prompt",), max_prompt_seconds=longest)
    patch = bytes(4 * 4 * 64)
    before = Clip(Start(type="start").request("Said before. "), 7, 60)
    before.begin(model)
    before.commit(patch, 3840)
    before.end_part("stop")
    own = Conditioning("default", None, "Words of the voice.", Latents(shape=(1, 4, 64), data=patch))
    told = take_over(own, before, model)
    assert told.prompt_text == words and told.prompt_latents.shape == (1, 4, 64)


async def test_nothing_is_taken_over_of_what_is_long_or_was_cut_off() -> None:
    long = "A sentence that goes on and on without an end in sight, " * 4
    worker = ScriptedWorker([Act()], features=("prompt",))
    async with gateway_of(worker) as gateway:
        client = Client(gateway)
        async with client.running():
            client.session.append(long)
            client.session.flush()
            await client.on_audio.wait()
            client.session.cancel(0)
            client.session.append(long)
            client.session.flush()
            client.session.append(SENTENCES[0])
            client.session.stop()
    assert [request.prompt_latents for request in worker.requests] == [None] * len(worker.requests)
