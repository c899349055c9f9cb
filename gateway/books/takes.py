"""The rows of takes: jobs that belong to a block of a book."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from gateway.books.choice import chosen, is_awaited
from gateway.books.store import LOCK, BookStore, blocks_with, delete_rows
from gateway.database import Book, BookBlock, Job
from gateway.database.tables import now
from gateway.database.transactions import in_turns, insert_in_turns, lock
from gateway.errors import ApiError
from gateway.finishing import to_its_end
from gateway.jobs.files import new_job_id
from gateway.requests import random_seed
from gateway.tending.rows import OPEN

_BYTES_PER_CHARACTER = 2 * 24_000 // 15
"""Bytes of speech, as far as can be known before it is there."""


@dataclass(frozen=True)
class Bounds:
    """How much there may be."""

    takes_of_a_block: int
    waiting_of_owner: int
    """Takes of one owner that are not made yet."""
    owner_bytes: int | None
    """Bytes that the jobs and takes of one owner may have; None: any number."""


class TakeStore:
    """Reads and writes them. Raises ApiError 503 when the database cannot be used."""

    def __init__(self, books: BookStore, bounds: Bounds) -> None:
        self._books = books
        self._bounds = bounds

    async def of(self, book_id: str) -> dict[str, list[Job]]:
        """Id of a block -> its takes, the oldest first."""
        async with self._books.rows() as rows:
            return await takes_of(rows, book_id)

    async def one(self, block: BookBlock, take_id: str) -> Job | None:
        """One take of a block."""
        async with self._books.rows() as rows:
            take = await rows.get(Job, take_id)
        return take if take is not None and take.block_id == block.id else None

    async def add(
        self, book: Book, blocks: Sequence[BookBlock], seed: int | None = None, *, first: bool, again: bool
    ) -> list[str]:
        """One more take of each block; ids of takes that gave way to them.

        A take that failed gives way, and the oldest that is stale where there are too many. first: before
        what waits already. again: also of blocks of which one is awaited. Blocks that are gone by now get
        none. Raises ApiError: 409 too many
        takes, 429 too many that wait, 507 too many bytes.
        """
        return await to_its_end(self._add(book, blocks, seed, first, again))

    async def _add(
        self, book: Book, blocks: Sequence[BookBlock], seed: int | None, first: bool, again: bool
    ) -> list[str]:
        async with self._books.rows() as rows:
            await lock(rows, LOCK)
            if await rows.get(Book, book.id) is None:
                return []
            takes = await takes_of(rows, book.id)
            there = set(await rows.scalars(select(BookBlock.id).where(BookBlock.book_id == book.id)))
            wanted = [
                block for block in blocks
                if block.id in there and (again or not is_awaited(block, takes.get(block.id, ())))
            ]  # fmt: skip
            await self._check_room(rows, book.owner, wanted)
            given_way = [
                take.id for block in wanted for take in self._give_way(block, takes.get(block.id, []))
            ]
            await delete_rows(rows, Job, given_way)
            # Later than all that are there, also where a clock is behind: the first that fits is heard.
            latest = max((take.created_at for several in takes.values() for take in several), default=now())
            began = max(now(), latest + timedelta(microseconds=1))
            new = (
                _new_take(book, block, seed, first, began + timedelta(microseconds=number))
                for number, block in enumerate(wanted)
            )
            await insert_in_turns(rows, Job, new)
            return given_way

    def _give_way(self, block: BookBlock, takes: Sequence[Job]) -> list[Job]:
        """Takes that one more takes the place of. Raises ApiError 409 where all of them are of use."""
        gone = [take for take in takes if take.state == "failed"]
        left = [take for take in takes if take not in gone]
        if len(left) < self._bounds.takes_of_a_block:
            return gone
        heard = chosen(block, left)
        ready = [take for take in left if take.state == "complete" and take is not heard]
        stale = next((take for take in ready if take.said != block.said), None)
        if stale is None:
            message = f"a block has at most {self._bounds.takes_of_a_block} takes: delete one first"
            raise ApiError(409, "too_many_takes", message, param="blocks")
        return [*gone, stale]

    async def _check_room(self, rows: AsyncSession, owner: str, wanted: Sequence[BookBlock]) -> None:
        waiting = select(func.count(), func.sum(Job.characters)).where(
            Job.owner == owner, Job.state.in_(OPEN), Job.book_id.is_not(None)
        )
        number, characters = (await rows.execute(waiting)).one()
        most, limit = self._bounds.waiting_of_owner, self._bounds.owner_bytes
        if wanted and number + len(wanted) > most:
            message = (
                f"blocks: {number} takes of this client wait, and {len(wanted)} more would be more than "
                f"{most} (max_waiting_takes_per_owner): ask again when some are made, or name fewer blocks"
            )
            raise ApiError(429, "too_many_waiting_takes", message, param="blocks", retry_after_seconds=60)
        if limit is None:
            return
        kept = await rows.scalar(select(func.sum(Job.size_bytes)).where(Job.owner == owner)) or 0
        expected = int(characters or 0) + sum(len(block.text) for block in wanted)
        if int(kept) + _BYTES_PER_CHARACTER * expected > limit:
            message = f"a client keeps at most {limit / 10**9:g} GB of jobs and takes: delete some first"
            raise ApiError(507, "storage_full", message, param="blocks")

    async def remove(self, book_id: str, take_id: str | None = None) -> list[str]:
        """Forget one, or all that wait or are being made; their ids."""
        return await to_its_end(self._remove(book_id, take_id))

    async def _remove(self, book_id: str, take_id: str | None) -> list[str]:
        which = Job.state.in_(OPEN) if take_id is None else Job.id == take_id
        async with self._books.rows() as rows:
            ids = list(await rows.scalars(select(Job.id).where(Job.book_id == book_id, which)))
            await delete_rows(rows, Job, ids)
            return ids


def _new_take(
    book: Book, block: BookBlock, seed: int | None, first: bool, created_at: datetime
) -> dict[str, Any]:
    """seed: None for one at random."""
    return {
        "id": new_job_id(),
        "owner": book.owner,
        "book_id": book.id,
        "block_id": block.id,
        "format": "wav",
        "voice": block.voice or book.voice,
        "characters": len(block.text),
        "seed": random_seed() if seed is None else seed,
        "precedence": int(first),
        "created_at": created_at,
    }


async def takes_of(rows: AsyncSession, book_id: str, with_take: Any = None) -> dict[str, list[Job]]:
    """Id of a block -> its takes, the oldest first. with_take: as of `blocks_of`."""
    found: dict[str, list[Job]] = {}
    order = (Job.created_at, Job.id)
    statement = select(Job).where(Job.book_id == book_id).order_by(*order)
    if with_take is not None:
        statement = statement.where(Job.block_id.in_(blocks_with(book_id, with_take)))
    async for (take,) in in_turns(rows, statement):
        found.setdefault(take.block_id, []).append(take)
    return found
