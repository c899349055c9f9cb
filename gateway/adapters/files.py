"""The files of adapters, as workers get them (`worker.protocol.pack_adapter`), named by their digests.

A request holds an `OpenAdapter` from its beginning to its end. Its file can be read as long as somebody holds
it, by whatever worker a clip moves to, also when the adapter was deleted meanwhile.
"""

from __future__ import annotations

import asyncio
import os
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from weakref import WeakValueDictionary

from gateway.errors import ApiError
from gateway.files.content_files import ContentFiles
from gateway.files.plain_files import descriptor_of


class OpenAdapter:
    """A file that is kept open, and closed with the last of its users."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        weakref.finalize(self, os.close, descriptor)

    def read(self) -> bytes:
        """The whole file. Blocks. Raises OSError."""
        return os.pread(self._descriptor, os.fstat(self._descriptor).st_size, 0)


class AdapterFiles:
    """The files of adapters, by digest; those that are used now are open."""

    def __init__(self, store: ContentFiles) -> None:
        self.store = store
        self._open: WeakValueDictionary[str, OpenAdapter] = WeakValueDictionary()

    async def open(self, digest: str) -> OpenAdapter:
        """For one user; who uses the same at the same time shares it. Raises ApiError 503 when it is gone."""
        if (found := self._open.get(digest)) is not None:
            return found
        with _readable():
            descriptor = await asyncio.to_thread(descriptor_of, self.store.path(digest), os.O_RDONLY)
        opened = OpenAdapter(descriptor)
        return self._open.setdefault(digest, opened)

    async def read(self, digest: str) -> bytes:
        """What a worker gets that lacks it. Raises ApiError 503."""
        opened = await self.open(digest)
        with _readable():
            return await asyncio.to_thread(opened.read)


@contextmanager
def _readable() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ApiError(503, "adapters_unavailable", "the adapter's file cannot be read") from error
