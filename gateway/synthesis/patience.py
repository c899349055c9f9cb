"""Patience of what was heard in part: a full queue, or a worker that is started again, is no end of it.

It comes again until there is room. What has not begun is refused at once, and its client may come again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable

import structlog

from gateway.errors import ApiError
from gateway.settings import GatewaySettings

logger = structlog.get_logger(__name__)

AGAIN_SECONDS = 2.0
"""At most, until it comes again."""


class Patience:
    """Of one request."""

    def __init__(self, settings: GatewaySettings, request_id: str) -> None:
        self._settings, self._request_id = settings, request_id
        self._since: float | None = None

    def end(self) -> None:
        """It has a slot, or no use for one."""
        self._since = None

    async def persist(self, ask: Callable[[], Awaitable[None]]) -> None:
        """Ask until there is room. Raises ApiError."""
        while True:
            asked_at = time.monotonic()
            try:
                return await ask()
            except ApiError as error:
                await asyncio.sleep(self.seconds_after(error, asked_at))

    def seconds_after(self, refusal: ApiError, asked_at: float) -> float:
        """Until it makes sense to ask again. Raises the refusal where none does, or where it was refused, or
        waited in vain, for too long since it asked for the first time.
        """
        if refusal.status_code == 429:
            limit_seconds = self._settings.queue_timeout_seconds
        elif refusal.code == "no_worker":
            limit_seconds = self._settings.no_worker_grace_seconds
        else:
            raise refusal
        if self._since is None:
            self._since = asked_at
            logger.info("what has begun finds no room", request_id=self._request_id, code=refusal.code)
        if time.monotonic() - self._since >= limit_seconds:
            raise refusal
        return min(refusal.retry_after_seconds, AGAIN_SECONDS)
