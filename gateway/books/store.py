"""The rows of books and of their blocks.

Methods raise ApiError 503 when the database cannot be used; what writes is whole also when its caller is
cancelled.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Collection, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from sqlalchemy import delete, func, select, update
from sqlalchemy.ext.asyncio import AsyncSession

from gateway.books.request import Block, NewBlock, said_by
from gateway.database import Book, BookBlock, Database, Job
from gateway.database.pages import Place, newest_first
from gateway.database.tables import now
from gateway.database.transactions import answered, flush_in_turns, in_turns, insert_in_turns, lock
from gateway.errors import ApiError
from gateway.finishing import to_its_end
from gateway.sessions.cleanup import Stored
from gateway.tending.rows import OPEN, Room

LOCK = 0x626F6F6B
"""Of who adds or changes a book, takes of it, or removes blocks with their takes."""
_BOOK_ID = re.compile(r"b_[A-Za-z0-9_-]{22}")
_AT_ONCE = 500
"""Ids in one statement."""


def new_book_id() -> str:
    """128 random bits: whoever does not know it cannot guess it."""
    return f"b_{secrets.token_urlsafe(16)}"


def is_book_id(text: str) -> bool:
    """Whether `text` has the form of one."""
    return _BOOK_ID.fullmatch(text) is not None


class BookStore:
    """Reads and writes both tables."""

    def __init__(self, database: Database, most: int, most_per_owner: int) -> None:
        self._database = database
        self._room = Room("books", LOCK, most, most_per_owner)

    async def add(self, book: Book, blocks: Sequence[NewBlock]) -> None:
        """A new one. Raises ApiError 429 when its owner, or all together, have too many."""
        await to_its_end(self._add(book, blocks))

    async def _add(self, book: Book, blocks: Sequence[NewBlock]) -> None:
        async with self.rows() as rows:
            await self._room.check(rows, Book, book.owner)
            rows.add(book)
            await rows.flush()
            await insert_in_turns(rows, BookBlock, (_new(book, each, at) for at, each in enumerate(blocks)))

    async def get(self, book_id: str) -> Book | None:
        """The book with this id."""
        async with self.rows() as rows:
            return await rows.get(Book, book_id)

    async def list(self, owner: str, limit: int, before: Place | None = None) -> list[Book]:
        """The newest first, after `before`."""
        statement = newest_first(select(Book).where(Book.owner == owner), Book, limit, before)
        async with self.rows() as rows:
            return list(await rows.scalars(statement))

    async def blocks(self, book_id: str) -> list[BookBlock]:
        """The blocks of a book, in order."""
        async with self.rows() as rows:
            return await blocks_of(rows, book_id)

    async def block(self, book_id: str, block_id: str) -> BookBlock | None:
        """One block of a book."""
        async with self.rows() as rows:
            block = await rows.get(BookBlock, block_id)
        return block if block is not None and block.book_id == book_id else None

    async def touch(self, book_id: str, **columns: Any) -> None:
        """It was used; sets columns."""
        await to_its_end(self._touch(book_id, columns))

    async def _touch(self, book_id: str, columns: dict[str, Any]) -> None:
        async with self.rows() as rows:
            await rows.execute(
                update(Book).where(Book.id == book_id).values(**{"updated_at": now(), **columns})
            )

    async def change(self, book_id: str, fields: dict[str, Any]) -> None:
        """Set title, voice or language. A voice or language is that of its blocks, too."""
        await to_its_end(self._change(book_id, fields))

    async def _change(self, book_id: str, fields: dict[str, Any]) -> None:
        async with self.rows(erasing=True) as rows:
            book = await _locked(rows, book_id)
            for name, value in fields.items():
                setattr(book, name, value)
            book.updated_at = now()
            if fields.keys() & {"voice", "language"}:
                for number, block in enumerate(await blocks_of(rows, book_id)):
                    block.said = said_in(book, block)
                    await flush_in_turns(rows, number)

    async def replace(self, book_id: str, version: int, blocks: Sequence[Block]) -> list[str]:
        """Have these blocks, in this order; ids of the takes of those that are gone.

        Raises ApiError: 409 for an old version, 422 for an id that the book has not, or has twice.
        """
        return await to_its_end(self._replace(book_id, version, blocks))

    async def _replace(self, book_id: str, version: int, blocks: Sequence[Block]) -> list[str]:
        async with self.rows(erasing=True) as rows:
            book = await _locked(rows, book_id)
            if book.version != version:
                message = f"version: the book was changed meanwhile, it is at {book.version}: load it again"
                raise ApiError(409, "book_changed", message, param="version")
            known = {block.id: block for block in await blocks_of(rows, book_id)}
            for place, block in enumerate(blocks):
                await flush_in_turns(rows, place)
                if block.id is None:
                    continue
                row = known.pop(block.id, None)
                if row is None:
                    message = f"blocks.{place}.id: the book has no such block, or it is there twice"
                    raise ApiError(422, "unknown_block", message, param=f"blocks.{place}.id")
                for name, value in _columns(book, block, place).items():
                    setattr(row, name, value)
            new = (_new(book, each, at) for at, each in enumerate(blocks) if each.id is None)
            await insert_in_turns(rows, BookBlock, new)
            book.version += 1
            book.updated_at = now()
            return await _remove_blocks(rows, book_id, known.keys())

    async def choose(self, block: BookBlock, take_id: str) -> None:
        """Have a take heard of what the block says now."""
        await to_its_end(self._choose(block, take_id))

    async def _choose(self, block: BookBlock, take_id: str) -> None:
        async with self.rows() as rows:
            statement = update(BookBlock).where(BookBlock.id == block.id)
            await rows.execute(statement.values(take=take_id, take_said=block.said))
            await rows.execute(update(Book).where(Book.id == block.book_id).values(updated_at=now()))

    async def remove(self, book_id: str) -> list[str]:
        """Forget it with its blocks and takes; the ids of these."""
        return await to_its_end(self._remove(book_id))

    async def _remove(self, book_id: str) -> list[str]:
        async with self.rows(erasing=True) as rows:
            await lock(rows, LOCK)
            takes = list(await rows.scalars(select(Job.id).where(Job.book_id == book_id)))
            await rows.execute(delete(Job).where(Job.book_id == book_id))
            await rows.execute(delete(BookBlock).where(BookBlock.book_id == book_id))
            await rows.execute(delete(Book).where(Book.id == book_id))
            return takes

    async def stored(self) -> list[Stored]:
        """All books with the sizes of their takes. One that is spoken is in use."""
        size = func.coalesce(func.sum(Job.size_bytes), 0)
        still_open = func.count(Job.id).filter(Job.state.in_(OPEN))
        statement = (
            select(Book.id, Book.owner, Book.updated_at, Book.size_bytes, size, still_open)
            .outerjoin(Job, Job.book_id == Book.id)
            .group_by(Book.id, Book.owner, Book.updated_at, Book.size_bytes)
        )
        async with self.rows() as rows:
            found = (await rows.execute(statement)).all()
        return [
            Stored(book_id, used_at, used_at, own + int(takes), open_takes > 0, True, owner)
            for book_id, owner, used_at, own, takes, open_takes in found
        ]

    def rows(self, *, erasing: bool = False) -> AbstractAsyncContextManager[AsyncSession]:
        """A transaction."""
        return answered(self._database, "books", "books_unavailable", erasing=erasing)


def said_in(book: Book, block: NewBlock | BookBlock) -> str:
    """The sum of what a block says."""
    return said_by(block.text, block.voice or book.voice, book.language, block.pronunciations)


def gone() -> ApiError:
    return ApiError(404, "unknown_book", "there is no such book", param="id")


async def _locked(rows: AsyncSession, book_id: str) -> Book:
    """A book that nobody else changes meanwhile. Raises ApiError 404."""
    await lock(rows, LOCK)
    book = await rows.get(Book, book_id)
    if book is None:
        raise gone()
    return book


def _new(book: Book, block: NewBlock, place: int) -> dict[str, Any]:
    return {"id": f"p_{secrets.token_urlsafe(12)}", "book_id": book.id, **_columns(book, block, place)}


def _columns(book: Book, block: NewBlock, place: int) -> dict[str, Any]:
    """What its client decides of a row."""
    return {
        "position": place,
        "kind": block.kind,
        "text": block.text,
        "voice": block.voice,
        "pause_ms": block.pause_ms,
        "pronunciations": block.pronunciations,
        "said": said_in(book, block),
    }


async def blocks_of(rows: AsyncSession, book_id: str, with_take: Any = None) -> list[BookBlock]:
    """The blocks of a book, in order. with_take: a condition that a take of each meets."""
    order = (BookBlock.position, BookBlock.id)
    statement = select(BookBlock).where(BookBlock.book_id == book_id).order_by(*order)
    if with_take is not None:
        statement = statement.where(BookBlock.id.in_(blocks_with(book_id, with_take)))
    return [block async for (block,) in in_turns(rows, statement)]


def blocks_with(book_id: str, take: Any) -> Any:
    """Ids of the blocks of a book that have a take which meets the condition `take`."""
    return select(Job.block_id).where(Job.book_id == book_id, take)


async def _remove_blocks(rows: AsyncSession, book_id: str, gone: Collection[str]) -> list[str]:
    """Ids of their takes, which go too."""
    if not gone:
        return []
    known = await rows.execute(select(Job.id, Job.block_id).where(Job.book_id == book_id))
    takes = [take for take, block in known if block in gone]
    await delete_rows(rows, Job, takes)
    await delete_rows(rows, BookBlock, list(gone))
    return takes


async def delete_rows(rows: AsyncSession, table: type[Job | BookBlock], ids: Sequence[str]) -> None:
    """Delete the rows with these ids, some hundred in a statement."""
    for start in range(0, len(ids), _AT_ONCE):
        await rows.execute(delete(table).where(table.id.in_(ids[start : start + _AT_ONCE])))
