"""Messages to a slow client, and ending what a task awaits from outside."""

from __future__ import annotations

import asyncio

import pytest

from gateway.edge.connections.websocket import MessageRate
from gateway.edge.outbox import Outbox
from gateway.errors import ApiError
from gateway.streams.interruption import Interruption


class Wire:
    """A client that reads when told to."""

    def __init__(self) -> None:
        self.read: list[str | bytes] = []
        self.reads = asyncio.Event()
        self.reads.set()
        self.failure: Exception | None = None
        self.failures: list[Exception] = []

    async def send(self, message: str | bytes) -> None:
        await self.reads.wait()
        if self.failure is not None:
            raise self.failure
        self.read.append(message)

    def outbox(self, max_bytes: int = 100) -> Outbox:
        return Outbox(self.send, max_bytes, on_failure=self.failures.append)


def other_tasks() -> int:
    return len(asyncio.all_tasks()) - 1


async def test_messages_are_sent_in_order_and_no_task_stays() -> None:
    wire = Wire()
    outbox = wire.outbox()
    for round_number in range(3):
        for n in range(5):
            outbox.put(f"{round_number}{n}")
        await outbox.flush()
        assert other_tasks() == 0
    assert wire.read == [f"{r}{n}" for r in range(3) for n in range(5)]


async def test_what_comes_while_sending_is_sent_too() -> None:
    wire = Wire()
    wire.reads.clear()
    outbox = wire.outbox()
    outbox.put("first")
    await asyncio.sleep(0)
    outbox.put("second")
    wire.reads.set()
    await outbox.flush()
    assert wire.read == ["first", "second"]


async def test_what_a_client_leaves_unread_is_bounded_and_reading_makes_room() -> None:
    wire = Wire()
    wire.reads.clear()
    outbox = wire.outbox(max_bytes=10)
    outbox.put(b"12345")
    await asyncio.sleep(0)
    outbox.put(b"67890")
    with pytest.raises(ApiError) as refused:
        outbox.put(b"1")
    assert refused.value.code == "slow_client"
    outbox = wire.outbox(max_bytes=10)
    wire.reads.set()
    for _ in range(5):
        outbox.put(b"1234567890")
        await outbox.flush()


async def test_a_failure_to_send_is_reported_once_and_ends_the_sender() -> None:
    wire = Wire()
    wire.failure = OSError("gone")
    outbox = wire.outbox()
    outbox.put("lost")
    await outbox.flush()
    assert wire.failures == [wire.failure]
    assert other_tasks() == 0


async def test_dropping_ends_the_sender_in_the_middle() -> None:
    wire = Wire()
    wire.reads.clear()
    outbox = wire.outbox()
    outbox.put("never read")
    await asyncio.sleep(0)
    outbox.drop()
    await outbox.flush()
    assert wire.read == []
    assert other_tasks() == 0


async def test_an_interruption_ends_what_is_awaited_with_its_cause() -> None:
    interruption = Interruption()
    asyncio.get_running_loop().call_soon(interruption.end_with, KeyError("why"))
    with pytest.raises(KeyError, match="why"):
        async with interruption:
            await asyncio.Event().wait()
    assert asyncio.current_task().cancelling() == 0


async def test_the_first_cause_counts_and_none_after_the_block() -> None:
    interruption = Interruption()
    with pytest.raises(KeyError):
        async with interruption:
            interruption.end_with(KeyError())
            interruption.end_with(ValueError())
            await asyncio.sleep(0)
    interruption.end_with(ValueError())
    await asyncio.sleep(0)


async def test_a_block_that_interrupts_itself_at_its_end_leaves_nothing_cancelled() -> None:
    interruption = Interruption()

    async def work() -> str:
        with pytest.raises(KeyError):
            async with interruption:
                interruption.end_with(KeyError())
                raise ValueError
        await asyncio.sleep(0)
        return "went on"

    assert await asyncio.create_task(work()) == "went on"


async def test_work_of_several_that_fails_as_it_is_interrupted_is_not_cancelled() -> None:
    """Python 3.11's TaskGroup leaves its task one cancellation too many."""
    interruption = Interruption()

    async def fail() -> None:
        asyncio.get_running_loop().call_soon(interruption.end_with, KeyError())
        raise ValueError

    with pytest.raises((ExceptionGroup, KeyError)):
        async with interruption, asyncio.TaskGroup() as group:
            group.create_task(fail())
    await asyncio.sleep(0)


async def test_who_interrupts_itself_and_is_cancelled_stays_cancelled() -> None:
    interruption = Interruption()

    async def work() -> None:
        async with interruption:
            interruption.end_with(KeyError())
            asyncio.current_task().cancel()
            await asyncio.sleep(0)

    with pytest.raises(asyncio.CancelledError):
        await asyncio.create_task(work())


async def test_a_task_that_is_cancelled_too_stays_cancelled() -> None:
    interruption = Interruption()

    async def work() -> None:
        async with interruption:
            await asyncio.Event().wait()

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    interruption.end_with(KeyError())
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_work_that_ends_by_itself_is_not_disturbed() -> None:
    async with Interruption():
        await asyncio.sleep(0)


def test_a_rate_allows_bursts_of_a_second_and_refills() -> None:
    rate = MessageRate(5)
    assert [rate.exceeded(100.0) for _ in range(6)] == [False] * 5 + [True]
    assert not rate.exceeded(101.0)
    steady = MessageRate(5)
    assert not any(steady.exceeded(n / 5) for n in range(100))
