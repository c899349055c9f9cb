"""What jobs need of the books whose takes they are."""

from __future__ import annotations

from typing import Protocol

from gateway.database import Job
from gateway.jobs.request import JobRequest
from gateway.sessions.cleanup import Stored


class Shelf(Protocol):
    """All books, as far as jobs need them."""

    async def order_of(self, take: Job) -> tuple[JobRequest, str] | None:
        """What a take says as its block stands, and the sum of that; None where there is no such block.

        Raises ApiError: 422 where it has no words, 503 without a database.
        """

    async def stored(self) -> list[Stored]:
        """The books with their takes, each as a whole, as `choose` looks at them."""

    async def remove(self, book_id: str) -> None:
        """Forget a book with its takes."""
