"""Clips that are made once and asked for again: how built-in voices sound."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from weakref import WeakValueDictionary

_MAX_KEPT = 64

Key = tuple[str, str]
"""Revision of the model, name of the voice."""


class ClipCache:
    """Clips by model and voice."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Key, bytes] = OrderedDict()
        self._locks: WeakValueDictionary[Key, asyncio.Lock] = WeakValueDictionary()

    def lock(self, key: Key) -> asyncio.Lock:
        """Held by who has the clip made."""
        return self._locks.setdefault(key, asyncio.Lock())

    def get(self, key: Key) -> bytes | None:
        """The clip, if there is one."""
        return self._kept.get(key)

    def keep(self, key: Key, clip: bytes) -> None:
        """Hold a clip; the oldest goes when there are too many."""
        self._kept[key] = clip
        if len(self._kept) > _MAX_KEPT:
            self._kept.popitem(last=False)
