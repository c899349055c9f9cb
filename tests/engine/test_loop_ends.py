"""EngineLoop: requests that are cancelled, an engine that dies, and a loop that is closed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from queue import SimpleQueue

import pytest

from engine.errors import DeviceLostError, EngineError
from engine.loop import EngineLoop, OutputStream
from tests.engine.fakes import expected_tokens
from tests.engine.stepping import Adapter, Output, Request, read_all, tokens_of


def test_cancel_takes_effect_at_the_next_step_boundary(loop: EngineLoop, engine: Adapter) -> None:
    engine.gate.clear()
    stream = loop.submit(Request("a", [1, 2, 3], 900))
    assert engine.in_step.wait(10)
    stream.cancel()
    engine.gate.set()
    assert len(list(stream)) == 1
    assert stream.cancelled
    assert engine.runner.released == ["a"] and not engine.has_unfinished()
    assert loop.step_count == 1


def test_cancelling_twice_late_or_before_the_first_step_is_harmless(
    loop: EngineLoop, engine: Adapter
) -> None:
    done = loop.submit(Request("done", [1], 2))
    assert len(list(done)) == 2
    done.cancel()
    engine.gate.clear()
    blocker = loop.submit(Request("blocker", [5], 3))
    engine.in_step.clear()
    queued = loop.submit(Request("queued", [6], 900))
    queued.cancel()
    queued.cancel()
    engine.gate.set()
    assert list(queued) == []
    assert tokens_of(list(blocker)) == expected_tokens([5], 3)
    again = loop.submit(Request("queued", [6], 3))
    queued.cancel()
    assert tokens_of(list(again)) == expected_tokens([6], 3)


def test_a_late_cancel_never_hits_the_next_request_of_that_name(loop: EngineLoop, engine: Adapter) -> None:
    """The cancel arrives while the last step runs; before it is looked at, the name is taken again."""
    successors: SimpleQueue[OutputStream] = SimpleQueue()
    names = iter(["same"])

    class Outputs(list[Output]):
        def __iter__(self) -> Iterator[Output]:
            yield from super().__iter__()
            for name in names:
                successors.put(loop.submit(Request(name, [2], 3)))

    take_step = engine.step
    engine.step = lambda: Outputs(take_step())  # type: ignore[method-assign]
    engine.gate.clear()
    first = loop.submit(Request("same", [1], 1))
    assert engine.in_step.wait(10)
    first.cancel()
    engine.gate.set()
    assert len(list(first)) == 1
    assert tokens_of(list(successors.get(timeout=10))) == expected_tokens([2], 3)


async def test_a_task_that_stops_reading_and_cancels_frees_its_place(
    loop: EngineLoop, engine: Adapter
) -> None:
    stream = loop.submit(Request("a", [1], 900))
    reading = asyncio.create_task(anext(stream))
    await reading
    waiting = asyncio.create_task(read_all(stream))
    await asyncio.sleep(0)
    waiting.cancel()
    stream.cancel()
    await read_all(stream)
    assert engine.runner.released == ["a"]


def test_a_request_whose_event_loop_is_gone_is_cancelled(loop: EngineLoop, engine: Adapter) -> None:
    engine.gate.clear()
    stream = loop.submit(Request("a", [1], 900))
    event_loop = asyncio.new_event_loop()
    event_loop.set_exception_handler(lambda event_loop, context: None)  # the abandoned task complains
    reading = event_loop.create_task(read_all(stream))
    event_loop.run_until_complete(asyncio.sleep(0))
    event_loop.close()
    engine.gate.set()
    assert len(list(stream)) < 900
    assert engine.runner.released == ["a"] and not reading.done()


def test_a_task_that_was_cancelled_is_woken_no_more(
    loop: EngineLoop, engine: Adapter, caplog: pytest.LogCaptureFixture
) -> None:
    engine.gate.clear()
    stream = loop.submit(Request("a", [1], 900))

    async def read_for_a_moment() -> None:
        reading = asyncio.create_task(read_all(stream))
        await asyncio.sleep(0)
        reading.cancel()
        await asyncio.wait([reading])
        stream.cancel()

    asyncio.run(read_for_a_moment())
    engine.gate.set()
    assert len(list(stream)) < 900
    assert not caplog.records


def die(*args: object) -> None:
    raise RuntimeError("out of memory")


async def test_when_the_engine_dies_every_reader_gets_an_error(loop: EngineLoop, engine: Adapter) -> None:
    engine.gate.clear()
    by_task, by_thread = loop.submit(Request("task", [1])), loop.submit(Request("thread", [2]))
    task = asyncio.create_task(read_all(by_task))
    thread = asyncio.create_task(asyncio.to_thread(list, by_thread))
    await asyncio.sleep(0)
    engine.before_step = die
    engine.gate.set()
    for reading in (task, thread):
        with pytest.raises(EngineError, match="engine loop died: RuntimeError: out of memory"):
            await reading
    assert not loop.alive and isinstance(loop.error, RuntimeError)
    with pytest.raises(EngineError, match="died"):
        loop.submit(Request("late", [1]))
    by_task.cancel()
    loop.close()


@pytest.mark.parametrize("closed", [False, True])
def test_an_engine_that_died_is_ended_where_nobody_closes_it(
    loop: EngineLoop, engine: Adapter, closed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[object] = []
    monkeypatch.setattr("engine.loop.start_new_thread", lambda run, arguments: begun.append(run))
    engine.before_step = die
    with pytest.raises(EngineError, match="died"):
        next(loop.submit(Request("a", [1])))
    loop._thread.join()
    if closed:
        loop.close()
    loop.leave(die)
    assert begun == ([] if closed else [die])


def fail(*args: object) -> None:
    raise RuntimeError("CUDA error: an illegal memory access was encountered")


async def test_a_lost_device_ends_the_engine_and_not_its_rows_alone(
    loop: EngineLoop, engine: Adapter
) -> None:
    engine.gate.clear()
    streams = [loop.submit(Request(name, [1, 2])) for name in ("running", "waiting")]
    engine.runner.fail, engine.runner.lost = fail, "the device cuda:0 computes no more"
    engine.gate.set()
    for stream in streams:
        with pytest.raises(EngineError, match=r"died: DeviceLostError: the device cuda:0 computes no more"):
            await read_all(stream)
    assert isinstance(loop.error, DeviceLostError)


async def test_a_step_that_fails_on_a_device_that_lives_fails_its_rows_alone(
    loop: EngineLoop, engine: Adapter
) -> None:
    engine.runner.fail = fail
    ended = await read_all(loop.submit(Request("a", [1, 2])))
    assert [output.finish_reason for output in ended] == ["error"]
    engine.runner.fail = None
    assert tokens_of(await read_all(loop.submit(Request("b", [3], 4)))) == expected_tokens([3], 4)


def test_a_request_is_prepared_once(loop: EngineLoop, engine: Adapter) -> None:
    list(loop.submit(Request("a", [1, 2])))
    assert engine.prepared == ["a"]


def test_outputs_made_before_the_death_are_still_read(loop: EngineLoop, engine: Adapter) -> None:
    engine.gate.clear()
    stream = loop.submit(Request("a", [1], 50))
    steps = iter(range(3))
    engine.before_step = lambda: next(steps)
    engine.gate.set()
    received = []
    with pytest.raises(EngineError, match="died: StopIteration"):
        for output in stream:
            received.append(output)
    assert tokens_of(received) == expected_tokens([1], 3)


async def test_close_ends_open_streams_and_is_idempotent(loop: EngineLoop, engine: Adapter) -> None:
    engine.gate.clear()
    stream = loop.submit(Request("a", [1], 900))
    reading = asyncio.create_task(read_all(stream))
    await asyncio.sleep(0)
    closing = asyncio.create_task(asyncio.to_thread(loop.close))
    await asyncio.sleep(0)
    engine.gate.set()
    await closing
    with pytest.raises(EngineError, match="closed"):
        await reading
    loop.close()
    assert not loop.alive and loop.error is None
    with pytest.raises(EngineError, match="closed"):
        loop.submit(Request("late", [1]))


def test_a_loop_that_never_started_closes_and_fails_its_streams(engine: Adapter) -> None:
    loop = EngineLoop(engine)
    stream = loop.submit(Request("a", [1]))
    assert not loop.alive
    loop.close()
    with pytest.raises(EngineError, match="closed"):
        next(stream)
