"""The aligner's process: asked one after the other, bounded, ended, and never in anybody's way."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path

import pytest

from gateway.text import normalise
from gateway.timing import aligner as module
from gateway.timing.aligner import AlignerProcess, AlignmentError, open_aligner
from gateway.timing.alignment import Heard, pieces
from gateway.timing.part import SpokenPart
from gateway.timing.whisper import AlignerMissingError, Whisper, find_model
from tests.gateway.timing.audio import RATE, FakeAligner, noise

CHILD = """
import json, sys
for line in sys.stdin.buffer:
    head = json.loads(line)
    pcm = sys.stdin.buffer.read(head["bytes"])
    if head["language"] == "end":
        sys.exit(3)
    if head["language"] == "hang":
        sys.stdin.buffer.readline()
    said = {"error": "no"} if head["language"] == "no" else {
        "words": [[index, index + 1] for index in range(len(head["pieces"]))], "confidence": len(pcm) / 10}
    print(json.dumps(said), flush=True)
"""


@asynccontextmanager
async def process(**options: float) -> AsyncIterator[AlignerProcess]:
    found = AlignerProcess(Path("unused"), **options)
    found._command = (sys.executable, "-c", CHILD)
    try:
        yield found
    finally:
        await found.close()
        assert found._process is None


async def test_questions_are_answered_in_turn() -> None:
    async with process() as aligner:
        assert not aligner.busy
        asking = asyncio.create_task(aligner.align(b"1", RATE, ["a"], "en"))
        await asyncio.sleep(0)
        assert aligner.busy
        await asking
        assert not aligner.busy
        answers = await asyncio.gather(
            *(aligner.align(bytes(count), RATE, ["a"] * count, "en") for count in (1, 3, 2))
        )
        assert answers[1] == Heard([(0.0, 1.0), (1.0, 2.0), (2.0, 3.0)], 0.3)
        assert [len(heard.words) for heard in answers] == [1, 3, 2]
        with pytest.raises(AlignmentError, match="no"):
            await aligner.align(b"", RATE, ["a"], "no")
        assert await aligner.align(b"12", RATE, ["a"], "en") == Heard([(0.0, 1.0)], 0.2)


async def test_one_that_ends_is_left_alone_for_a_while_and_started_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with process() as aligner:
        with pytest.raises(AlignmentError, match="failed"):
            await aligner.align(b"", RATE, ["a"], "end")
        with pytest.raises(AlignmentError, match="a moment ago"):
            await aligner.align(b"", RATE, ["a"], "en")
        aligner._rests_until = 0.0
        assert await aligner.align(b"", RATE, ["a"], "en")


async def test_one_that_hangs_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_ANSWER_SECONDS", 1.0)
    async with process() as aligner:
        with pytest.raises(AlignmentError, match="failed"):
            await aligner.align(b"", RATE, ["a"], "hang")


async def test_nobody_waits_long_and_only_so_many_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_MOST_WAITING", 2)
    async with process(patience_seconds=0.05) as aligner:
        hanging = asyncio.create_task(aligner.align(b"", RATE, ["a"], "hang"))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        waiting = [asyncio.create_task(aligner.align(b"", RATE, ["a"], "en")) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(AlignmentError, match="too many"):
            await aligner.align(b"", RATE, ["a"], "en")
        for task in (hanging, *waiting):
            with pytest.raises(AlignmentError, match="behind"):
                await task


async def test_whoever_waits_is_told_of_the_end() -> None:
    async with process() as aligner:
        waiting = asyncio.create_task(aligner.align(b"", RATE, ["a"], "hang"))
        queued = asyncio.create_task(aligner.align(b"", RATE, ["a"], "en"))
        await asyncio.sleep(0.1)
        await aligner.close()
        for task in (waiting, queued):
            with pytest.raises(AlignmentError, match="ends"):
                await task


def test_which_one_is_meant(tmp_path: Path) -> None:
    assert open_aligner("off") is None
    with pytest.raises(AlignerMissingError):
        open_aligner(str(tmp_path))
    if find_spec("faster_whisper") is None:
        assert open_aligner("auto") is None


def part(text: str = "Hello there, world.", seconds: float = 1.0, **fields: object) -> SpokenPart:
    given = {
        "spans": [(0.0, seconds)],
        "language": "en",
        "sample_rate": RATE,
        "pcm": noise([(0, seconds)], seconds),
    }
    return SpokenPart(normalise(text), seconds, **{**given, **fields})


async def test_what_was_heard_is_told_and_says_so() -> None:
    aligner = FakeAligner(seconds_each=0.2)
    told = await part().told(aligner, start=10, start_seconds=5.0, speed=2.0)
    assert told.source == "aligned" and aligner.asked == [(RATE, ["Hello", " there,", " world."], "en")]
    assert (told.words[0].start, told.end_seconds) == (10, 5.5)
    assert told.words[0].start_seconds == 5.0 and told.words[-1].end_seconds == pytest.approx(5.5)


@pytest.mark.parametrize(
    ("aligner", "fields"),
    [
        (None, {}),
        (FakeAligner(refusal="it is behind"), {}),
        (FakeAligner(confidence=0.1), {}),
        (FakeAligner(), {"pcm": None}),
        (FakeAligner(), {"text": "…"}),
    ],
)
async def test_otherwise_times_are_estimated(aligner: FakeAligner | None, fields: dict[str, object]) -> None:
    told = await part(**fields).told(aligner, start=0, start_seconds=0.0, speed=1.0)
    assert told.source == "estimated"
    assert len(told.words) == (0 if "text" in fields else 3)
    assert len(told.characters) == len(told.text)


@pytest.mark.skipif(find_spec("faster_whisper") is None, reason="needs the extra align")
def test_whisper_hears_where_words_are() -> None:
    from models.voxcpm.training.speech.flite import Flite

    text = "The lamps were lit, and nobody spoke."
    samples = Flite(None).say(text, "slt")
    spoken = normalise(text)
    heard = Whisper(find_model("auto")).align(samples.astype("<i2").tobytes(), 16_000, pieces(spoken), "en")
    starts = [start for start, _ in heard.words]
    assert heard.confidence > 0.5 and starts == sorted(starts)
    assert 0.5 * len(samples) / 16_000 < starts[-1] < len(samples) / 16_000
    with pytest.raises(ValueError, match="language"):
        Whisper(find_model("auto")).align(b"", 16_000, ["a"], "xx")
