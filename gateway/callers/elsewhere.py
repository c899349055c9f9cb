"""What limited clients have open at the other gateways of the same database: `max_streams` counts once.

Once a second a gateway writes what its limited clients have open, and reads what others wrote. Until then,
and while the database fails, each counts by itself. What a gateway wrote counts for five seconds after its
last word. Where no client with a limit has anything open, the database is left alone.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import secrets
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple

import structlog
from sqlalchemy import delete, select

from gateway.database import Database, OpenRequests
from gateway.database.transactions import FAILURES
from gateway.finishing import to_its_end

logger = structlog.get_logger(__name__)

EVERY_SECONDS = 1.0
STALE_SECONDS = 5.0
_SHED_SECONDS = 60.0
"""After which the rows of a gateway that died are deleted by another."""


class Open(NamedTuple):
    """What one client has open."""

    streams: int = 0
    """Requests, waiting ones included."""
    sessions: int = 0
    """Live sessions, resting ones included."""

    def plus(self, other: Open) -> Open:
        return Open(self.streams + other.streams, self.sessions + other.sessions)


NOTHING = Open()
Row = tuple[str, int, str, Open]
"""Gateway, how often it has written, digest of the client, what that has open."""


class OpenElsewhere:
    """What clients have open at other gateways, as one gateway knows it."""

    def __init__(
        self,
        database: Database,
        secret: bytes,
        here: Callable[[str], Open],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`secret`: the same at all gateways, so that the database holds no names. `here`: what a client has
        open at this gateway.
        """
        self._database, self._secret, self._here, self._clock = database, secret, here, clock
        self._name = secrets.token_hex(8)
        self._beat = 0
        self._watched: dict[str, str] = {}
        """Digests of clients that have or had something open here, by tenant."""
        self._wanted = asyncio.Event()
        self._found: dict[str, Open] = {}
        self._heard: dict[str, tuple[int, float]] = {}
        """Last beat of each other gateway, and since when that has been its last."""
        self._failing = False

    def of(self, tenant: str) -> Open:
        """At the other gateways, as far as is known; a client who is asked about is followed from now on."""
        if tenant not in self._watched:
            self._watched[tenant] = hmac.new(self._secret, tenant.encode(), hashlib.sha256).hexdigest()
            self._wanted.set()
        return self._found.get(self._watched[tenant], NOTHING)

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Write and read for as long as the block lasts; at its end nothing is open here any more."""
        exchanging = asyncio.create_task(self._run())
        try:
            yield
        finally:
            exchanging.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await exchanging
            self._watched.clear()
            if self._beat:
                await self.exchange()

    async def _run(self) -> None:
        while True:
            await self._wanted.wait()
            await self.exchange()
            await asyncio.sleep(EVERY_SECONDS)

    async def exchange(self) -> None:
        """Write, read, and forget clients that have nothing open here."""
        own = {tenant: self._here(tenant) for tenant in self._watched}
        own = {tenant: found for tenant, found in own.items() if any(found)}
        written = [(self._watched[tenant], found) for tenant, found in own.items()]
        self._watched = {tenant: self._watched[tenant] for tenant in own}
        if not own:
            self._wanted.clear()
            # By the time that somebody asks again this is old, and who was heard then is not silent since.
            self._found, self._heard = {}, {}
        try:
            rows = await to_its_end(self._swap(written))
        except FAILURES as error:
            self._found = {}
            if not self._failing:
                logger.warning("limits of clients count for each gateway", error=type(error).__name__)
            self._failing = True
            return
        self._failing = False
        if own:
            self._found = self._sum(rows)

    async def _swap(self, written: list[tuple[str, Open]]) -> list[Row]:
        """This gateway's rows for those of all others."""
        self._beat += 1
        silent = self._silent_for(_SHED_SECONDS)
        async with self._database.transaction() as rows:
            await rows.execute(delete(OpenRequests).where(OpenRequests.gateway.in_([self._name, *silent])))
            for client, (streams, sessions) in written:
                rows.add(
                    OpenRequests(
                        gateway=self._name,
                        client=client,
                        beat=self._beat,
                        streams=streams,
                        sessions=sessions,
                    )
                )
            others = select(OpenRequests).where(OpenRequests.gateway != self._name)
            return [
                (row.gateway, row.beat, row.client, Open(row.streams, row.sessions))
                for row in await rows.scalars(others)
            ]

    def _sum(self, rows: list[Row]) -> dict[str, Open]:
        """By client, of those gateways that have written within STALE_SECONDS."""
        beats, now = {gateway: beat for gateway, beat, *_ in rows}, self._clock()
        before = self._heard
        self._heard = {
            gateway: before[gateway] if before.get(gateway, (None,))[0] == beat else (beat, now)
            for gateway, beat in beats.items()
        }
        silent, found = self._silent_for(STALE_SECONDS), defaultdict[str, Open](Open)
        for gateway, _, client, opened in rows:
            if gateway not in silent:
                found[client] = found[client].plus(opened)
        return dict(found)

    def _silent_for(self, seconds: float) -> set[str]:
        """Gateways whose rows have stayed as they are for so long."""
        now = self._clock()
        return {gateway for gateway, (_, since) in self._heard.items() if now - since > seconds}
