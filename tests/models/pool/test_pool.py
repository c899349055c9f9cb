"""A pool of two devices says what one says, also where it refuses."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from engine.errors import EngineError
from engine.output_stream import OutputStream
from models.lora.adapter import AdapterError
from models.lora.files import write_adapter
from models.lora.pool import AdapterInfo
from models.pool.device import DeviceProcess
from models.speech import SpeechRequest
from models.voxcpm import VoxCPM
from models.voxcpm.speech_stream import SpeechStream
from tests.models.lora.conftest import CHECKPOINT, LORA, random_adapter

OPTIONS = {"silence_guard": False, "max_adapters": 2, "part_characters": 12}
ENDLESS = {"min_seconds": 60.0}
TEXT = "hello again"


@pytest.fixture(scope="module")
def pool() -> Iterator[VoxCPM]:
    with VoxCPM.from_pretrained(str(CHECKPOINT), devices=["cpu", "cpu"], **OPTIONS) as loaded:
        yield loaded


@pytest.fixture(scope="module")
def one() -> Iterator[VoxCPM]:
    with VoxCPM.from_pretrained(str(CHECKPOINT), device="cpu", **OPTIONS) as loaded:
        yield loaded


@pytest.fixture(autouse=True)
def nothing_stays(pool: VoxCPM) -> Iterator[None]:
    yield
    pool.reset_lora()
    assert running(pool) == [0, 0]


@pytest.fixture(scope="module")
def adapters(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folders = [tmp_path_factory.mktemp("adapter") for _ in range(3)]
    for seed, folder in enumerate(folders):
        write_adapter(folder, random_adapter(seed), LORA)
    return folders


def devices(pool: VoxCPM) -> list[DeviceProcess]:
    return [member.process for member in pool._engine._devices]


def running(pool: VoxCPM) -> list[int]:
    return [device.load[0] for device in devices(pool)]


def stop(stream: SpeechStream) -> None:
    """Cancelled, and ended in its process."""
    handed_over = stream._stream
    stream.cancel()
    assert isinstance(handed_over, OutputStream) and len(list(handed_over)) < 1000


def on_each(pool: VoxCPM, speak: Callable[[], np.ndarray]) -> list[np.ndarray]:
    """What the first device says, and the second one, while the first is busy."""
    first = speak()
    busy = pool.generate(TEXT, **ENDLESS)
    assert running(pool) == [1, 0]
    second = speak()
    stop(busy)
    return [first, second]


TONE = (np.sin(np.arange(4000) / 9).astype(np.float32), 16000)


@pytest.mark.parametrize(
    "asked",
    [
        {"text": TEXT},
        {"text": "Hello world. Good day. Bye now.", "max_seconds": np.float64(0.5)},
        {"text": TEXT, "reference_audio": TONE, "cfg_value": np.float32(1.5), "temperature": 0.7},
        {"text": TEXT, "prompt_audio": (TONE[0].astype(np.float64), 8000), "prompt_text": "hm"},
    ],
)
def test_a_seed_says_the_same_on_every_device_to_the_bit(
    pool: VoxCPM, one: VoxCPM, asked: dict[str, Any]
) -> None:
    expected = one.synthesize(seed=5, **asked)
    for audio in on_each(pool, lambda: pool.synthesize(seed=5, **asked)):
        assert audio.dtype == np.float32 and np.array_equal(audio, expected)


def test_streams_tell_what_those_of_one_device_do(pool: VoxCPM, one: VoxCPM) -> None:
    assert (pool.info, pool.sample_rate) == (one.info, one.sample_rate)
    stream = pool.generate("Hello world. Good day.", seed=5)
    outputs, expected = list(stream.outputs()), list(one.generate("Hello world. Good day.", seed=5).outputs())
    assert [output.index for output in outputs] == [output.index for output in expected]
    assert outputs[-1].finish_reason == stream.finish_reason == expected[-1].finish_reason
    for output, wanted in zip(outputs, expected, strict=True):
        assert np.array_equal(output.latents, wanted.latents)
        assert (output.flaw, output.silent) == (wanted.flaw, wanted.silent)
    outputs[0].audio *= 0.5


async def test_threads_and_tasks_share_all_devices(pool: VoxCPM, one: VoxCPM) -> None:
    alone = {seed: one.synthesize(TEXT, seed=seed) for seed in range(6)}
    found: dict[int, np.ndarray] = {}

    def in_thread(seed: int) -> None:
        found[seed] = pool.synthesize(TEXT, seed=seed)

    async def in_task(seed: int) -> None:
        found[seed] = np.concatenate([chunk async for chunk in pool.generate(TEXT, seed=seed)])

    threads = [threading.Thread(target=in_thread, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    await asyncio.gather(*map(in_task, range(3, 6)))
    for thread in threads:
        thread.join()
    for seed, audio in found.items():
        assert np.abs(audio - alone[seed]).max() <= 1e-4 * np.abs(alone[seed]).max()
    assert len(found) == 6


def test_a_request_goes_to_the_device_with_the_fewest_of_several_the_first(pool: VoxCPM) -> None:
    streams, seen = [], []
    for _ in range(5):
        streams.append(pool.generate(TEXT, **ENDLESS))
        seen.append(running(pool))
    assert seen == [[1, 0], [1, 1], [2, 1], [2, 2], [3, 2]]
    for number in (1, 3):
        stop(streams.pop(number if number == 1 else 2))
    streams.append(pool.generate(TEXT, **ENDLESS))
    assert running(pool) == [3, 1]
    for stream in streams:
        stop(stream)


async def test_a_clip_that_is_left_early_ends_in_its_process(pool: VoxCPM) -> None:
    for stream in [pool.generate(TEXT, **ENDLESS) for _ in range(2)]:
        left = stream._stream
        for _ in stream:
            break
        assert stream.finish_reason == "cancelled" and len(list(left)) < 1000
    stream = pool.generate(TEXT, **ENDLESS)
    left, chunks = stream._stream, aiter(stream)
    await anext(chunks)
    await chunks.aclose()
    assert len(list(left)) < 1000
    never = pool.generate(TEXT, **ENDLESS)
    left = never._stream
    del never
    assert len(list(left)) < 1000


@pytest.mark.parametrize(
    "asked",
    [
        {"text": "?!"},
        {"prompt_text": "only words"},
        {"voice": "nobody"},
        {"lora": "nobody"},
        {"cfg_value": 99.0},
        {"cfg_value": "much"},
        {"seed": -1},
        {"text": "hello \ud83d world"},
        {"text": "hello " * 1000, "max_seconds": float("nan")},
        {"reference_audio": (np.zeros(100, np.int16), 16000)},
        {"reference_audio": (np.full(100, np.nan, np.float32), 16000)},
        {"reference_audio": "/nowhere/at-all.wav"},
    ],
)
def test_what_one_device_refuses_a_pool_refuses_in_the_same_words(
    pool: VoxCPM, one: VoxCPM, asked: dict[str, Any]
) -> None:
    raised = []
    for voice in (one, pool):
        with pytest.raises(Exception, match=r"\w") as refused:
            voice.generate(**{"text": TEXT, **asked})
        raised.append(refused.value)
    assert [type(raised[0]), str(raised[0]), vars(raised[0])] == [
        type(raised[1]), str(raised[1]), vars(raised[1])
    ]  # fmt: skip
    assert running(pool) == [0, 0]


def test_adapters_are_on_all_devices(pool: VoxCPM, one: VoxCPM, adapters: list[Path]) -> None:
    plain = one.synthesize(TEXT, seed=1)
    info = pool.load_lora(adapters[0])
    assert one.load_lora(adapters[0]) == info and pool.list_loras() == [info]
    adapted = one.synthesize(TEXT, seed=1)
    assert not np.array_equal(adapted, plain)
    for audio in on_each(pool, lambda: pool.synthesize(TEXT, seed=1)):
        assert np.array_equal(audio, adapted)
    pool.set_lora_enabled(False)
    assert not pool.list_loras()[0].enabled
    for audio in on_each(pool, lambda: pool.synthesize(TEXT, seed=1)):
        assert np.array_equal(audio, plain)
    pool.set_lora_enabled(True, "default")
    assert pool.unload_lora() and not pool.unload_lora()
    for audio in on_each(pool, lambda: pool.synthesize(TEXT, seed=1)):
        assert np.array_equal(audio, plain)


def test_what_fails_for_all_adapters_fails_in_the_same_words(
    pool: VoxCPM, one: VoxCPM, adapters: list[Path], tmp_path: Path
) -> None:
    for voice in (one, pool):
        voice.reset_lora()
        for name in ("anna", "ben"):
            voice.load_lora(adapters[0], name)
    before = pool.list_loras()
    for change in (
        lambda voice: voice.load_lora(tmp_path),
        lambda voice: voice.load_lora(adapters[1], "carl"),
        lambda voice: voice.set_lora_enabled(True, "carl"),
    ):
        raised = []
        for voice in (one, pool):
            with pytest.raises(ValueError, match=r"\w") as refused:
                change(voice)
            raised.append((type(refused.value), str(refused.value)))
        assert raised[0] == raised[1]
    assert pool.list_loras() == before == listed(devices(pool)[0]) == listed(devices(pool)[1])


def listed(device: DeviceProcess) -> list[AdapterInfo]:
    """The adapters that a process has; asked by a change of nothing."""
    found = device.call("change", change="remove", name="no such").result()["listed"]
    device.call("settle", undo=False).result()
    return [AdapterInfo(**info) for info in found]


def test_what_fails_on_one_device_is_undone_on_the_others(pool: VoxCPM, adapters: list[Path]) -> None:
    first, second = devices(pool)
    anna = pool.load_lora(adapters[0], "anna")
    more = {"change": "load", "name": "more", "directory": str(adapters[1]), "key": -1}
    second.call("change", **more).result()  # so it has room for no other one
    second.call("settle", undo=False).result()
    with pytest.raises(AdapterError, match="the limit is 2"):
        pool.load_lora(adapters[2], "ben")
    assert pool.list_loras() == [anna] == listed(first)
    assert [info.name for info in listed(second)] == ["anna", "more"]
    with pytest.raises(Exception, match="is unknown"):
        pool.set_lora_enabled(False, "more")
    assert listed(second)[1].enabled
    plain = pool.synthesize(TEXT, seed=1, lora="anna")
    pool.load_lora(adapters[2], "anna")
    assert not np.array_equal(pool.synthesize(TEXT, seed=1, lora="anna"), plain)


def test_all_parts_of_a_text_keep_the_adapter_it_began_with(pool: VoxCPM, adapters: list[Path]) -> None:
    text, clip = "Hello world. Good day. Bye now.", {"seed": 1, "max_seconds": 0.5}
    pool.load_lora(adapters[0])
    expected = pool.synthesize(text, **clip)
    changes = (
        pool.unload_lora,
        lambda: pool.set_lora_enabled(False),
        pool.reset_lora,
        lambda: pool.load_lora(adapters[1]),
    )
    for change in changes:
        pool.load_lora(adapters[0])
        outputs = pool.generate(text, **clip).outputs()
        first = next(outputs).audio
        change()
        assert np.array_equal(np.concatenate([first, *(output.audio for output in outputs)]), expected)


def test_a_recording_too_large_to_be_sent_is_refused(pool: VoxCPM, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("models.pool.device.MOST_BYTES", 10_000)
    with pytest.raises(ValueError, match="more than the 10000 bytes"):
        pool.generate(TEXT, reference_audio=(TONE[0][1:], 16000))


def test_no_request_is_paused(pool: VoxCPM) -> None:
    stream = pool._engine.submit(SpeechRequest("r", TEXT, 1, min_seconds=60.0))
    with pytest.raises(EngineError, match="no pause"):
        stream.pause()
    stream.cancel()
    assert len(list(stream)) < 1000
