"""OutputStream.each: the event loop hands every output to a function, without a task switch for each."""

from __future__ import annotations

import asyncio
import gc
import weakref

import pytest

from engine.errors import EngineError
from engine.loop import EngineLoop, OutputStream
from engine.output_stream import Reader, wake
from tests.engine.fakes import expected_tokens
from tests.engine.stepping import Adapter, Output, Request, read_all, tokens_of


async def test_every_output_is_handed_over_in_order_in_the_event_loop(loop: EngineLoop) -> None:
    async def read(number: int) -> list[Output]:
        outputs: list[Output] = []

        def take(output: Output) -> None:
            asyncio.get_running_loop()  # raises in any other thread
            outputs.append(output)

        await loop.submit(Request(str(number), [number, 7], 20)).each(take)
        return outputs

    results = await asyncio.gather(*(read(number) for number in range(40)))
    assert [tokens_of(outputs) for outputs in results] == [expected_tokens([n, 7], 20) for n in range(40)]
    assert {outputs[-1].finish_reason for outputs in results} == {"length"}


async def test_what_was_there_before_comes_first(loop: EngineLoop) -> None:
    stream, outputs = loop.submit(Request("early", [3])), []
    async for output in loop.submit(Request("later", [4])):
        assert output.error is None
    await stream.each(outputs.append)
    assert tokens_of(outputs) == expected_tokens([3], 5)


async def test_failures_of_the_engine_and_of_the_taker_are_raised(loop: EngineLoop) -> None:
    with pytest.raises(EngineError, match="bug in the model glue"):
        await loop.submit(Request("broken", [1])).each(lambda output: None)
    stream, taken = loop.submit(Request("a", [1, 2])), []

    def take_two(output: Output) -> None:
        if len(taken) == 2:
            raise KeyError("enough")
        taken.append(output)

    with pytest.raises(KeyError, match="enough"):
        await stream.each(take_two)
    expected = expected_tokens([1, 2], 5)
    assert tokens_of(taken) == expected[:2]
    assert tokens_of(await read_all(stream)) == expected[3:]


async def test_a_reader_that_is_cancelled_takes_nothing_more(loop: EngineLoop, engine: Adapter) -> None:
    engine.gate.clear()
    stream, outputs = loop.submit(Request("a", [5])), []
    reading = asyncio.create_task(stream.each(outputs.append))
    await asyncio.sleep(0)
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    engine.gate.set()
    assert tokens_of(await read_all(stream)) == expected_tokens([5], 5)
    assert outputs == []


async def test_many_outputs_of_a_step_wake_the_event_loop_once(
    loop: EngineLoop, engine: Adapter, monkeypatch: pytest.MonkeyPatch
) -> None:
    event_loop, calls = asyncio.get_running_loop(), []
    call = event_loop.call_soon_threadsafe
    engine.gate.clear()
    streams = [loop.submit(Request(str(number), [number], 10)) for number in range(30)]
    reading = [asyncio.create_task(stream.each(lambda output: None)) for stream in streams]
    await asyncio.sleep(0)
    monkeypatch.setattr(
        event_loop, "call_soon_threadsafe", lambda *arguments: (calls.append(1), call(*arguments))
    )
    engine.gate.set()
    await asyncio.gather(*reading)
    assert len(calls) <= loop.step_count + 1


async def test_nothing_holds_a_taker_that_is_done_until_the_garbage_collector_comes(loop: EngineLoop) -> None:
    class Taker:
        def take(self, output: Output) -> None:
            """Nothing."""

    taker = Taker()
    gone = weakref.ref(taker)
    gc.disable()
    try:
        await loop.submit(Request("a", [1])).each(taker.take)
        del taker
        loop.close()  # its thread may still be about to let go of what it has just woken
        assert gone() is None
    finally:
        gc.enable()


async def test_a_reader_that_fails_to_go_on_leaves_the_others_awake() -> None:
    event_loop, woken = asyncio.get_running_loop(), asyncio.Event()
    complaints: list[BaseException] = []
    event_loop.set_exception_handler(lambda event_loop, context: complaints.append(context["exception"]))

    def fail() -> None:
        raise KeyError("a bug in a reader")

    stream = OutputStream("a", lambda stream, command: None)
    readers = [Reader(event_loop, go_on, stream) for go_on in (fail, woken.set)]
    assert not wake(readers)
    async with asyncio.timeout(30):
        await woken.wait()
    assert [type(error) for error in complaints] == [KeyError]
