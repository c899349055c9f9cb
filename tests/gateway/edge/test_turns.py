"""What clients send is read some at a time, with a turn of the event loop between, for everybody else."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from gateway.edge import turns
from gateway.edge.turns import Turns
from tests.gateway.edge.server import Application, served
from tests.gateway.edge.ticker import Ticker
from tests.security.apps import running_app


async def read_in(lengths: list[int], addresses: str = "") -> list[int]:
    """In which turn each message of so many bytes is read; all arrive in the first.

    `addresses`: of each, a letter; else all have the same.
    """
    gate, ticker = Turns(), Ticker()
    read = [0] * len(lengths)

    async def message(number: int) -> None:
        await gate.take(lengths[number], addresses[number : number + 1])
        read[number] = ticker.turn

    tasks = [asyncio.create_task(message(number)) for number in range(len(lengths))]
    await asyncio.gather(*tasks)
    ticker.stop()
    return [turn - read[0] for turn in read]


async def test_so_many_bytes_a_turn_and_each_message_counts_for_some() -> None:
    few = turns.MOST_BYTES // turns.MESSAGE_BYTES
    assert set(await read_in([0] * few)) == {0}
    many = await read_in([0] * 5 * few)
    assert max(many.count(turn) for turn in many) <= few and many[-1] >= 4


async def test_a_large_message_has_a_turn_of_its_own() -> None:
    one, other, *small = await read_in([1 << 20, 1 << 20, 10, 10, 10])
    assert one < other < small[0] == small[2]
    assert other - one >= 3, "who asks for something small meanwhile has it before the next"


async def test_addresses_take_turns() -> None:
    """Who sends much waits for itself."""
    few = turns.MOST_BYTES // turns.MESSAGE_BYTES
    *many, other, last = await read_in([0] * 20 * few + [0, 0], "a" * 20 * few + "bb")
    assert other == last == many[few]
    assert many[-1] >= 19


async def test_who_has_left_the_line_takes_nobody_s_turn() -> None:
    gate = Turns()
    tasks = [asyncio.create_task(gate.take(1 << 20, "a")) for _ in range(100)]
    await asyncio.sleep(0)
    for task in tasks[1:-1]:
        task.cancel()
    ticker = Ticker()
    await tasks[-1]
    ticker.stop()
    assert ticker.turn <= 6


class Counting(Application):
    """Knows in which turn it was given each message."""

    def __init__(self) -> None:
        super().__init__()
        self.turns: list[int] = []

    async def __call__(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        ticker = Ticker()

        async def counted() -> Any:
            event = await receive()
            self.turns.append(ticker.turn)
            return event

        await super().__call__(scope, counted, send)
        ticker.stop()


async def test_a_socket_s_messages_wait_for_their_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred on each of sixty sockets held up everybody for three seconds."""
    monkeypatch.setattr(turns, "MESSAGE_BYTES", turns.MOST_BYTES)
    async with served(Counting) as (application, client, _):
        for _ in range(10):
            await client.send("a")
        await client.close()
        await application.left.wait()
    messages = application.turns[1:-1]
    assert len(messages) == len(set(messages)) == 10


async def test_so_do_requests_and_bodies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken: list[tuple[int, str]] = []

    async def take(self: Turns, length: int, whose: str) -> None:
        taken.append((length, whose))

    monkeypatch.setattr(Turns, "take", take)
    async with running_app(tmp_path) as (_, opened), opened() as http:
        await http.post("/tts", json={"a": 1})
        await http.get("/health")
    lengths = [turns.BEGUN_BYTES, len('{"a":1}'), turns.BEGUN_BYTES]
    assert taken == [(length, "127.0.0.1") for length in lengths]
