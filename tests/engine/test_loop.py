"""EngineLoop: one thread owns the engine, any thread or event loop submits and reads."""

from __future__ import annotations

import asyncio
import threading

import pytest

from engine.errors import EngineError, RequestError
from engine.loop import EngineLoop, OutputStream
from engine.output_stream import wake
from tests.engine.fakes import Token, expected_tokens
from tests.engine.stepping import Adapter, Output, Request, tokens_of


def test_a_stream_yields_every_output_and_ends_after_the_last(loop: EngineLoop) -> None:
    outputs = list(loop.submit(Request("a", [1, 2, 3], 10)))
    assert tokens_of(outputs) == expected_tokens([1, 2, 3], 10)
    assert [output.finish_reason for output in outputs] == [None] * 9 + ["length"]
    assert loop.step_count == 10 and loop.alive


async def test_an_event_loop_reads_many_streams(loop: EngineLoop) -> None:
    async def read(number: int) -> list[Token | None]:
        return [output.token async for output in loop.submit(Request(str(number), [number, 7], 20))]

    results = await asyncio.gather(*(read(number) for number in range(40)))
    assert results == [expected_tokens([number, 7], 20) for number in range(40)]


def test_many_threads_submit_at_once(loop: EngineLoop, engine: Adapter) -> None:
    results: dict[int, list[Token | None]] = {}

    def work(number: int) -> None:
        for turn in range(5):
            results[number * 10 + turn] = tokens_of(
                list(loop.submit(Request(f"{number}/{turn}", [number, turn])))
            )

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {n * 10 + t: expected_tokens([n, t], 5) for n in range(16) for t in range(5)}
    assert len(engine.threads) == 1 and threading.get_ident() not in engine.threads


def test_submit_does_not_wait_for_a_step(loop: EngineLoop, engine: Adapter) -> None:
    engine.gate.clear()
    first = loop.submit(Request("first", [1]))
    assert engine.in_step.wait(10)
    second = loop.submit(Request("second", [2]))
    engine.gate.set()
    assert tokens_of(list(first)) == expected_tokens([1], 5)
    assert tokens_of(list(second)) == expected_tokens([2], 5)


def test_a_refused_request_raises_at_submit_and_one_name_runs_once(loop: EngineLoop, engine: Adapter) -> None:
    with pytest.raises(RequestError, match="empty"):
        loop.submit(Request("a", []))
    engine.gate.clear()
    first = loop.submit(Request("same", [1]))
    with pytest.raises(RequestError, match="is being served") as refusal:
        loop.submit(Request("same", [1]))
    assert refusal.value.param == "request_id"
    engine.gate.set()
    assert len(list(first)) == 5
    assert len(list(loop.submit(Request("same", [1])))) == 5


def test_what_the_engine_refuses_is_raised_by_the_stream_alone(loop: EngineLoop) -> None:
    refused = loop.submit(Request("too long", [1], 100_000))
    broken = loop.submit(Request("broken", [1]))
    good = loop.submit(Request("good", [1]))
    with pytest.raises(RequestError, match="max_model_len"):
        next(refused)
    with pytest.raises(EngineError, match="bug in the model glue"):
        next(broken)
    assert len(list(good)) == 5 and loop.alive


async def test_a_waiting_task_hears_of_a_refusal(loop: EngineLoop) -> None:
    with pytest.raises(RequestError, match="max_model_len"):
        await anext(loop.submit(Request("too long", [1], 100_000)))


def test_a_failed_step_is_an_output_and_not_the_end_of_the_loop(loop: EngineLoop, engine: Adapter) -> None:
    def fail(batch: object) -> None:
        engine.runner.fail = None
        raise RuntimeError("device error")

    engine.runner.fail = fail
    (output,) = list(loop.submit(Request("a", [1])))
    assert output.finish_reason == "error" and output.error == "RuntimeError: device error"
    assert len(list(loop.submit(Request("b", [1])))) == 5


def test_requests_submitted_before_the_start_are_served(engine: Adapter) -> None:
    loop = EngineLoop(engine)
    stream = loop.submit(Request("a", [1]))
    loop.start()
    assert len(list(stream)) == 5
    loop.close()


def test_one_step_wakes_an_event_loop_once_for_all_its_streams() -> None:
    class CountingLoop(asyncio.SelectorEventLoop):
        calls = 0

        def call_soon_threadsafe(self, *args: object, **kwargs: object) -> asyncio.Handle:
            self.calls += 1
            return super().call_soon_threadsafe(*args, **kwargs)

    async def read(streams: list[OutputStream]) -> int:
        readers = [asyncio.ensure_future(anext(stream)) for stream in streams]
        await asyncio.sleep(0)
        event_loop = asyncio.get_running_loop()
        before = event_loop.calls
        waiting = [
            reader for stream in streams for reader in stream.put(Output(stream.request_id, None, 1, None))
        ]
        assert wake(waiting) == []
        assert tokens_of(await asyncio.gather(*readers)) == [1] * 20
        return event_loop.calls - before

    streams = [OutputStream(str(number), lambda stream: None) for number in range(20)]
    with asyncio.Runner(loop_factory=CountingLoop) as runner:
        assert runner.run(read(streams)) == 1


async def test_a_reader_that_gave_up_does_not_keep_others_asleep() -> None:
    streams = [OutputStream(str(number), lambda stream: None) for number in range(2)]
    readers = [asyncio.create_task(anext(stream)) for stream in streams]
    await asyncio.sleep(0)
    waiting = [
        reader for stream in streams for reader in stream.put(Output(stream.request_id, None, 1, None))
    ]
    readers[0].cancel()
    wake(waiting)
    assert (await asyncio.wait_for(readers[1], 10)).token == 1
    assert (await anext(streams[0])).token == 1
