"""A stream whose speech goes wrong is cut and begins the part again, wherever the clip goes on."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from gateway.audio.fade import fade_out
from gateway.requests import StreamRequest
from gateway.service import Gateway
from gateway.sessions.storage.recording_files import read_timeline
from gateway.sessions.witness import witness_clip
from gateway.streams.clip.clip import Clip
from gateway.streams.clip.progress import seed_of_take
from gateway.streams.clip.start import start_request
from gateway.streams.clip.takes import Takes
from gateway.streams.resumption.token import ResumeTokens
from gateway.synthesis.synthesis import Outcome, Synthesis
from gateway.timing.part import PartTimes
from tests.gateway.stages.scripted_worker import PATCH_BYTES, Act, ScriptedWorker, frames_of
from tests.gateway.streams.clip.takes import SENTENCES, counted, take
from tests.gateway.streams.stage import SEED, TEXT, Ear, gateway_of, prefer_the_first
from worker.protocol import FLAWS, WATCHED, StartRequest

RATE = 24_000
PAUSE = bytes(2 * round(0.2 * RATE))
BOOK = " ".join(SENTENCES)
MIDDLE = SENTENCES[1]
FLAWS_OF_MIDDLE = {
    (MIDDLE, SEED): (4, "noisy"),
    (MIDDLE, seed_of_take(SEED, 1, 1)): (2, "long"),
}


class Reader(Ear):
    """Keeps the token as it was with each piece, and what it is told of words."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens: list[tuple[str, int]] = []
        self.parts: list[PartTimes] = []

    def resumable(self, token: str, samples: int, keep: int | None) -> None:
        before = self.tokens[-1][0] if self.tokens else ""
        self.tokens.append((before[:keep] + token, samples))

    def timed(self, part: PartTimes) -> None:
        self.parts.append(part)


def worker_of(*script: Act, **options: object) -> ScriptedWorker:
    return ScriptedWorker([*script] or [Act()], features=(WATCHED,), **options)


def reader_of_book(**options: object) -> ScriptedWorker:
    return worker_of(part_characters=30, flaws=FLAWS_OF_MIDDLE, **options)


def cut(number: int, patches: int, text: str = TEXT, part: int = 0) -> bytes:
    """What is heard of a take, and the silence after it."""
    whole, end = take(number, text, part), patches * PATCH_BYTES
    return whole[:end] + fade_out(whole[end : end + PATCH_BYTES], RATE) + PAUSE


BOOK_HEARD = b"".join(
    (
        take(0, SENTENCES[0]),
        cut(0, 4, MIDDLE, 1),
        cut(1, 2, MIDDLE, 1),
        take(2, MIDDLE, 1),
        take(0, SENTENCES[2]),
    )
)


async def speak(gateway: Gateway, ear: Ear, text: str = TEXT, **fields: object) -> Outcome:
    request = StreamRequest(text=text, seed=SEED, normalize="off", **fields)
    return await Synthesis(gateway, request, "streamed", ear).run()


async def test_a_stream_is_cut_where_it_went_wrong_and_its_part_begins_again() -> None:
    worker = worker_of(flaws={(TEXT, SEED): (4, "noisy")})
    async with gateway_of(worker) as gateway:
        outcome = await speak(gateway, ear := Ear())
        assert counted(gateway, "voxfleet_takes_total", "outcome") == {"cut": 1}
        assert counted(gateway, "voxfleet_worker_flaws_total", "flaw") == {"noisy": 1}
        lines = await gateway.operations.log.read(1, None, "retake")
    assert ear.pcm == cut(0, 4) + take(1)
    assert [start.seed for start in worker.requests] == [SEED, seed_of_take(SEED, 0, 1)]
    assert (outcome.finish_reason, outcome.migrations, outcome.seed) == ("stop", 0, SEED)
    assert outcome.audio_seconds == pytest.approx(len(ear.pcm) / 2 / RATE)
    assert [line.message for line in lines if line.subject == "streamed"] == ["part 1 was noisy and cut"]


async def test_other_parts_are_spoken_once_and_a_part_three_times_at_most() -> None:
    worker = reader_of_book()
    worker.flaws = {**FLAWS_OF_MIDDLE, (MIDDLE, seed_of_take(SEED, 1, 2)): (3, "silent")}
    async with gateway_of(worker) as gateway:
        await speak(gateway, ear := Ear(), BOOK)
    assert ear.pcm == BOOK_HEARD
    assert [start.text for start in worker.requests] == [SENTENCES[n] for n in (0, 1, 1, 1, 2)]


@pytest.mark.parametrize("flaw", FLAWS[1:])
async def test_what_ends_badly_begins_again_unless_a_cut_were_worse(flaw: str) -> None:
    worker = worker_of(Act(flaw=flaw), Act())
    async with gateway_of(worker) as gateway:
        await speak(gateway, ear := Ear())
    again = flaw in ("repeated", "noisy", "short", "silent")
    last = len(take(0)) // PATCH_BYTES - 1
    assert ear.pcm == (cut(0, last) + take(1) if again else take(0))


async def test_of_a_part_that_is_bad_at_once_nothing_is_heard() -> None:
    text = "One sentence.\n\nAnd another paragraph."
    second = text.split("\n\n")[1]
    worker = worker_of(part_characters=30, flaws={(second, SEED): (0, "silent")})
    async with gateway_of(worker) as gateway:
        await speak(gateway, ear := Ear(), text, paragraph_pause=0.5)
    assert ear.pcm == take(0, "One sentence.") + bytes(RATE) + take(1, second, 1)


async def test_a_setting_forbids_it() -> None:
    worker = worker_of(flaws={(TEXT, SEED): (4, "noisy")})
    async with gateway_of(worker, max_retakes=0) as gateway:
        await speak(gateway, ear := Ear())
    assert ear.pcm == take(0)


@pytest.mark.parametrize(("patches", "cut_there"), [(4.5, False), (5.9, False), (6.1, True), (12.0, True)])
def test_what_is_cut_counts_for_the_length_that_was_asked_for(patches: float, cut_there: bool) -> None:
    model = worker_of().described()
    longest = patches * model.patch_seconds
    clip = Clip(StreamRequest(text=TEXT, seed=SEED, max_seconds=longest), SEED, 60.0)
    clip.begin(model)
    takes = Takes(clip, lambda pcm: None, 2, lambda part, flaw, outcome: None)
    frames = frames_of(StartRequest(request_id="r", text=TEXT, seed=SEED))
    for frame in frames[:4]:
        clip.commit(frame.latents, frame.samples)
    flawed = replace(frames[4], flaw="noisy")
    assert takes.cuts(flawed) == cut_there
    if cut_there:
        takes.cut(flawed)
        left = longest - 4 * model.patch_seconds - 0.02
        assert start_request(clip, "r", 1).max_seconds == pytest.approx(left)
        clip.commit(frames[0].latents, frames[0].samples)
        assert start_request(clip, "r", 1).max_seconds == pytest.approx(left)


@asynccontextmanager
async def two_workers(script: list[Act], **options: object) -> AsyncIterator[tuple[Gateway, ScriptedWorker]]:
    """The first one follows a script, the second one does well."""
    faulty, sound = reader_of_book(**options), reader_of_book(**options)
    faulty.script = script
    async with gateway_of(faulty, sound) as gateway:
        prefer_the_first(gateway)
        yield gateway, sound


@pytest.mark.parametrize("patches", [0, 1, 3, 4])
@pytest.mark.parametrize("request_number", [1, 2, 3])
async def test_whoever_goes_on_with_a_clip_makes_the_same_cuts(patches: int, request_number: int) -> None:
    script = [*[Act()] * request_number, Act(patches, "cut")]
    async with two_workers(script) as (gateway, sound):
        await speak(gateway, ear := Ear(), BOOK)
    assert ear.pcm == BOOK_HEARD
    assert sound.requests


async def test_who_goes_on_is_told_of_silence_before() -> None:
    script = [Act(), Act(3, "cut")]
    async with two_workers(script, silent=2) as (gateway, sound):
        await speak(gateway, Ear(), BOOK)
    assert sound.requests[0].resume_silence == (2, 0, 1)
    script = [Act(), Act(2, "cut")]
    async with two_workers(script, silent=2) as (gateway, sound):
        await speak(gateway, Ear(), BOOK)
    assert sound.requests[0].resume_silence == (2, 2, 0)
    assert all(start.resume_silence is None for start in sound.requests[1:])


async def test_every_token_of_a_clip_with_cuts_leads_to_the_same_end() -> None:
    tokens = ResumeTokens(None, 60.0)
    reader = Reader()
    async with gateway_of(reader_of_book(silent=1)) as gateway:
        request = StreamRequest(text=BOOK, seed=SEED, normalize="off", resume=True)
        await Synthesis(gateway, request, "r2", reader, token=tokens.begin("me")).run()
        assert reader.pcm == BOOK_HEARD
        takes = set()
        for token, samples in reader.tokens:
            clip, writer = tokens.open(token, "me")
            takes.add((clip.part, clip.take, clip.was_cut))
            assert clip.samples == samples
            again = Reader()
            await Synthesis(gateway, clip.request, "r2", again, clip=clip, token=writer).run()
            assert again.pcm == BOOK_HEARD[2 * samples :]
    assert takes == {(0, 0, False), (1, 0, False), (1, 1, True), (1, 2, True), (2, 0, False)}


def test_a_client_that_forgets_nothing_has_a_token_too() -> None:
    tokens, clip = ResumeTokens(None, 60.0), Clip(StreamRequest(text=TEXT, seed=SEED), SEED, 60.0)
    clip.begin(model := ScriptedWorker([Act()]).described())
    writer, token = tokens.begin("me"), ""
    latents = bytes(4 * model.patch_size * model.latent_dim)
    for number in range(6):
        if number == 3:
            clip.cut_take(480)
        clip.commit(latents, model.patch_samples)
        token += writer.extend(clip).text
    found, _ = tokens.open(token, "me")
    assert (found.take, found.was_cut, found.patches, len(found.latents)) == (1, True, 3, 3)
    assert found.samples == clip.samples == 6 * model.patch_samples + 480


async def test_times_of_words_are_those_of_the_take_that_says_them() -> None:
    async with gateway_of(reader_of_book(), aligner="off") as gateway:
        request = StreamRequest(text=BOOK, seed=SEED, normalize="off", timestamps="word")
        outcome = await Synthesis(gateway, request, "r2", reader := Reader()).run()
    seconds = [len(heard) / 2 / RATE for heard in (take(0, SENTENCES[0]), BOOK_HEARD)]
    before = seconds[0] + len(cut(0, 4, MIDDLE, 1) + cut(1, 2, MIDDLE, 1)) / 2 / RATE - len(PAUSE) / 2 / RATE
    first, middle, last = reader.parts
    assert first.end_seconds == pytest.approx(seconds[0])
    assert all(word.start_seconds >= before for word in middle.words)
    assert last.end_seconds == pytest.approx(seconds[1]) == pytest.approx(outcome.audio_seconds)
    assert "".join(part.text for part in reader.parts) == BOOK


async def test_a_recording_has_what_was_heard_and_its_words_where_they_were_said(tmp_path: Path) -> None:
    async with gateway_of(reader_of_book(), data_dir=tmp_path / "data", record_sessions="all") as gateway:
        request = StreamRequest(text=BOOK, seed=SEED, normalize="off")
        witness = witness_clip(gateway.recorder, request, "me", ear := Ear())
        await Synthesis(gateway, request, "r2", witness, witness=witness).run()
        await gateway.recorder.settled(witness.session_id)
        timeline = read_timeline(gateway.recorder.folder / witness.session_id)
    (utterance,) = timeline["utterances"]
    assert ear.pcm == BOOK_HEARD and utterance["samples"] == len(BOOK_HEARD) // 2
    first = len(take(0, SENTENCES[0])) // 2
    again = first + len(cut(0, 4, MIDDLE, 1) + cut(1, 2, MIDDLE, 1)) // 2
    last = again + len(take(2, MIDDLE, 1)) // 2
    places = [(part["first_sample"], part["end_sample"]) for part in utterance["parts"]]
    assert places == [(0, first), (again, last), (last, len(BOOK_HEARD) // 2)]
    assert [event["kind"] for event in timeline["events"]] == ["started", "cut", "cut"]


def test_the_end_of_what_breaks_off_makes_no_click() -> None:
    loud = (0.9 * 32767 * np.ones(RATE)).astype("<i2").tobytes()
    faded = np.frombuffer(fade_out(loud, RATE), "<i2").astype(int)
    assert len(faded) == 0.02 * RATE
    assert abs(faded[0] - 0.9 * 32767) < 2 and faded[-1] == 0
    assert np.abs(np.diff(faded)).max() < 0.01 * 32767
    assert fade_out(b"", RATE) == b""


def test_frames_are_enough_for_what_is_tried_here() -> None:
    frames = frames_of(StartRequest(request_id="r", text=MIDDLE, seed=SEED))
    assert len(frames) > 6
