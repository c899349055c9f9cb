"""A clip is read by an iteration, or patch by patch, by one reader at a time."""

from __future__ import annotations

import asyncio
import copy
import pickle
import threading
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from engine.errors import EngineError
from engine.output_stream import OutputStream, wake_or_cancel
from models.speech import SpeechOutput
from models.voxcpm import VoxCPM
from models.voxcpm.speech_stream import SpeechStream

CHECKPOINT = str(Path(__file__).parent.parent / "parity" / "tiny_v2")
TEXT = "Hello world. Good day."


@pytest.fixture(scope="module")
def voice() -> Iterator[VoxCPM]:
    with VoxCPM.from_pretrained(CHECKPOINT, silence_guard=False, part_characters=12) as loaded:
        yield loaded


def same(audio: np.ndarray, expected: np.ndarray) -> bool:
    return audio.shape == expected.shape and np.abs(audio - expected).max() <= 1e-4 * np.abs(expected).max()


async def test_patches_are_taken_one_by_one_and_the_rest_by_an_iteration(voice: VoxCPM) -> None:
    expected = voice.synthesize(TEXT, seed=1)
    stream = voice.generate(TEXT, seed=1)
    chunks = [next(stream), await anext(stream), *stream]
    assert same(np.concatenate(chunks), expected) and stream.finish_reason == "stop"
    one_by_one = voice.generate(TEXT, seed=1)
    chunks = []
    while (chunk := next(one_by_one, None)) is not None:
        chunks.append(chunk)
    assert same(np.concatenate(chunks), expected) and one_by_one.finish_reason == "stop"
    with pytest.raises(StopIteration):
        next(one_by_one)
    with pytest.raises(StopAsyncIteration):
        await anext(one_by_one)


def test_a_voice_and_its_clips_are_no_other_process_s(voice: VoxCPM) -> None:
    """As `pool.map(voice.synthesize, texts)` would have it, which pickles the voice."""
    stream = voice.generate(TEXT, seed=1)
    for call in (voice.synthesize, stream.outputs):
        for send in (pickle.dumps, copy.deepcopy):
            with pytest.raises(TypeError, match="each process loads a model of its own"):
                send(call)
    with pytest.raises(TypeError, match="SpeechStream objects are not copied"):
        copy.copy(stream)
    assert len(list(stream)) and stream.finish_reason == "stop"


class Silent(OutputStream):
    """Never has anything to read; tells of who waits in a thread."""

    def __init__(self) -> None:
        super().__init__("silent", lambda stream, _: wake_or_cancel(stream.end()))
        self.waits = threading.Event()

    def _ready(self) -> bool:
        self.waits.set()
        return super()._ready()


@pytest.fixture
def silent(voice: VoxCPM, monkeypatch: pytest.MonkeyPatch) -> SpeechStream:
    monkeypatch.setattr(voice._loop, "submit", lambda _: Silent())
    return voice.generate("Hello.")


async def test_a_second_reader_is_told_so_and_the_first_notices_nothing(silent: SpeechStream) -> None:
    waiting = asyncio.create_task(anext(silent))
    await asyncio.sleep(0)
    for second in (anext(silent), anext(aiter(silent))):
        with pytest.raises(EngineError, match="one reader at a time"):
            await second
    for read in (lambda: next(silent), lambda: list(silent), lambda: list(silent.outputs())):
        with pytest.raises(EngineError, match="one reader at a time"):
            read()
    assert silent.finish_reason is None and not silent._stream.cancelled and not waiting.done()
    silent.cancel()
    with pytest.raises(StopAsyncIteration):
        await waiting


async def test_a_thread_that_reads_is_the_one_reader_until_it_ends(silent: SpeechStream) -> None:
    thread = threading.Thread(target=lambda: list(silent))
    thread.start()
    await asyncio.to_thread(silent._stream.waits.wait)
    with pytest.raises(EngineError, match="one reader at a time"):
        await anext(silent)
    silent.cancel()
    await asyncio.to_thread(thread.join)
    assert list(silent) == [] and silent.finish_reason == "cancelled"


async def test_who_comes_after_a_reader_that_was_cancelled_hears_the_rest(silent: SpeechStream) -> None:
    stream = silent._stream
    reading = asyncio.create_task(anext(silent))
    await asyncio.sleep(0)
    reading.cancel()
    await asyncio.wait([reading])
    assert reading.cancelled() and stream.cancelled
    stream.put(SpeechOutput("silent", 0, np.ones(3, np.float32), np.zeros((1, 1), np.float32)))
    assert [len(chunk) for chunk in silent] == [3] and silent.finish_reason == "cancelled"
