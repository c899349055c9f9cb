"""Speech that was heard in part asks again where the queue is full, or its worker is being started again.

A request of which nothing was heard yet is refused at once, and its client may ask again.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

import structlog

from gateway.errors import ApiError
from gateway.settings import GatewaySettings

logger = structlog.get_logger(__name__)

AGAIN_SECONDS = 2.0
"""The longest pause between two tries."""


Answer = TypeVar("Answer")


class Patience:
    """The tries of one request."""

    def __init__(self, settings: GatewaySettings, request_id: str) -> None:
        self._settings, self._request_id = settings, request_id
        self._since: float | None = None

    def end(self) -> None:
        """The request has a slot, or needs none any more: its time begins anew with the next refusal."""
        self._since = None

    async def persist(
        self, ask: Callable[[], Awaitable[Answer]], heard: Callable[[], int] = lambda: 0
    ) -> Answer:
        """Call `ask` until it is not refused.

        Raises ApiError, see `seconds_after`, and where more was `heard`, in samples, since the first call:
        another try would say it again.
        """
        before = heard()
        while True:
            asked_at = time.monotonic()
            try:
                return await ask()
            except ApiError as error:
                if heard() > before:
                    raise
                await asyncio.sleep(self.seconds_after(error, asked_at))

    def seconds_after(self, refusal: ApiError, asked_at: float) -> float:
        """Seconds until the next try, after one that began at `asked_at` (time.monotonic) was refused.

        Raises the refusal where another try is of no use, or where the first was refused too long ago.
        """
        if refusal.status_code == 429:
            limit_seconds = self._settings.queue_timeout_seconds
        elif refusal.code == "no_worker":
            limit_seconds = self._settings.no_worker_grace_seconds
        else:
            raise refusal
        if self._since is None:
            self._since = asked_at
            logger.info("speech that has begun finds no room", request_id=self._request_id, code=refusal.code)
        if time.monotonic() - self._since >= limit_seconds:
            raise refusal
        return min(refusal.retry_after_seconds, AGAIN_SECONDS)
