"""How far books are, and how long the rest takes at the speed that was measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import and_, distinct, func, or_, select
from sqlalchemy.ext.asyncio import AsyncSession

from gateway.database import BookBlock, Job
from gateway.tending.rows import OPEN


@dataclass
class Progress:
    """How far a book is."""

    blocks: int = 0
    characters: int = 0
    ready: int = 0
    """Blocks with a take of what they say now, or without words."""
    failed: int = 0
    """Blocks whose last take failed."""
    takes: dict[str, int] = field(default_factory=dict)
    """State -> how many takes."""
    characters_left: int = 0
    """Characters of takes that wait or are being made."""
    characters_done: int = 0
    """Characters spoken in all takes, in `spent_seconds`."""
    spent_seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """As the API shows it."""
        return {
            "blocks": self.blocks,
            "ready": self.ready,
            "making": self.takes.get("running", 0),
            "queued": self.takes.get("queued", 0),
            "failed": self.failed,
            "seconds_left": self.seconds_left,
        }

    @property
    def seconds_left(self) -> float | None:
        """None where nothing is to be made, or nothing was."""
        if not self.characters_left or not self.characters_done:
            return None
        pace = self.spent_seconds / self.characters_done / max(1, self.takes.get("running", 0))
        return round(self.characters_left * pace, 1)


async def progress_of(rows: AsyncSession, book_ids: Sequence[str]) -> dict[str, Progress]:
    """Id of a book -> how far it is."""
    found = {book_id: Progress() for book_id in book_ids}
    statement = (
        select(BookBlock.book_id, func.count(), func.sum(func.length(BookBlock.text)))
        .where(BookBlock.book_id.in_(book_ids))
        .group_by(BookBlock.book_id)
    )
    for book_id, blocks, characters in await rows.execute(statement):
        found[book_id].blocks, found[book_id].characters = blocks, int(characters)
    fresh = and_(Job.block_id == BookBlock.id, Job.state == "complete", Job.said == BookBlock.said)
    for book_id, ready in await rows.execute(_blocks_with(fresh, book_ids, or_silent=True)):
        found[book_id].ready = ready
    failed = and_(Job.block_id == BookBlock.id, Job.state == "failed")
    for book_id, blocks in await rows.execute(_blocks_with(failed, book_ids)):
        found[book_id].failed = blocks
    sums = (func.sum(Job.characters), func.sum(Job.characters_done), func.sum(Job.spent_seconds))
    states = select(Job.book_id, Job.state, func.count(), *sums).where(Job.book_id.in_(book_ids))
    for book_id, state, count, characters, done, spent in await rows.execute(
        states.group_by(Job.book_id, Job.state)
    ):
        progress = found[book_id]
        progress.takes[state] = count
        progress.characters_done += int(done)
        progress.spent_seconds += spent
        if state in OPEN:
            progress.characters_left += int(characters) - int(done)
    return found


def _blocks_with(which: Any, book_ids: Sequence[str], *, or_silent: bool = False) -> Any:
    """How many blocks of each book have such a take."""
    has = Job.id.is_not(None)
    return (
        select(BookBlock.book_id, func.count(distinct(BookBlock.id)))
        .outerjoin(Job, which)
        .where(BookBlock.book_id.in_(book_ids), or_(has, BookBlock.said == "") if or_silent else has)
        .group_by(BookBlock.book_id)
    )
