"""What of a book is another since it was told: a page that watches one being made asks every other second.

A revision says how a book was when it was told. As long as its blocks and its number of takes are the same,
what changed are takes, and each is written with the time.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.ext.asyncio import AsyncSession

from gateway.database import Book, Job

_OVERLAP_US = 10 * 1_000_000
"""What was written so shortly before is told once more: transactions do not end in the order of their times,
and clocks of gateways differ. Not what was written before the book itself: thousands of takes are at once.
"""
_REVISION = re.compile(r"(\d{1,9})-(\d{1,9})-(\d{1,16})-(\d{1,16})")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Revision:
    """How a book was at a time."""

    version: int
    takes: int
    """How many takes it had."""
    changed_us: int
    """When the book itself was last changed, spoken or fetched, in microseconds, as of the next."""
    latest_us: int
    """When the latest of its takes was written."""

    def __str__(self) -> str:
        """As clients give it back."""
        return f"{self.version}-{self.takes}-{self.changed_us}-{self.latest_us}"

    def takes_since(self, earlier: Revision | None) -> Any:
        """A condition for takes that may be others since `earlier`; None where more than takes may be."""
        if earlier is None or self._book != earlier._book:
            return None
        known_us = max(earlier.latest_us - _OVERLAP_US, earlier.changed_us)
        return Job.used_at > _EPOCH + timedelta(microseconds=known_us)

    @property
    def _book(self) -> tuple[int, int, int]:
        return self.version, self.takes, self.changed_us


def parse_revision(text: str) -> Revision | None:
    """The revision that `str` told; None for what is none."""
    found = _REVISION.fullmatch(text)
    return Revision(*map(int, found.groups())) if found else None


async def revision_of(rows: AsyncSession, book: Book) -> Revision:
    """How the book is now."""
    written = select(func.count(), func.max(Job.used_at)).where(Job.book_id == book.id)
    takes, latest = (await rows.execute(written)).one()
    changed_us = _microseconds(book.updated_at)
    return Revision(book.version, takes, changed_us, _microseconds(latest) if latest else changed_us)


def _microseconds(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(microseconds=1)
