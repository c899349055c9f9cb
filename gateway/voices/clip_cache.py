"""Clips that are made once and asked for again: how voices sound."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import NamedTuple
from weakref import WeakValueDictionary

_MAX_BYTES = 32 << 20
"""Some sixty sentences."""


class ClipKey(NamedTuple):
    """What tells clips apart."""

    revision: str
    """The revision of the model."""
    voice: str
    """Name or id."""
    version: str = ""
    """The version of all that the voice sounds by; another one is another clip."""


class ClipCache:
    """Clips by model and voice; beyond `max_bytes` those go that were not asked for the longest."""

    def __init__(self, max_bytes: int = _MAX_BYTES) -> None:
        self._max_bytes = max_bytes
        self._bytes = 0
        self._kept: OrderedDict[ClipKey, bytes] = OrderedDict()
        self._locks: WeakValueDictionary[ClipKey, asyncio.Lock] = WeakValueDictionary()

    def lock(self, key: ClipKey) -> asyncio.Lock:
        """Held by who has the clip made."""
        return self._locks.setdefault(key, asyncio.Lock())

    def get(self, key: ClipKey) -> bytes | None:
        """The clip, if there is one."""
        if key in self._kept:
            self._kept.move_to_end(key)
        return self._kept.get(key)

    def keep(self, key: ClipKey, clip: bytes) -> None:
        """Hold a clip, and no other version of it. One that is larger than all that may be kept is not."""
        if len(clip) > self._max_bytes:
            return
        for known in [known for known in self._kept if known[:2] == key[:2]]:
            self._drop(known)
        self._kept[key] = clip
        self._bytes += len(clip)
        while self._bytes > self._max_bytes:
            self._drop(next(iter(self._kept)))

    def forget(self, voice: str) -> None:
        """Drop every clip of a voice."""
        for key in [key for key in self._kept if key.voice == voice]:
            self._drop(key)

    def _drop(self, key: ClipKey) -> None:
        self._bytes -= len(self._kept.pop(key))
