"""Words of a recorded session as files: told while it was spoken, or heard in its audio afterwards."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path

from gateway.service import Gateway
from gateway.sessions.storage.files import remove_folder, utterance_file
from gateway.sessions.storage.recording_files import read_timeline
from gateway.sessions.words import session_words
from gateway.timing.alignment import Heard
from gateway.timing.files import FORMATS
from gateway.timing.part import PartTimes
from gateway.timing.words import Timed, Times
from tests.gateway.sessions.recordings import RATE, folder_of, open_session, recording_gateway, row_of
from tests.gateway.timing.audio import FakeAligner, noise

TEXTS = ("One two three. ", "Four five.")
SPANS = ([(0.3, 1.3)], [(0.2, 0.8)])
SECONDS = 1.5


async def record(gateway: Gateway, told: bool = False) -> Path:
    recording = open_session(gateway)
    for index, (text, spans) in enumerate(zip(TEXTS, SPANS, strict=True)):
        recording.utterance(text, {})
        recording.audio(index, noise(spans, SECONDS, RATE), RATE)
        recording.spoken(index, 0, len(text), 0)
        if told:
            words = (Timed(0, 3, 0.31, 0.5),)
            recording.words(index, PartTimes(text, 0, SECONDS, Times("aligned", words), ()), RATE)
    recording.finish("stop")
    await row_of(gateway, recording)
    return folder_of(gateway, recording)


async def test_without_an_aligner_the_pauses_of_the_audio_tell(tmp_path: Path) -> None:
    async with recording_gateway(tmp_path) as gateway:
        found = await session_words(await record(gateway), None)
    assert found.source == "estimated" and found.text == "".join(TEXTS)
    written = [found.text[word.start : word.end] for word in found.words]
    assert written == ["One", "two", "three.", "Four", "five."]
    assert [round(found.words[index].start_seconds, 2) for index in (0, 3)] == [0.3, SECONDS + 0.2]
    assert [round(found.words[index].end_seconds, 2) for index in (2, 4)] == [1.3, SECONDS + 0.8]
    assert [cue.text for cue in found.cues()] == ["One two three.", "Four five."]


async def test_the_timeline_knows_of_the_pauses_too(tmp_path: Path) -> None:
    async with recording_gateway(tmp_path) as gateway:
        timeline = read_timeline(await record(gateway))
    first, second = (
        [word["first_sample"] / RATE for word in each["words"]] for each in timeline["utterances"]
    )
    assert (round(first[0], 2), round(second[0], 2)) == (0.3, 0.2)


async def test_words_without_their_audio_are_still_words(tmp_path: Path) -> None:
    async with recording_gateway(tmp_path) as gateway:
        folder = await record(gateway)
        utterance_file(folder, 1).unlink()
        found = await session_words(folder, FakeAligner(seconds_each=0.3))
    assert found.source == "mixed" and len(found.words) == 5


async def test_an_aligner_listens_once(tmp_path: Path) -> None:
    aligner = FakeAligner(seconds_each=0.3)
    async with recording_gateway(tmp_path) as gateway:
        folder = await record(gateway)
        first = await session_words(folder, aligner)
        again = await session_words(folder, aligner)
    assert first.source == again.source == "aligned" and len(aligner.asked) == 2
    assert again.words == first.words


async def test_an_aligner_is_told_the_language_of_a_part(tmp_path: Path) -> None:
    aligner = FakeAligner(seconds_each=0.3)
    async with recording_gateway(tmp_path) as gateway:
        recording = open_session(gateway)
        recording.utterance("Um drei.", {})
        recording.audio(0, noise(SPANS[0], SECONDS, RATE), RATE)
        recording.spoken(0, 0, 8, 0, language="de-AT")
        recording.finish("stop")
        await row_of(gateway, recording)
        await session_words(folder_of(gateway, recording), aligner)
    assert [language for _, _, language in aligner.asked] == ["de"]


async def test_one_that_refuses_leaves_estimates(tmp_path: Path) -> None:
    async with recording_gateway(tmp_path) as gateway:
        found = await session_words(await record(gateway), FakeAligner(refusal="busy"))
    assert found.source == "estimated"


async def test_what_was_told_is_not_heard_again(tmp_path: Path) -> None:
    aligner = FakeAligner()
    async with recording_gateway(tmp_path) as gateway:
        found = await session_words(await record(gateway, told=True), aligner)
    assert not aligner.asked and found.source == "aligned"
    assert [round(word.start_seconds, 2) for word in found.words] == [0.31, SECONDS + 0.31]


async def test_every_format_has_the_words(tmp_path: Path) -> None:
    async with recording_gateway(tmp_path) as gateway:
        found = await session_words(await record(gateway), None)
    files = {name: "".join(write(found)) for name, (_, write) in FORMATS.items()}
    assert files["srt"].startswith("1\n00:00:00,300 --> 00:00:01,300\nOne two three.\n")
    assert files["vtt"].startswith("WEBVTT\n\n00:00:00.300 --> 00:00:01.300\nOne two three.\n")
    told = json.loads(files["json"])
    assert (told["source"], told["words"][3]["text"], told["cues"][1]["start"]) == ("estimated", "Four", 15)


class Selective(FakeAligner):
    """Hears a part with one of its words, and refuses others."""

    def __init__(self, word: str) -> None:
        super().__init__(seconds_each=0.3)
        self._word = word

    async def align(self, pcm: bytes, sample_rate: int, pieces: Sequence[str], language: str) -> Heard:
        self.refusal = "" if any(self._word in piece for piece in pieces) else "busy"
        return await super().align(pcm, sample_rate, pieces, language)


async def test_what_two_hear_at_once_is_kept_of_both(tmp_path: Path) -> None:
    first, second, third = Selective("two"), Selective("Four"), FakeAligner()
    first.may_answer.clear()
    async with recording_gateway(tmp_path) as gateway:
        folder = await record(gateway)
        slow = asyncio.create_task(session_words(folder, first))
        await first.was_asked(1)
        assert (await session_words(folder, second)).source == "mixed"
        first.may_answer.set()
        assert (await slow).source == "aligned"
        assert (await session_words(folder, third)).source == "aligned"
    assert not third.asked


async def test_words_of_a_session_that_is_deleted_meanwhile_bring_no_file_back(tmp_path: Path) -> None:
    aligner = FakeAligner(seconds_each=0.3)
    aligner.may_answer.clear()
    async with recording_gateway(tmp_path) as gateway:
        folder = await record(gateway)
        asked = asyncio.create_task(session_words(folder, aligner))
        await aligner.was_asked(1)
        remove_folder(folder)
        aligner.may_answer.set()
        assert len((await asked).words) == 5
        assert not folder.exists()
