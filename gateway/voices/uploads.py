"""How many uploads may be under way: each may hold a large file on disk for as long as its client is slow."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from gateway.errors import ApiError

MAX_UPLOADS = 16
MAX_PER_TENANT = 2


class Uploads:
    """Counts the uploads that are under way."""

    def __init__(self) -> None:
        self._of: Counter[str] = Counter()

    @contextmanager
    def place(self, tenant: str) -> Iterator[None]:
        """Hold one for as long as the block lasts. Raises ApiError: 429 for the client, 503 for all."""
        if self._of[tenant] >= MAX_PER_TENANT:
            message = f"{MAX_PER_TENANT} uploads of this client are under way"
            raise ApiError(429, "too_many_uploads", message, retry_after_seconds=5)
        if self._of.total() >= MAX_UPLOADS:
            raise ApiError(503, "uploads_busy", "too many uploads are under way", retry_after_seconds=5)
        self._of[tenant] += 1
        try:
            yield
        finally:
            self._of[tenant] -= 1
            if not self._of[tenant]:
                del self._of[tenant]
