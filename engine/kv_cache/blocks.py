"""The blocks of the device: how often each is used, what it holds, and which is handed out next."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from engine.kv_cache.host_tier import HostTier
from engine.kv_cache.prefix import Prefix


@dataclass(slots=True)
class Block:
    """`ref_count` block tables name this block; `prefix` is set once it is full and computed.

    reused: it was found by a second sequence, or is part of what lasts (`Sequence.num_lasting_tokens`).
    """

    ref_count: int = 0
    prefix: Prefix | None = None
    reused: bool = False


class Found(NamedTuple):
    """A prefix in a block of the device; None: it lies on the host."""

    prefix: Prefix
    block: int | None


class Blocks:
    """All of them, by number. `host`: where what they hold goes when they are handed out again."""

    def __init__(self, count: int, host: HostTier | None) -> None:
        self.states = [Block() for _ in range(count)]
        # Taken from the front: never cached or no longer valid first, then the least recently freed.
        self.free: OrderedDict[int, None] = OrderedDict.fromkeys(range(count))
        # Several blocks can hold the same prefix, when equal prompts were computed side by side.
        self.cached: dict[bytes, dict[int, None]] = {}
        self._host = host

    def find(self, prefix: Prefix) -> Found | None:
        """Where a prefix is, on the device or on the host."""
        for index in self.cached.get(prefix.digest, ()):
            held = self.states[index].prefix
            if held is not None and held.same_as(prefix):
                return Found(held, index)
        on_host = self._host is not None and self._host.has(prefix)
        return Found(prefix, None) if on_host else None

    def take(self) -> int:
        """A free block, for one table; its former contents go to the host."""
        index, _ = self.free.popitem(last=False)
        block = self.states[index]
        if self._host is not None and block.prefix is not None:
            self._host.keep(block.prefix, index, block.reused)
        self.forget(index)
        block.ref_count = 1
        return index

    def share(self, index: int, returns: bool) -> None:
        """One table more names a block. returns: it is its former owner's."""
        self.free.pop(index, None)
        self.states[index].ref_count += 1
        self.states[index].reused |= not returns

    def give_back(self, table: Iterable[int], reusable: bool) -> None:
        """A table names its blocks no longer. reusable: what they hold may be found by others."""
        for index in table:
            block = self.states[index]
            block.ref_count -= 1
            if block.ref_count == 0:
                if not reusable:
                    self.forget(index)
                self.free[index] = None
                self.free.move_to_end(index, last=block.prefix is not None)

    def register(self, index: int, prefix: Prefix) -> None:
        """A block holds a prefix, and is found by it."""
        self.states[index].prefix = prefix
        self.cached.setdefault(prefix.digest, {})[index] = None

    def forget(self, index: int) -> None:
        """What the block holds is found by nobody any more."""
        block = self.states[index]
        if block.prefix is not None:
            holders = self.cached[block.prefix.digest]
            del holders[index]
            if not holders:
                del self.cached[block.prefix.digest]
            block.prefix, block.reused = None, False
