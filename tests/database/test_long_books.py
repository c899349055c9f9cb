"""Books of hundreds of blocks: read and written some at a time, so that everybody else has turns."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

import pytest
from sqlalchemy import Engine, event

from gateway.books.request import Block, NewBlock
from gateway.books.store import BookStore
from gateway.books.takes import Bounds, TakeStore
from gateway.database import Book, BookBlock, Database, Job
from gateway.database.transactions import AT_A_TIME

BLOCKS = 3 * AT_A_TIME + 7
INSERTED = (BookBlock.__table__, Job.__table__)
EVENTS = ("load", "before_update")


class Watch:
    """How many rows were made or written at most between two turns of everybody else."""

    def __init__(self) -> None:
        self.all = self.most = self._now = 0

    def note(self, *_: object) -> None:
        self._note(1)

    def _note_inserted(self, *told: Any) -> None:
        _, _, statement, _, context, _ = told
        if statement.startswith("INSERT INTO") and context.compiled.statement.table in INSERTED:
            self._note(len(context.compiled_parameters))

    def _note(self, count: int) -> None:
        self.all += count
        self._now += count
        self.most = max(self.most, self._now)

    async def _have_turns(self) -> None:
        while True:
            self._now = 0
            await asyncio.sleep(0)

    @contextmanager
    def _listening(self) -> Iterator[None]:
        watched = [(table, name, self.note) for table in (BookBlock, Job) for name in EVENTS]
        watched.append((Engine, "before_cursor_execute", self._note_inserted))
        for each in watched:
            event.listen(*each)
        try:
            yield
        finally:
            for each in watched:
                event.remove(*each)

    @asynccontextmanager
    async def watching(self) -> AsyncIterator[Watch]:
        turns = asyncio.create_task(self._have_turns())
        try:
            with self._listening():
                yield self
        finally:
            turns.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await turns


@pytest.fixture
def books(database: Database) -> BookStore:
    return BookStore(database, 3, 2)


@pytest.fixture
def takes(books: BookStore) -> TakeStore:
    return TakeStore(books, Bounds(3, BLOCKS, None))


async def written(books: BookStore) -> Book:
    book = Book(id="b_1", owner="ann", title="The Walk", voice="default")
    await books.add(book, [NewBlock(text=f"Number {number}.") for number in range(BLOCKS)])
    return book


async def test_a_book_is_written_and_read_some_blocks_at_a_time(books: BookStore) -> None:
    """S20: one of 10,000 blocks held up everybody for half a second whenever somebody looked at it."""
    async with Watch().watching() as watch:
        await written(books)
        blocks = await books.blocks("b_1")
    assert [block.text for block in blocks] == [f"Number {number}." for number in range(BLOCKS)]
    assert watch.all == 2 * BLOCKS and watch.most <= AT_A_TIME + 1


async def test_so_are_takes(books: BookStore, takes: TakeStore) -> None:
    """To have all of it made took three seconds, in which the gateway did nothing else."""
    book = await written(books)
    blocks = await books.blocks("b_1")
    async with Watch().watching() as watch:
        await takes.add(book, blocks, first=False, again=False)
        found = await takes.of("b_1")
    assert [len(found[block.id]) for block in blocks] == [1] * BLOCKS
    assert watch.all == 2 * BLOCKS and watch.most <= AT_A_TIME + 1


async def test_so_are_changes(books: BookStore) -> None:
    await written(books)
    async with Watch().watching() as watch:
        await books.change("b_1", {"voice": "Bob"})
        blocks = await books.blocks("b_1")
        changed = [Block(id=block.id, text=block.text + " And more.") for block in reversed(blocks)]
        await books.replace("b_1", 1, changed)
        after = await books.blocks("b_1")
    assert [block.id for block in after] == [block.id for block in reversed(blocks)]
    assert watch.all == 6 * BLOCKS and watch.most <= 2 * AT_A_TIME + 2
