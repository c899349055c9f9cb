"""Content files that rows of the database use: kept with the first row, deleted with the last."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import structlog

from gateway.errors import ApiError
from gateway.files.content_files import ContentFiles
from gateway.files.disk import not_stored

logger = structlog.get_logger(__name__)

_LEFTOVER_SECONDS = 3600.0
"""So long after a file was written, its row is in the database, or never will be."""


async def _nothing_more(sha256: str) -> None:
    """For files of which nothing else was made."""


class UsedFiles:
    """The files that rows of one table use."""

    def __init__(
        self,
        store: ContentFiles,
        what: str,
        uses: Callable[[str], Awaitable[bool]],
        on_delete: Callable[[str], Awaitable[None]] = _nothing_more,
    ) -> None:
        """`what`: one of them, as a client is told that it cannot be stored. `uses`: whether a row has the
        file of a hash; raises ApiError. `on_delete`: forgets what was made of a file; raises OSError.
        """
        self._store, self._what = store, what
        self._uses, self._on_delete = uses, on_delete
        self._changing = asyncio.Lock()
        """Between looking whether a file is used and acting on it."""

    @asynccontextmanager
    async def keeping(self, content: bytes, sha256: str) -> AsyncIterator[None]:
        """The file is there for a row that is added in the block. Raises ApiError 507."""
        async with self._changing:
            await self._save(content, sha256)
            try:
                yield
            except ApiError:
                await self._delete_unused(sha256)
                raise
            await self._save(content, sha256)  # another gateway may have deleted the last row that used it

    async def _save(self, content: bytes, sha256: str) -> None:
        try:
            await self._store.save(content, sha256)
        except OSError as error:
            logger.error("a file cannot be stored", what=self._what, error=type(error).__name__)
            raise not_stored(error, self._what) from error

    async def let_go(self, removal: Awaitable[str | None]) -> None:
        """`removal` of a row: the hash of its file where no other row uses that. Raises what that raises."""
        async with self._changing:
            unused = await removal
            if unused is not None:
                await self._delete(unused)

    async def remove_leftovers(self) -> None:
        """Remove files of a gateway that was killed between writing a file and its row."""
        try:
            for sha256 in await asyncio.to_thread(self._store.leftovers, _LEFTOVER_SECONDS):
                async with self._changing:
                    await self._delete_unused(sha256)
        except (ApiError, OSError) as error:
            logger.warning("unused files were not looked for", what=self._what, error=type(error).__name__)

    async def _delete_unused(self, sha256: str) -> None:
        if not await self._uses(sha256):
            await self._delete(sha256)

    async def _delete(self, sha256: str) -> None:
        """Unless another gateway has added a row for it. The row is gone, so a file that stays behind is
        an untidiness and no failure.
        """
        try:
            aside = await self._store.set_aside(sha256)
            if await self._is_used_again(sha256):
                await self._store.put_back(aside, sha256)
                return
            await self._store.delete(aside)
            await self._on_delete(sha256)
        except OSError as error:
            logger.error("a file cannot be deleted", what=self._what, error=type(error).__name__)

    async def _is_used_again(self, sha256: str) -> bool:
        """Also where nobody can tell."""
        try:
            return await self._uses(sha256)
        except ApiError:
            return True
