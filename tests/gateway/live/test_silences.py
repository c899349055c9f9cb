"""Silences that are appended to a live session between its sentences."""

from __future__ import annotations

import asyncio
from typing import Any

from gateway.live.speech.witness import LiveWitness
from gateway.requests import TtsRequest
from gateway.streams.clip.clip import Clip
from gateway.timing.part import PartTimes
from tests.gateway.live.client import SENTENCES, Client, owed
from tests.gateway.live.stage import RATE, Stage
from tests.gateway.stages.fleet import describe_model
from tests.gateway.stages.scripted_worker import Act, ScriptedWorker
from tests.gateway.streams.stage import gateway_of

FIRST, SECOND, _ = SENTENCES


async def test_silence_stands_between_what_was_appended_before_it_and_behind() -> None:
    async with gateway_of(ScriptedWorker([Act()]), aligner="off") as gateway:
        client = Client(gateway, timestamps="word")
        async with client.running():
            client.session.flush(0.5)
            client.session.append(FIRST)
            client.session.flush(1.25)
            client.session.append(SECOND)
            client.session.flush(0.1)
            client.session.stop()
    silences = [bytes(2 * round(seconds * RATE)) for seconds in (0.5, 1.25, 0.1)]
    assert client.pcm == silences[0] + owed(FIRST) + silences[1] + owed(SECOND) + silences[2]
    second = client.of_type("utterance")[1]
    before = len(silences[0] + owed(FIRST) + silences[1]) // 2
    assert second["first_sample"] == before and second["start"] == len(FIRST)
    assert client.of_type("timestamps")[1]["part"].words[0].start_seconds >= before / RATE
    kinds = [message["type"] for message in client.messages if message["type"].endswith("_done")]
    assert kinds == ["silence_done", "utterance_done", "silence_done", "utterance_done", "silence_done"]


async def test_a_barge_in_ends_a_silence_and_the_session_goes_on() -> None:
    async with gateway_of(ScriptedWorker([Act()]), aligner="off") as gateway:
        client = Client(gateway)
        async with client.running():
            client.session.append(FIRST)
            client.session.flush(600)
            client.session.append(SECOND)
            while len(client.pcm) <= len(owed(FIRST)):
                client.on_audio.clear()
                await client.on_audio.wait()
            spoken = client.session.cancel(len(client.pcm) // 2)
            cut = len(client.pcm)
            client.session.append(SECOND)
            client.session.stop()
            await asyncio.sleep(0)
    assert (spoken.text, spoken.characters, spoken.estimated) == (FIRST, len(FIRST), False)
    assert client.pcm[cut:] == owed(SECOND)
    assert not client.of_type("silence_done")


def test_how_fast_somebody_speaks_is_not_told_by_silence(stage: Stage) -> None:
    """A second sentence, of which half was heard after a long silence, is half said."""
    stage.lease()
    stage.session.append("One two three. ")
    stage.session.flush(60)
    stage.session.append("One two six.")
    stage.session.flush()
    stage.begin()
    stage.speak(15 * 1000)
    stage.finish()
    assert stage.session.timeline.begin_silence() == 60 and stage.session.may_speak
    stage.speak(60 * RATE)
    stage.session.timeline.end_silence()
    stage.begin()
    stage.speak(8 * 1000)
    stage.session.cancel(15 * 1000 + 60 * RATE + 8 * 1000)
    assert stage.last("cancelled")["spoken_text"] == "One two three. One two"


class Recording:
    """Keeps what it is told."""

    session_id = "s1"

    def __init__(self) -> None:
        self.told: list[tuple[Any, ...]] = []

    def utterance(self, text: str, parameters: dict[str, Any]) -> int:
        self.told.append(("utterance", text))
        return sum(kind == "utterance" for kind, *_ in self.told) - 1

    def audio(self, index: int, pcm: bytes, sample_rate: int) -> None:
        self.told.append(("audio", index, len(pcm) // 2, sample_rate))

    def words(self, index: int, part: PartTimes, sample_rate: int, samples_before: int = 0) -> None:
        self.told.append(("words", index, samples_before))

    def spoken(self, index: int, start: int, end: int, first_sample: int, **facts: Any) -> None:
        self.told.append(("spoken", index, first_sample))

    def event(self, kind: str, **facts: Any) -> None:
        self.told.append((kind, facts["sample"]))

    def utterance_done(self, index: int, outcome: str) -> None:
        self.told.append(("done", index))


def test_an_utterance_is_recorded_with_the_silence_before_it() -> None:
    recording = Recording()
    witness = LiveWitness(recording)
    part = PartTimes.wordless("Hi.", 0.5)
    for silence in (100, 0):
        if silence:
            witness.silent(silence - 40, RATE)
            witness.silent(40, RATE)
        witness.began(TtsRequest(text="Hi."), 7)
        witness.audio(bytes(50), RATE)
        witness.begins_again(0, 25)
        witness.ended("stop")
    witness.timed(0, part, RATE)
    assert recording.told == [
        ("utterance", "Hi."), ("audio", 0, 100, RATE), ("audio", 0, 25, RATE),
        ("cut", 125), ("spoken", 0, 125), ("done", 0),
        ("utterance", "Hi."), ("audio", 1, 25, RATE), ("cut", 25), ("spoken", 1, 25), ("done", 1),
        ("words", 0, -100),
    ]  # fmt: skip


def test_an_utterance_is_recorded_with_its_language() -> None:
    told: list[tuple[str | None, bool]] = []

    class Knowing(Recording):
        def spoken(self, *place: int, language: str | None, in_words: bool, **facts: Any) -> None:
            told.append((language, in_words))

        def worker(self, index: int, worker_id: str) -> None:
            pass

    witness = LiveWitness(Knowing())
    request = TtsRequest(text="Um 15:30 Uhr.", language="de", normalize="on")
    clip = Clip(request, 7, 60.0)
    clip.begin(describe_model())
    witness.began(request, 7)
    witness.speaking("w0", clip)
    witness.ended("stop")
    assert told == [("de", False)]


def test_of_hours_of_silence_two_minutes_are_recorded() -> None:
    """An hour of pauses, sent twenty times as fast, had been put together as 3.4 GB at the next word."""
    recording = Recording()
    witness = LiveWitness(recording)
    for _ in range(20):
        witness.silent(20 * RATE, RATE)
    witness.began(TtsRequest(text="Hi."), 7)
    assert recording.told[1:] == [("audio", 0, 120 * RATE, RATE)]
