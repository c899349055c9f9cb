"""`Gateway.lexicons`: what is said for the words of a request.

What the database says is kept for two seconds, so a change at one gateway holds at all that share the
database within that time, and at the one that was asked at once. Speech never fails or waits long because of
the database: when that does not answer, what was read last holds.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gateway.database import Database
from gateway.errors import ApiError
from gateway.lexicons.file import read_file
from gateway.lexicons.store import SERVICE, LexiconStore
from gateway.settings import GatewaySettings
from gateway.text import NO_LEXICON, Lexicon

_FRESH_SECONDS = 2.0
_LONGEST_READ_SECONDS = 1.0
"""How long a request waits for the database, and the end for what is being read."""
_MOST_KEPT = 256
"""Lexicons in memory; those that were not asked for longest go."""


@dataclass(frozen=True)
class _Kept:
    lexicon: Lexicon
    entries: Mapping[str, str]
    read_at: float


class Lexicons:
    """The lexicons of the service and its owners; `close` ends what is being read."""

    def __init__(
        self, settings: GatewaySettings, database: Database, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """Raises ValueError for a file that cannot be used."""
        self.of_file = read_file(settings.lexicon_file)
        self.max_entries = settings.max_lexicon_entries
        self.store = LexiconStore(database, settings.max_lexicons, settings.max_lexicon_entries)
        self._file_lexicon = Lexicon.of(self.of_file)
        self._clock = clock
        self._kept: OrderedDict[str, _Kept] = OrderedDict()
        """By owner."""
        self._patience_seconds = _LONGEST_READ_SECONDS
        """Nothing after a read that took too long, until one succeeds."""
        self._reading: dict[str, asyncio.Task[None]] = {}

    async def of(self, tenant: str, more: Mapping[str, str]) -> Lexicon:
        """What holds for a request of `tenant`: what it says itself, then its owner's, then the service's."""
        await self.refresh(tenant)
        return self.known(tenant, more)

    def known(self, tenant: str, more: Mapping[str, str]) -> Lexicon:
        """What holds for a request of `tenant`, as far as it was read before."""
        lexicon = Lexicon.of(more)
        for owner in _owners(tenant):
            if (kept := self._kept.get(owner)) is not None:
                lexicon = lexicon.before(kept.lexicon)
        return lexicon.before(self._file_lexicon)

    async def replace(self, owner: str, entries: Mapping[str, str]) -> dict[str, str]:
        """Have these entries and no others. Raises ApiError: 409, 503."""
        return self._changed(owner, await self.store.replace(owner, entries))

    async def set(self, owner: str, word: str, spoken: str) -> dict[str, str]:
        """Add or change one entry; all there are then. Raises ApiError: 409, 503."""
        return self._changed(owner, await self.store.set(owner, word, spoken))

    async def remove(self, owner: str, word: str) -> dict[str, str]:
        """Delete one entry; all there are then. Raises ApiError: 404, 503."""
        return self._changed(owner, await self.store.remove(owner, word))

    async def close(self) -> None:
        """Wait for what is being read: broken off, it would leave a connection that nobody closes."""
        tasks = list(self._reading.values())
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=_LONGEST_READ_SECONDS)
            for task in late:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def refresh(self, tenant: str) -> None:
        """Read what is older than it may be, without waiting long."""
        oldest = self._clock() - _FRESH_SECONDS
        tasks = []
        for owner in _owners(tenant):
            kept = self._kept.get(owner)
            if kept is None or kept.read_at < oldest:
                if owner not in self._reading:
                    self._reading[owner] = asyncio.create_task(self._read(owner))
                tasks.append(self._reading[owner])
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=self._patience_seconds)
            if late:
                self._patience_seconds = 0.0

    async def _read(self, owner: str) -> None:
        before, began_at = self._kept.get(owner), self._clock()
        try:
            found = await self.store.read(owner)
        except ApiError:  # which is in the log
            found = {owner: before.entries if before else {}}
        else:
            self._patience_seconds = _LONGEST_READ_SECONDS
        finally:
            del self._reading[owner]
        if self._kept.get(owner) is before:
            self._keep(owner, found.get(owner, {}), began_at)

    def _changed(self, owner: str, entries: dict[str, str]) -> dict[str, str]:
        self._keep(owner, entries, self._clock())
        return entries

    def _keep(self, owner: str, entries: Mapping[str, str], read_at: float) -> None:
        before = self._kept.pop(owner, None)
        same = before is not None and before.entries == entries
        lexicon = before.lexicon if same else Lexicon.of(entries) if entries else NO_LEXICON
        self._kept[owner] = _Kept(lexicon, entries, read_at)
        while len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)


def _owners(tenant: str) -> tuple[str, ...]:
    """Whose lexicons hold for a tenant, the first first."""
    return (tenant, SERVICE) if tenant else (SERVICE,)
