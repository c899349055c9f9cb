"""Text longer than the model speaks in one breath: parts in order, one clip, also when workers fail."""

from __future__ import annotations

import pytest

from gateway.requests import StreamRequest
from gateway.service import Gateway
from gateway.streams.clip import Clip
from gateway.streams.resume_token import ResumeTokens
from tests.gateway.fleet import describe_model
from tests.gateway.scripted_worker import Act, ScriptedWorker, frames_of
from tests.gateway.streams.test_relay import SEED, Ear, gateway_of, prefer_the_first
from tests.gateway.streams.test_relay import speak as speak_text
from worker.protocol import StartRequest

PARTS = ["One part is short.", "The next one is longer.", "The last."]
TEXT = " ".join(PARTS)
PART_CHARACTERS = 24


def pcm_of(text: str) -> bytes:
    return b"".join(frame.pcm for frame in frames_of(StartRequest(request_id="r", text=text, seed=SEED)))


CLIP = b"".join(pcm_of(part) for part in PARTS)
PATCHES = [len(frames_of(StartRequest(request_id="r", text=part, seed=SEED))) for part in PARTS]


def reading_worker(*script: Act) -> ScriptedWorker:
    return ScriptedWorker(list(script), part_characters=PART_CHARACTERS)


async def speak(gateway: Gateway, ear: Ear) -> str:
    return (await speak_text(gateway, ear, TEXT)).finish_reason


async def test_parts_are_spoken_one_after_the_other_on_one_lease() -> None:
    worker = reading_worker(Act())
    async with gateway_of(worker) as gateway:
        ear = Ear()
        assert await speak(gateway, ear) == "stop"
    assert [start.text for start in worker.requests] == PARTS
    assert {start.attempt for start in worker.requests} == {1}
    assert len({start.request_id for start in worker.requests}) == 3
    assert ear.pcm == CLIP and ear.starts == ["w0"]


@pytest.mark.parametrize("part", range(len(PARTS)))
async def test_a_break_in_any_part_goes_on_in_that_part(part: int) -> None:
    faulty = reading_worker(*[Act()] * part, Act(1, "cut"))
    sound = reading_worker(Act())
    async with gateway_of(faulty, sound) as gateway:
        prefer_the_first(gateway)
        ear = Ear()
        assert await speak(gateway, ear) == "stop"
    assert ear.pcm == CLIP
    assert [start.text for start in sound.requests] == PARTS[part:]
    resumed = sound.requests[0].resume_latents
    assert resumed is not None and resumed.shape[0] == 1


async def test_a_model_that_speaks_anything_at_once_gets_the_text_whole() -> None:
    worker = ScriptedWorker([Act()])
    async with gateway_of(worker) as gateway:
        await speak(gateway, Ear())
    assert [start.text for start in worker.requests] == [TEXT]


def test_the_bounds_of_the_length_are_those_of_the_clip() -> None:
    model = describe_model(part_characters=PART_CHARACTERS)
    seconds = model.patch_seconds
    clip = Clip(StreamRequest(text=TEXT, min_seconds=4 * seconds, max_seconds=10 * seconds), SEED, 60.0)
    clip.begin(model)
    bounds = []
    while clip.finish_reason is None:
        start = clip.start_request("r", 1)
        bounds.append((start.min_seconds, start.max_seconds))
        for _ in range(3):
            clip.commit(b"", model.patch_samples)
        clip.end_part("stop")
    assert bounds == [
        (None, pytest.approx(10 * seconds)),
        (None, pytest.approx(7 * seconds)),
        (0.0, pytest.approx(4 * seconds)),
    ]


def test_a_part_that_uses_up_the_time_is_the_last() -> None:
    model = describe_model(part_characters=PART_CHARACTERS)
    clip = Clip(StreamRequest(text=TEXT, max_seconds=2.5 * model.patch_seconds), SEED, 60.0)
    clip.begin(model)
    for _ in range(2):
        clip.commit(b"", model.patch_samples)
    clip.end_part("length")
    assert (clip.part, clip.finish_reason) == (0, "length")


def test_a_resume_token_remembers_the_part() -> None:
    model = describe_model(part_characters=PART_CHARACTERS)
    clip = Clip(StreamRequest(text=TEXT), SEED, 60.0)
    clip.begin(model)
    tokens = ResumeTokens(None, 60.0)
    writer = tokens.begin("client")
    latents = bytes(4 * model.patch_size * model.latent_dim)
    token = ""
    for ends in (False, True, False):
        clip.commit(latents, model.patch_samples)
        if ends:
            clip.end_part("stop")
        token += writer.extend(clip)
    restored, _ = tokens.open(token, "client")
    assert (restored.part, restored.part_start, len(restored.latents)) == (1, 2, 3)
    assert restored.start_request("r", 1).text == PARTS[1]
