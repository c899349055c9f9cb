"""Text longer than the model speaks in one breath: parts in order, one clip, also when workers fail."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack

import pytest

from gateway.errors import ApiError
from gateway.requests import StreamRequest
from gateway.service import Gateway
from gateway.slots.requirement import Requirement
from gateway.streams.clip.clip import Clip
from gateway.streams.clip.start import start_request
from gateway.streams.resumption.token import ResumeTokens
from gateway.synthesis import patience
from gateway.synthesis.synthesis import Synthesis
from tests.gateway.sessions.recordings import until
from tests.gateway.stages.fleet import ANY, describe_model
from tests.gateway.stages.scripted_worker import Act, ScriptedWorker, frames_of
from tests.gateway.streams.stage import SEED, Ear, gateway_of, pcm_of, prefer_the_first
from tests.gateway.streams.stage import speak as speak_text
from worker.protocol import StartRequest

PARTS = ["One part is short.", "The next one is longer.", "The last."]
TEXT = " ".join(PARTS)
PART_CHARACTERS = 24


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
        start = start_request(clip, "r", 1)
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
        growth = writer.extend(clip)
        token = token[: growth.keep] + growth.text
    restored, _ = tokens.open(token, "client")
    assert (restored.part, restored.part_start, restored.patches, len(restored.latents)) == (1, 2, 3, 1)
    assert (restored.samples, restored.speech_samples) == (clip.samples, clip.speech_samples)
    assert start_request(restored, "r", 1).text == PARTS[1]


PARAGRAPH_PAUSE = bytes(2 * round(0.7 * 24_000))


class Reader(Ear):
    """Keeps a token, and sees how much the gateway keeps."""

    def __init__(self) -> None:
        super().__init__()
        self.synthesis: Synthesis | None = None
        self.token = ""
        self.longest_token = self.most_patches = 0

    def audio(self, pcm: bytes) -> None:
        super().audio(pcm)
        self.most_patches = max(self.most_patches, len(self.synthesis.clip.latents))

    def resumable(self, token: str, samples: int, keep: int | None) -> None:
        self.token = self.token[:keep] + token
        self.longest_token = max(self.longest_token, len(self.token))


async def read_book(gateway: Gateway, reader: Reader, text: str, **known: object) -> str:
    token = known.get("token") or gateway.resume_tokens.begin("")
    reader.synthesis = Synthesis(
        gateway, StreamRequest(text=text, seed=SEED), "r1", reader, token=token, clip=known.get("clip")
    )
    async with asyncio.timeout(60):
        return (await reader.synthesis.run()).finish_reason


@pytest.mark.parametrize("paragraphs", [2, 20])
async def test_a_book_takes_the_memory_of_a_part(paragraphs: int) -> None:
    text = "\n\n".join([TEXT] * paragraphs)
    worker = reading_worker(Act())
    async with gateway_of(worker) as gateway:
        assert await read_book(gateway, reader := Reader(), text) == "stop"
    assert [start.text for start in worker.requests] == PARTS * paragraphs
    assert reader.pcm == PARAGRAPH_PAUSE.join([CLIP] * paragraphs)
    assert reader.most_patches <= max(PATCHES)
    request, sealed_patch = 4 * len(text), 4 * 4 * 4 * 64 // 3 + 200
    assert reader.longest_token < request + 1500 + sealed_patch * (max(PATCHES) + 1)


async def test_a_book_outlives_its_gateway_and_finished_parts_are_not_made_again() -> None:
    text = "\n\n".join([TEXT] * 3)
    first, second = reading_worker(*[Act()] * 4, Act(1, "hang")), reading_worker(Act())
    async with gateway_of(first) as gateway:
        secret, reader = gateway.resume_tokens, Reader()
        task = asyncio.create_task(read_book(gateway, reader, text))
        until_there = CLIP + PARAGRAPH_PAUSE + pcm_of(PARTS[0]) + first_patch_of(1)
        while len(reader.pcm) < len(until_there):
            reader.on_audio.clear()
            await reader.on_audio.wait()
        heard, token = reader.pcm, reader.token
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    clip, writer = secret.open(token, "")
    assert (clip.part, len(clip.latents)) == (4, 1)
    async with gateway_of(second) as gateway:
        rest = Reader()
        assert await read_book(gateway, rest, text, clip=clip, token=writer) == "stop"
        assert [start.text for start in second.requests] == (PARTS * 3)[4:]
    assert heard == until_there
    assert heard + rest.pcm == PARAGRAPH_PAUSE.join([CLIP] * 3)


def first_patch_of(part: int) -> bytes:
    start = StartRequest(request_id="r", text=PARTS[part], seed=SEED)
    return frames_of(start)[0].pcm


async def test_a_listener_that_falls_behind_holds_no_slot() -> None:
    class Slow(Ear):
        is_behind = True
        waits = 0

        async def caught_up(self) -> None:
            self.waits += 1
            assert not gateway.pool.tickets
            assert not any(worker.leases for worker in gateway.pool.workers.values())

    worker = reading_worker(Act())
    async with gateway_of(worker) as gateway:
        ear = Slow()
        assert await speak(gateway, ear) == "stop"
    assert (ear.pcm, ear.waits, ear.starts) == (CLIP, len(PARTS) - 1, ["w0"])


class Behind(Ear):
    """Reads slowly, and other requests come whenever it has no slot."""

    is_behind = True

    def __init__(self, gateway: Gateway) -> None:
        super().__init__()
        self._gateway = gateway
        self.others = ExitStack()
        self.tries = asyncio.Event()

    async def caught_up(self) -> None:
        refused = self._gateway.pool.demand.refused
        self.others.enter_context(self._gateway.pool.admit("other", ANY))

        def come_again(requirement: Requirement) -> None:
            refused(requirement)
            self.tries.set()

        self._gateway.pool.demand.refused = come_again


async def test_a_clip_of_which_a_part_was_heard_is_not_ended_by_a_full_queue(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(patience, "AGAIN_SECONDS", 0.01)
    worker = ScriptedWorker([Act()], slots=1, part_characters=PART_CHARACTERS)
    async with gateway_of(worker, max_queue=0) as gateway:
        ear = Behind(gateway)
        speaking = asyncio.create_task(speak(gateway, ear))
        for _ in PARTS[1:]:
            await until(lambda: ear.tries.is_set() or speaking.done())
            ear.tries.clear()
            ear.others.close()
        assert await speaking == "stop"
    assert ear.pcm == CLIP


async def test_a_full_queue_ends_a_clip_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "AGAIN_SECONDS", 0.01)
    worker = ScriptedWorker([Act()], slots=1, part_characters=PART_CHARACTERS)
    async with gateway_of(worker, max_queue=0, queue_timeout_seconds=0.05) as gateway:
        ear = Behind(gateway)
        with pytest.raises(ApiError) as refused, ear.others:
            await speak(gateway, ear)
    assert refused.value.code == "queue_full"
    assert ear.pcm == pcm_of(PARTS[0])
