"""The Python API: one object for threads, tasks and plain loops."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from engine.errors import EngineError, RequestError
from models import denoising
from models.pool.member import DeviceState
from models.speech import AudioRole
from models.voxcpm import VoxCPM
from models.voxcpm.engine import VoxCPMEngine
from models.voxcpm.requests.generation import text_ratio_cap
from models.voxcpm.vae.audio_encoding import CACHE_ENTRIES

CHECKPOINT = str(Path(__file__).parent.parent / "parity" / "tiny_v2")


@pytest.fixture(scope="module")
def voice() -> Iterator[VoxCPM]:
    with VoxCPM.from_pretrained(CHECKPOINT, silence_guard=False) as loaded:
        yield loaded


def test_a_seed_repeats_a_clip_and_the_stream_tells_it(voice: VoxCPM) -> None:
    stream = voice.generate("hello world")
    first = np.concatenate(list(stream))
    assert stream.finish_reason == "stop" and first.dtype == np.float32
    again = voice.synthesize("hello world", seed=stream.seed)
    assert again.shape == first.shape and np.abs(again - first).max() <= 1e-4 * np.abs(first).max()


@pytest.mark.parametrize("text", ["", " ", "?! \U0001f642"])
def test_a_text_without_words_is_refused(voice: VoxCPM, text: str) -> None:
    with pytest.raises(RequestError, match="no words") as raised:
        voice.generate(text)
    assert raised.value.param == "text"


@pytest.mark.parametrize("param", ["text", "prompt_text"])
def test_half_a_surrogate_pair_is_refused(voice: VoxCPM, param: str) -> None:
    words = {"text": "hello world", param: "hello \ud83d world"}
    prompt = {} if param == "text" else {"prompt_audio": (np.zeros(1600, np.float32), 16000)}
    with pytest.raises(RequestError, match="lone surrogate") as raised:
        voice.generate(**words, **prompt)
    assert raised.value.param == param


def test_a_stream_that_nobody_iterates_is_cancelled(voice: VoxCPM) -> None:
    stream = voice.generate("hello world again", min_seconds=60.0)
    request_id = stream._stream.request_id
    handed_over = voice._loop._streams[request_id]
    del stream
    gc.collect()
    assert handed_over.cancelled and len(list(handed_over)) < 1000
    assert request_id not in voice._loop._streams


def test_an_engine_ends_once_nobody_holds_it_or_a_stream_of_it() -> None:
    voice = VoxCPM.from_pretrained(CHECKPOINT, silence_guard=False)
    thread, engine = voice._loop._thread, weakref.ref(voice._engine)
    stream = voice.generate("hello world", seed=1)
    del voice
    assert sum(map(len, stream)) and thread.is_alive()
    del stream
    thread.join(60)
    gc.collect()
    assert not thread.is_alive() and engine() is None


async def test_tasks_and_threads_share_one_engine(voice: VoxCPM) -> None:
    alone = {seed: voice.synthesize("hello world again", seed=seed) for seed in range(4)}
    from_threads: dict[int, np.ndarray] = {}

    def in_thread(seed: int) -> None:
        from_threads[seed] = voice.synthesize("hello world again", seed=seed)

    async def in_task(seed: int) -> np.ndarray:
        return np.concatenate([chunk async for chunk in voice.generate("hello world again", seed=seed)])

    threads = [threading.Thread(target=in_thread, args=(seed,)) for seed in (0, 1)]
    for thread in threads:
        thread.start()
    from_tasks = await asyncio.gather(in_task(2), in_task(3))
    for thread in threads:
        thread.join()
    for seed, audio in [*from_threads.items(), *zip((2, 3), from_tasks, strict=True)]:
        assert np.abs(audio - alone[seed]).max() <= 1e-4 * np.abs(alone[seed]).max()


def test_a_short_text_is_as_long_as_it_is_told_to_be(voice: VoxCPM) -> None:
    reasonable = text_ratio_cap(len("hi.")) * voice.info.patch_seconds
    stream = voice.generate("hi", seed=1, min_seconds=2 * reasonable)
    assert sum(map(len, stream)) / voice.sample_rate >= 2 * reasonable
    assert stream.finish_reason in ("stop", "length")


def test_reference_and_prompt_audio_change_the_voice(voice: VoxCPM) -> None:
    tone = (np.sin(np.arange(4000) / 9).astype(np.float32), 16000)
    plain = voice.synthesize("hello", seed=1, max_seconds=0.1, min_seconds=0.1)
    referenced = voice.synthesize("hello", seed=1, max_seconds=0.1, min_seconds=0.1, reference_audio=tone)
    continued = voice.synthesize(
        "hello", seed=1, max_seconds=0.1, min_seconds=0.1, prompt_audio=tone, prompt_text="hum"
    )
    assert not np.allclose(plain, referenced) and not np.allclose(plain, continued)


def test_leaving_the_loop_early_or_cancelling_ends_the_request(voice: VoxCPM) -> None:
    left = voice.generate("hello world again", seed=1, min_seconds=10)
    for _ in left:
        break
    assert left.finish_reason == "cancelled"
    cancelled = voice.generate("hello world again", seed=1, min_seconds=10)
    chunks = iter(cancelled)
    next(chunks)
    cancelled.cancel()
    assert len(list(chunks)) < 1000


def test_bad_input_is_refused_at_the_call(voice: VoxCPM) -> None:
    with pytest.raises(RequestError, match="go together"):
        voice.generate("hello", prompt_text="only words")


def test_a_closed_voice_says_so() -> None:
    voice = VoxCPM.from_pretrained(CHECKPOINT, device="cpu")
    assert voice.devices == [DeviceState("cpu", "serving")]
    voice.close()
    assert voice.devices == [DeviceState("cpu", "lost", "the engine loop is closed")]
    with pytest.raises(EngineError):
        voice.generate("hello")


async def test_a_clip_that_ends_with_its_engine_has_failed_and_was_not_cancelled() -> None:
    with VoxCPM.from_pretrained(CHECKPOINT, device="cpu", silence_guard=False) as voice:
        streams = [voice.generate("hello", min_seconds=60.0) for _ in range(2)]
        chunks, outputs = aiter(streams[0]), streams[1].outputs()
        await anext(chunks), next(outputs)
        voice.close()
        with pytest.raises(EngineError, match="is closed"):
            list(outputs)
        with pytest.raises(EngineError, match="is closed"):
            _ = [chunk async for chunk in chunks]
        assert [stream.finish_reason for stream in streams] == ["error", "error"]


@pytest.fixture(scope="module")
def reader() -> Iterator[VoxCPM]:
    with VoxCPM.from_pretrained(CHECKPOINT, silence_guard=False, part_characters=12) as loaded:
        yield loaded


LONG, PARTS = "Hello world. Good day. Bye now.", ["Hello world.", "Good day.", "Bye now."]


async def test_long_text_is_the_audio_of_its_parts_in_order(reader: VoxCPM) -> None:
    expected = np.concatenate([reader.synthesize(part, seed=5) for part in PARTS])
    stream = reader.generate(LONG, seed=5)
    outputs = list(stream.outputs())
    assert [output.index for output in outputs] == list(range(len(outputs)))
    assert [output.finish_reason for output in outputs[:-1]] == [None] * (len(outputs) - 1)
    assert stream.finish_reason == outputs[-1].finish_reason == "stop"
    chunks = [chunk async for chunk in reader.generate(LONG, seed=5)]
    for audio in (np.concatenate([output.audio for output in outputs]), np.concatenate(chunks)):
        assert audio.shape == expected.shape
        assert np.abs(audio - expected).max() <= 1e-4 * np.abs(expected).max()


def test_the_longest_time_is_that_of_the_whole_text(reader: VoxCPM) -> None:
    first = len(reader.synthesize(PARTS[0], seed=5)) / reader.sample_rate
    longest = first + 2 * reader.info.patch_seconds
    stream = reader.generate(LONG, seed=5, max_seconds=longest)
    seconds = sum(len(chunk) for chunk in stream) / reader.sample_rate
    assert seconds == pytest.approx(longest) and stream.finish_reason == "length"


@pytest.mark.parametrize(
    ("moment", "before"), [("_goes_on", True), ("_goes_on", False), ("_submit_next", False)]
)
def test_cancelling_from_another_thread_between_two_parts_ends_the_clip(
    reader: VoxCPM, monkeypatch: pytest.MonkeyPatch, moment: str, before: bool
) -> None:
    """Before and after the reading thread decides to begin the next part, and once the engine has it."""
    stream = reader.generate(LONG, seed=5)
    first_part = len(list(reader.generate(PARTS[0], seed=5).outputs()))
    reached = getattr(stream, moment)

    def cancelling(*arguments: Any) -> Any:
        if before:
            stream.cancel()
        result = reached(*arguments)
        stream.cancel()
        return result

    monkeypatch.setattr(stream, moment, cancelling)
    assert len(list(stream.outputs())) in (first_part, first_part + 1)  # a step may be under way
    assert stream.finish_reason == "cancelled"


def test_cancelling_a_long_text_starts_no_further_part(reader: VoxCPM) -> None:
    stream = reader.generate(LONG, seed=5)
    outputs = stream.outputs()
    next(outputs)
    stream.cancel()
    first_part = len(list(reader.generate(PARTS[0], seed=5).outputs()))
    assert 1 + len(list(outputs)) <= first_part
    assert stream.finish_reason == "cancelled"


def test_noise_is_taken_out_of_recordings_where_that_is_wanted(
    voice: VoxCPM, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[np.ndarray] = []
    encode = VoxCPMEngine.encode_audio

    def listen(engine: VoxCPMEngine, samples: np.ndarray, rate: int, role: AudioRole) -> np.ndarray:
        heard.append(samples)
        return encode(engine, samples, rate, role)

    monkeypatch.setattr(VoxCPMEngine, "encode_audio", listen)
    noise = 0.1 * np.random.default_rng(0).standard_normal(8000).astype(np.float32)
    for denoise in (False, True, False, True):
        voice.generate("hello", reference_audio=(noise, 16000), denoise=denoise).cancel()
    before, after = (float(np.abs(samples).mean()) for samples in heard)
    assert after < 0.2 * before
    with pytest.raises(RequestError, match="at least 4000 samples per second, reference audio has 3999"):
        voice.generate("hello", reference_audio=(noise, 3999), denoise=True)
    monkeypatch.setattr(denoising, "is_available", lambda: False)
    with pytest.raises(RequestError, match="extra `denoise`") as refused:
        voice.generate("hello", reference_audio=(noise, 16000), denoise=True)
    assert refused.value.param == "denoise"


def test_a_recording_that_was_given_lately_is_not_encoded_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tone = np.sin(np.arange(8000) / 9).astype(np.float32) / 4
    soundfile.write(tmp_path / "tone.wav", tone, 16000, subtype="FLOAT")
    encoded: list[str] = []
    encode = VoxCPMEngine.encode_audio

    def count(engine: VoxCPMEngine, samples: np.ndarray, rate: int, role: AudioRole) -> np.ndarray:
        encoded.append(role)
        return encode(engine, samples, rate, role)

    monkeypatch.setattr(VoxCPMEngine, "encode_audio", count)
    with VoxCPM.from_pretrained(CHECKPOINT, silence_guard=False) as voice:
        clip = {"seed": 1, "max_seconds": 0.12}
        first, again = (
            voice.synthesize("hello", reference_audio=tmp_path / "tone.wav", **clip) for _ in "ab"
        )
        assert encoded == ["reference"] and np.abs(again - first).max() <= 1e-4 * np.abs(first).max()
        voice.synthesize("hello", reference_audio=(tone, 16000), **clip)
        assert encoded == ["reference"], "the same content"
        voice.synthesize("hello", reference_audio=(tone, 8000), **clip)
        voice.synthesize("hello", prompt_audio=(tone, 16000), prompt_text="a tone.", **clip)
        voice.synthesize("hello", reference_audio=(tone / 2, 16000), **clip)
        assert encoded == ["reference", "reference", "prompt", "reference"]
        for number in range(CACHE_ENTRIES):
            voice.generate("hello", reference_audio=(tone[number:], 16000), **clip).cancel()
        before = len(encoded)
        voice.generate("hello", reference_audio=(tone / 2, 16000), **clip).cancel()
        assert len(encoded) == before + 1, "the oldest is forgotten"
