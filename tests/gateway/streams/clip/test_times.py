"""Times of words that follow the audio of each part, whatever happens to workers, speed and the aligner."""

from __future__ import annotations

import asyncio
from itertools import pairwise

import pytest

from gateway.errors import ApiError
from gateway.requests import ClipRequest
from gateway.service import Gateway
from gateway.streams.clip.parts import WORDS_ONLY
from gateway.streams.clip.times import InOrder
from gateway.synthesis.synthesis import Outcome, Synthesis
from gateway.timing.part import PartTimes
from tests.gateway.stages.fleet import describe_model
from tests.gateway.stages.scripted_worker import Act, ScriptedWorker
from tests.gateway.streams.stage import Ear, gateway_of
from tests.gateway.timing.audio import FakeAligner

TEXT = "It costs $5.20 today.  Nobody knows why.\n\nAnd the third sentence ends it all."
SSML = "<speak>Wait.<break time='2s'/><sub alias='W three C'>W3C</sub> goes on.</speak>"


class TimedEar(Ear):
    """Notes how much audio had come when it was told of a part."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[PartTimes] = []
        self.heard_before: list[float] = []

    def timed(self, part: PartTimes) -> None:
        self.parts.append(part)
        self.heard_before.append(len(self.pcm) / 2 / 24_000)


async def speak(gateway: Gateway, ear: TimedEar, text: str = TEXT, **fields: object) -> Outcome:
    body = {"text": text, "seed": 3, "timestamps": "word", **fields}
    return await Synthesis(gateway, ClipRequest.model_validate(body), "r1", ear).run()


def check(parts: list[PartTimes], text: str, seconds: float) -> None:
    assert "".join(part.text for part in parts) == text
    words = [word for part in parts for word in part.words]
    assert [text[word.start : word.end] for word in words] == text.split()
    assert all(a.end_seconds <= b.start_seconds + 1e-9 for a, b in pairwise(words))
    assert all(word.start_seconds <= word.end_seconds for word in words)
    assert words[-1].end_seconds <= seconds + 1e-6
    characters = [each for part in parts for each in part.characters]
    assert [(each.start, each.end) for each in characters] == [(at, at + 1) for at in range(len(text))]


def worker(*script: Act) -> ScriptedWorker:
    return ScriptedWorker([*script] or [Act()], part_characters=44, features=(WORDS_ONLY,))


@pytest.mark.parametrize("speed", [1.0, 1.6])
async def test_times_of_each_part_follow_its_audio(speed: float) -> None:
    async with gateway_of(worker(), aligner="off") as gateway:
        outcome = await speak(gateway, ear := TimedEar(), speed=speed)
    assert len(ear.parts) > 1 and {part.source for part in ear.parts} == {"estimated"}
    check(ear.parts, TEXT, outcome.audio_seconds)
    for part, heard in zip(ear.parts, ear.heard_before, strict=True):
        assert part.end_seconds <= heard + 0.3  # what the change of speed holds back


async def test_a_worker_that_dies_costs_no_word() -> None:
    script = [Act(2, "close"), Act()]
    async with gateway_of(worker(*script), worker(*script), aligner="off") as gateway:
        outcome = await speak(gateway, ear := TimedEar())
    assert outcome.migrations
    check(ear.parts, TEXT, outcome.audio_seconds)


async def test_an_aligner_is_asked_for_each_part_and_delays_no_audio() -> None:
    async with gateway_of(worker(), aligner="off") as gateway:
        gateway.aligner = aligner = FakeAligner(seconds_each=0.05)
        aligner.may_answer.clear()
        speaking = asyncio.create_task(speak(gateway, ear := TimedEar()))
        await aligner.was_asked(3)
        assert not ear.parts and ear.pcm and not speaking.done()
        aligner.may_answer.set()
        outcome = await speaking
    assert {part.source for part in ear.parts} == {"aligned"}
    assert gateway.metrics.timed_parts.labels("aligned")._value.get() == len(ear.parts)
    check(ear.parts, TEXT, outcome.audio_seconds)
    assert " five" in aligner.asked[0][1]


async def test_an_aligner_hears_figures_in_the_language_of_their_part() -> None:
    speaker = ScriptedWorker([Act()])
    languages = {"languages": ("en", "de")}
    speaker.described = lambda: describe_model("alpha").model_copy(update=languages)
    async with gateway_of(speaker, aligner="off") as gateway:
        gateway.aligner = aligner = FakeAligner()
        await speak(gateway, TimedEar(), "Der Zug nach Hamburg fährt um 15:30 Uhr vom Gleis 7 ab.")
    _, pieces, language = aligner.asked[0]
    assert (language, "15:30" in "".join(pieces), "fifteen" in "".join(pieces)) == ("de", True, False)


async def test_pauses_and_substitutions_of_a_document() -> None:
    async with gateway_of(worker(), aligner="off") as gateway:
        gateway.aligner = aligner = FakeAligner()
        await speak(gateway, ear := TimedEar(), SSML, input_type="ssml")
    words = [(part.written(word), word) for part in ear.parts for word in part.words]
    assert [text for text, _ in words] == ["Wait.", "W3C", "goes", "on."]
    assert words[1][1].start_seconds - words[0][1].end_seconds > 1.9
    assert aligner.asked[1][1][:3] == ["W", " three", " C"]


async def test_who_asks_for_none_is_told_none() -> None:
    async with gateway_of(worker(), aligner="off") as gateway:
        await speak(gateway, ear := TimedEar(), timestamps="none")
    assert ear.pcm and not ear.parts


async def test_what_a_client_does_not_take_ends_its_request() -> None:
    class Full(TimedEar):
        def timed(self, part: PartTimes) -> None:
            raise ApiError(408, "slow_client", "the audio was not read fast enough")

    async with gateway_of(worker(), aligner="off") as gateway:
        with pytest.raises(ApiError, match="fast enough"):
            await speak(gateway, Full())


async def test_parts_are_told_in_their_order_and_what_is_dropped_is_not() -> None:
    gates = [asyncio.Event() for _ in range(3)]
    told: list[str] = []

    async def find(index: int) -> PartTimes:
        await gates[index].wait()
        if index == 1:
            raise ValueError("broken")
        return PartTimes.wordless(str(index), 0.0)

    order = InOrder()
    for index in range(3):
        order.add(find(index), lambda part: told.append(part.text))
    for index in (2, 1, 0):
        assert not told
        gates[index].set()
        await asyncio.sleep(0.01)
    await order.all_told()
    assert told == ["0", "2"]
    gates[0].clear()
    order.add(find(0), lambda part: told.append(part.text))
    order.drop()
    gates[0].set()
    await order.all_told()
    await asyncio.sleep(0)
    assert told == ["0", "2"]
