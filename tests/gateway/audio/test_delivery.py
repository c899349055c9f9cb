"""Samples that are marked beside the event loop keep their order, and end with their clip."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from gateway.audio.delivery import Delivery
from gateway.audio.output import Output

RATE = 24000
PATCHES = [np.full(1920, number, "<i2").tobytes() for number in range(40)]
PATIENCE_SECONDS = 30


class HeldOutput(Output):
    """Works only while it may."""

    def __init__(self) -> None:
        super().__init__(RATE, RATE)
        self.began, self.may_end = threading.Event(), threading.Event()
        self.sizes: list[int] = []

    def process(self, pcm: bytes, last: bool = False, speed: float | None = None) -> bytes:
        self.sizes.append(len(pcm) // 2)
        self.began.set()
        assert self.may_end.wait(PATIENCE_SECONDS)
        return super().process(pcm, last, speed)


@pytest.fixture
def executor() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as made:
        yield made


async def until_begun(output: HeldOutput) -> None:
    assert await asyncio.to_thread(output.began.wait, PATIENCE_SECONDS)


async def test_a_clip_beside_the_loop_is_the_clip(any_network: None, executor: ThreadPoolExecutor) -> None:
    heard: dict[bool, bytes] = {False: b"", True: b""}
    for beside in heard:

        def give(pcm: bytes, beside: bool = beside) -> None:
            heard[beside] += pcm

        output = Output(RATE, 16000, watermark=True)
        delivery = Delivery(output, give, RATE, executor if beside else None)
        for patch in PATCHES:
            delivery.take(patch)
        delivery.take(b"", last=True)
        await delivery.drained()
        assert delivery.samples_behind == 0
    assert heard[True] == heard[False]
    assert len(heard[True]) == 2 * 1920 * len(PATCHES) * 16000 // RATE


async def test_the_loop_is_free_and_what_waits_is_counted(executor: ThreadPoolExecutor) -> None:
    output, heard = HeldOutput(), []
    delivery = Delivery(output, heard.append, RATE, executor)
    for patch in PATCHES:
        delivery.take(patch)
    await until_begun(output)
    assert not heard and delivery.samples_behind == 1920 * len(PATCHES)
    assert delivery.is_behind
    output.may_end.set()
    await asyncio.wait_for(delivery.drained(), PATIENCE_SECONDS)
    assert not delivery.is_behind
    assert b"".join(heard) == b"".join(PATCHES)
    assert max(output.sizes) < RATE, "others have their turn meanwhile"


async def test_a_dropped_clip_gives_nothing_more(executor: ThreadPoolExecutor) -> None:
    output, heard = HeldOutput(), []
    delivery = Delivery(output, heard.append, RATE, executor)
    delivery.take(PATCHES[1])
    delivery.take(PATCHES[2])
    await until_begun(output)
    waiting = asyncio.ensure_future(delivery.drained())
    await asyncio.sleep(0)
    delivery.drop()
    await asyncio.wait_for(waiting, PATIENCE_SECONDS)
    output.may_end.set()
    await asyncio.to_thread(executor.shutdown)
    await asyncio.sleep(0)
    assert not heard and output.sizes == [1920]


@pytest.mark.parametrize("beside", [False, True])
async def test_what_a_listener_raises_ends_the_clip(executor: ThreadPoolExecutor, beside: bool) -> None:
    def refuse(pcm: bytes) -> None:
        raise ConnectionError("gone")

    delivery = Delivery(Output(RATE, RATE), refuse, RATE, executor if beside else None)
    with pytest.raises(ConnectionError, match="gone"):
        delivery.take(PATCHES[1])
        await delivery.drained()
    if beside:
        with pytest.raises(ConnectionError, match="gone"):
            delivery.take(PATCHES[2])
