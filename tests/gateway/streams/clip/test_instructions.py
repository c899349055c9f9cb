"""Who is told how to speak, and with which parts of a clip."""

from __future__ import annotations

import contextlib

import pytest

from gateway.errors import ApiError
from gateway.requests import StreamRequest, TtsRequest
from gateway.slots.requirement import Requirement
from gateway.streams.clip.clip import Clip
from gateway.streams.clip.conditioning import Conditioning
from gateway.streams.clip.start import start_request
from gateway.streams.resumption.token import ResumeTokens
from gateway.synthesis.synthesis import Synthesis
from gateway.voices.fields import VoiceParameters
from gateway.voices.resolution import DirectedSpeaker, Speaker
from models import speech
from tests.gateway.live.client import SENTENCES, Client
from tests.gateway.stages.fleet import Fleet, describe_model, status, worker_of
from tests.gateway.stages.scripted_worker import Act, ScriptedWorker
from tests.gateway.streams.stage import Ear, gateway_of
from worker.protocol import INSTRUCTIONS, Latents

CALM = "a calm voice"
LATENTS = Latents(shape=(1, 4, 64), data=bytes(1024))


def test_gateway_and_models_mean_the_same_feature() -> None:
    assert INSTRUCTIONS == speech.INSTRUCTIONS


async def test_every_paragraph_is_told() -> None:
    worker = ScriptedWorker([Act()], features=(INSTRUCTIONS,))
    async with gateway_of(worker) as gateway:
        request = TtsRequest(text="One.\n\nTwo.", seed=3, instructions=f" {CALM}\n")
        assert (await Synthesis(gateway, request, "r1", Ear()).run()).finish_reason == "stop"
    assert [(start.text, start.instructions) for start in worker.requests] == [("One.", CALM), ("Two.", CALM)]


async def test_a_live_session_goes_on_as_it_began() -> None:
    worker = ScriptedWorker([Act()], features=(INSTRUCTIONS, "prompt"))
    async with gateway_of(worker) as gateway:
        await Client(gateway, instructions=CALM).say_all(*SENTENCES)
    assert [start.instructions for start in worker.requests] == [CALM, None, None]
    assert [start.prompt_text for start in worker.requests] == [None, *SENTENCES[:2]]


async def test_a_model_that_follows_none_refuses() -> None:
    worker = ScriptedWorker([Act()], features=("reference",))
    async with gateway_of(worker) as gateway:
        for said, refused in ((CALM, True), (" ", False), (None, False)):
            request = TtsRequest(text="One.", instructions=said)
            with pytest.raises(ApiError) if refused else contextlib.nullcontext() as refusal:
                await Synthesis(gateway, request, "r", Ear()).run()
            if refused:
                problem = refusal.value
                found = (problem.status_code, problem.code, problem.param)
                assert found == (422, "instructions_unsupported", "instructions")
    assert [start.instructions for start in worker.requests] == [None, None]


async def test_of_several_models_the_one_speaks_that_can_be_told(open_tickets) -> None:
    fleet, told = Fleet(1, 1), Requirement(instructions=True)
    fleet.pool.reports.answered(fleet.workers[0], status(model=describe_model("plain", voices=("ruth",))))
    fleet.pool.reports.answered(
        fleet.workers[1], status(model=describe_model("able", features=(INSTRUCTIONS,)))
    )
    assert worker_of(open_tickets.enter_context(fleet.pool.admit("r", told))) == "w1"
    for model, voice in (("plain", "default"), (None, "ruth")):
        with pytest.raises(ApiError) as refusal:
            open_tickets.enter_context(fleet.pool.admit("r", Requirement(model, voice, instructions=True)))
        assert refusal.value.code == "instructions_unsupported"
    with pytest.raises(ApiError) as refusal:
        open_tickets.enter_context(fleet.pool.admit("r", Requirement(voice="nobody", instructions=True)))
    assert refusal.value.code == "unknown_voice"


class _Recorded(Speaker):
    """A voice with a recording and its words."""

    def __init__(self, reference: Latents | None) -> None:
        super().__init__("default")
        self._reference = reference

    async def conditioning(self, worker: object, client: object) -> Conditioning:
        return Conditioning("default", self._reference, "Its words. ", LATENTS)


async def test_a_recording_is_a_reference_alone_beside_instructions() -> None:
    made = await DirectedSpeaker(_Recorded(LATENTS)).conditioning(None, None)
    assert made == Conditioning("default", LATENTS)
    kept = await DirectedSpeaker(_Recorded(None)).conditioning(None, None)
    assert kept.prompt_latents is LATENTS, "it tells who speaks"
    clip = Clip(TtsRequest(text="One.", instructions=CALM), 1, 60.0)
    clip.begin(describe_model(features=(INSTRUCTIONS,)))
    for conditioning, instructions in ((made, CALM), (kept, None)):
        clip.conditioning = conditioning
        assert start_request(clip, "r", 1).instructions == instructions


def test_a_resumed_clip_is_told_the_same() -> None:
    clip = Clip(StreamRequest(text="One.", instructions=CALM), 1, 60.0)
    clip.begin(describe_model(features=(INSTRUCTIONS,)))
    clip.commit(bytes(1024), 3840)
    tokens = ResumeTokens(None, 60.0)
    resumed, _ = tokens.open(tokens.begin("client").extend(clip).text, "client")
    assert start_request(resumed, "r", 2).instructions == CALM


async def test_a_voice_may_say_how_it_speaks() -> None:
    class Calm(Speaker):
        def fill_in(self, request: TtsRequest) -> TtsRequest:
            said = request.instructions
            return request.model_copy(update={"instructions": CALM if said is None else said})

    worker = ScriptedWorker([Act()], features=(INSTRUCTIONS,))
    async with gateway_of(worker) as gateway:
        for said in (None, "loud", ""):
            request = TtsRequest(text="One.", instructions=said)
            await Synthesis(gateway, request, "r", Ear(), speaker=Calm("default")).run()
    assert [start.instructions for start in worker.requests] == [CALM, "loud", None]
    plain = ScriptedWorker([Act()])
    async with gateway_of(plain) as gateway:
        with pytest.raises(ApiError) as refusal:
            await Synthesis(gateway, TtsRequest(text="One."), "r", Ear(), speaker=Calm("default")).run()
    assert refusal.value.code == "instructions_unsupported"


def test_what_a_voice_says_is_kept_as_it_was_said() -> None:
    assert VoiceParameters(instructions=f" {CALM}\n").model_dump(exclude_none=True) == {"instructions": CALM}
