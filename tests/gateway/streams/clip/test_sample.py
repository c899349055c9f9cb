"""One speaker for all parts of a clip, of a model that makes up another one for each text."""

from __future__ import annotations

import pytest

from gateway.requests import StreamRequest
from gateway.streams.clip.clip import Clip
from gateway.streams.clip.conditioning import Conditioning
from gateway.streams.clip.sample import VoiceSample, better_sample
from gateway.streams.clip.start import start_request
from gateway.streams.resumption.token import ResumeTokens, TokenWriter
from models import speech
from tests.gateway.stages.fleet import describe_model
from tests.gateway.stages.scripted_worker import Act, ScriptedWorker
from tests.gateway.streams.stage import SEED, Ear, gateway_of, latents_of, prefer_the_first, speak
from worker.protocol import ANY_VOICE, INSTRUCTIONS, AdapterUse, Latents, ModelDescription

PATCH = 4 * 4 * 64
SAYS_MUCH = "This paragraph is so long that whoever hears it knows the voice that speaks it well."
TEXT = f"{SAYS_MUCH}\n\nTwo.\n\nThree."
BOTH = (ANY_VOICE, "reference", "prompt")
NOBODY = Conditioning()


def test_gateway_and_models_mean_the_same_feature() -> None:
    assert ANY_VOICE == speech.ANY_VOICE


async def test_the_first_part_is_the_reference_of_the_others() -> None:
    worker = ScriptedWorker([Act()], features=BOTH)
    async with gateway_of(worker) as gateway:
        assert (await speak(gateway, Ear(), TEXT)).finish_reason == "stop"
    first, *others = worker.requests
    assert first.reference_latents is None and len(others) == 2
    for start in others:
        assert start.reference_latents.data == latents_of(SAYS_MUCH)
        assert start.prompt_text is None and start.prompt_latents is None


async def test_where_a_model_takes_no_reference_it_is_what_they_go_on_with() -> None:
    worker = ScriptedWorker([Act()], features=(ANY_VOICE, "prompt"))
    async with gateway_of(worker) as gateway:
        await speak(gateway, Ear(), TEXT)
    for start in worker.requests[1:]:
        assert start.prompt_text == f"{SAYS_MUCH} "
        assert start.prompt_latents.data == latents_of(SAYS_MUCH)
        assert start.reference_latents is None


@pytest.mark.parametrize("features", [("reference", "prompt"), (ANY_VOICE,)])
async def test_a_model_with_a_voice_or_without_ears_is_told_nothing(features: tuple[str, ...]) -> None:
    worker = ScriptedWorker([Act()], features=features)
    async with gateway_of(worker) as gateway:
        await speak(gateway, Ear(), TEXT)
    assert len(worker.requests) == 3
    for start in worker.requests:
        assert start.reference_latents is None and start.prompt_latents is None


async def test_another_worker_goes_on_with_the_same_voice() -> None:
    faulty = ScriptedWorker([Act(), Act(1, "cut")], features=BOTH)
    sound = ScriptedWorker([Act()], features=BOTH)
    async with gateway_of(faulty, sound) as gateway:
        prefer_the_first(gateway)
        assert (await speak(gateway, Ear(), TEXT)).migrations == 1
    assert [start.text for start in sound.requests] == ["Two.", "Three."]
    given = {start.reference_latents.data for start in (faulty.requests[1], *sound.requests)}
    assert given == {latents_of(SAYS_MUCH)}


MODEL = describe_model(features=BOTH)
SHORT, LONG = [bytes(PATCH)] * 5, [b"\1" * PATCH] * 30


@pytest.mark.parametrize(
    ("before", "patches", "taken"),
    [
        (None, SHORT, True),
        (SHORT, LONG, True),
        (LONG, SHORT, False),
        (LONG, LONG * 2, False),
        (SHORT, SHORT, False),
    ],
)
def test_a_longer_part_takes_the_place_of_a_very_short_one(
    before: list[bytes] | None, patches: list[bytes], taken: bool
) -> None:
    known = None if before is None else VoiceSample("Before.", b"".join(before), MODEL.revision)
    found = better_sample(known, "After.", patches, MODEL, NOBODY)
    assert found == VoiceSample("After.", b"".join(patches), MODEL.revision) if taken else found is known


def test_another_model_understands_nothing_of_it() -> None:
    sample = VoiceSample("Before.", b"".join(LONG), "another")
    assert sample.condition(MODEL) == NOBODY
    assert better_sample(sample, "After.", SHORT, MODEL, NOBODY).text == "After."
    assert VoiceSample.from_dict(sample.to_dict()) == sample


@pytest.mark.parametrize(
    "voice",
    [
        Conditioning("ruth"),
        Conditioning("default", Latents(shape=(1, 4, 64), data=bytes(PATCH))),
        Conditioning("default", adapter=AdapterUse(digest="a" * 64, name="anna")),
    ],
)
def test_a_voice_that_is_somebodys_stays_his(voice: Conditioning) -> None:
    assert better_sample(None, "One.", LONG, MODEL, voice) is None


def test_a_reference_has_ten_seconds_at_most() -> None:
    assert len(better_sample(None, "One.", LONG * 5, MODEL, NOBODY).latents) == 62 * PATCH


def test_a_prompt_is_whole_or_none() -> None:
    prompts = describe_model(features=(ANY_VOICE, "prompt"))
    assert better_sample(None, "One.", LONG * 5, prompts, NOBODY) is None
    short = prompts.model_copy(update={"max_prompt_seconds": 4.0})
    assert better_sample(None, "One.", LONG, short, NOBODY) is None


def grown(model: ModelDescription) -> Clip:
    clip = Clip(StreamRequest(text=TEXT, instructions="calm"), SEED, 60.0)
    clip.begin(model)
    for number in range(30):
        clip.commit(bytes([number]) * PATCH, 3840)
    return clip


def test_a_clip_that_was_cut_short_is_no_recording() -> None:
    for reason, known in (("stop", True), ("runaway", False), ("length", False)):
        clip = grown(MODEL)
        clip.end_part(reason)
        assert (clip.sample is not None) is known


def appended(token: str, writer: TokenWriter, clip: Clip) -> str:
    growth = writer.extend(clip)
    return token[: growth.keep] + growth.text


@pytest.mark.parametrize("begun_late", [False, True])
def test_a_resumed_clip_has_the_voice_that_it_began_with(begun_late: bool) -> None:
    clip, tokens = grown(describe_model(features=(*BOTH, INSTRUCTIONS))), ResumeTokens(None, 60.0)
    writer, token = tokens.begin("client"), ""
    if not begun_late:
        token = appended(token, writer, clip)
    clip.end_part("stop")
    for part in (1, 2):
        clip.commit(b"\2" * PATCH, 3840)
        token = appended(token, writer, clip)
        resumed, again = tokens.open(token, "client")
        assert (resumed.part, resumed.sample) == (part, clip.sample)
        assert start_request(resumed, "r", 2) == start_request(clip, "r", 2)
        assert start_request(resumed, "r", 2).instructions == "calm"
        resumed.commit(b"\3" * PATCH, 3840)
        further, _ = tokens.open(appended(token, again, resumed), "client")
        assert start_request(further, "r", 3) == start_request(resumed, "r", 3)
        if part == 1:
            clip.end_part("stop")
