"""Long texts are read in turns, beside the event loop: one client's texts hold up no other's."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from gateway.requests import TtsRequest
from gateway.streams.clip import parts, slices
from gateway.streams.clip.clip import Clip
from gateway.streams.clip.slices import in_slices
from gateway.text import Lexicon
from tests.gateway.stages.fleet import describe_model

LONG = "他有123个苹果,2024年1月5日花了3.5元,"


@pytest.fixture(autouse=True)
def a_slice_is_a_step(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "_SLICE_SECONDS", 0.0)


async def test_texts_take_turns() -> None:
    done: list[str] = []

    def steps(name: str, count: int) -> Iterator[None]:
        for _ in range(count):
            done.append(name)
            yield

    await asyncio.gather(in_slices(steps("a", 4)), in_slices(steps("b", 2)))
    assert "".join(done) == "ababaa"


async def test_a_text_that_nobody_waits_for_is_not_read_on() -> None:
    begun, read = asyncio.Event(), 0
    loop = asyncio.get_running_loop()

    def steps() -> Iterator[None]:
        nonlocal read
        while True:
            read += 1
            loop.call_soon_threadsafe(begun.set)
            yield

    task = asyncio.create_task(in_slices(steps()))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await in_slices(iter([None]))  # behind what was being done
    before = read
    await in_slices(iter([None]))
    assert read == before


async def test_a_long_part_is_read_in_many_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may have thousands of characters, and a figure of them may take milliseconds."""
    clip = Clip(TtsRequest(text=LONG * 100, normalize="on"), seed=1, max_audio_seconds=600)
    clip.begin(describe_model())
    steps = sum(1 for _ in clip.text.steps())
    assert len(clip.text.parts) <= 2 and steps > 100


@pytest.mark.parametrize("lexicon", [{}, {"苹果": "梨"}])
async def test_not_even_a_short_text_is_put_into_words_by_the_event_loop(
    monkeypatch: pytest.MonkeyPatch, lexicon: dict[str, str]
) -> None:
    threads: set[str] = set()
    normalising = parts.normalising

    def noticed(*arguments: object) -> object:
        threads.add(threading.current_thread().name)
        return normalising(*arguments)

    monkeypatch.setattr(parts, "normalising", noticed)
    clip = Clip(TtsRequest(text=LONG, normalize="on"), seed=1, max_audio_seconds=60, tells_words=True)
    await clip.find_words(Lexicon.of(lexicon))
    clip.begin(describe_model())
    await clip.text.prepare()
    assert "一百二十三" in clip.text.spoken and "一百二十三" in clip.text.said.text
    assert ("梨" in clip.text.said.text) == bool(lexicon)
    assert threads == {"reading_0"}
