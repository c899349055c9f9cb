"""Memory of the host for blocks of the KV cache, and copies between both.

    memory = HostMemory(pool, num_slots=4096)
    memory.store(blocks=[7, 9], slots=[0, 1])     # as they are now; the blocks may be overwritten at once
    transfer = memory.load(slots=[0], blocks=[3])
    transfer.done()                               # asked between two steps

A block is one copy over the bus, and those in slots that follow each other are one together
(`host_slots.py`). In the pool of the device a block lies in 2 x layers pieces; a kernel gathers or spreads
them.

On CUDA the memory is pinned, and all copies run on one stream of their own, in the order in which they were
asked for. No step waits for one, but for two reasons: what leaves is first gathered into one of a few
buffers of the device, in order with the kernels, and these may all be on their way yet; and blocks whose
sequence left while they were coming are not used otherwise before they have come. On other devices
everything happens in turn, through the same lines.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import Tensor

from engine.kv_cache.host_slots import HostSlots, Span, spans_of
from engine.kv_cache.pool import KVPool
from engine.side_stream import Moment, SideStream
from engine.staging import upload

BUFFER_BYTES, NUM_BUFFERS = 16 << 20, 4
"""Of the device, for what leaves it; a block at least."""
ASSUMED_BYTES_PER_SECOND = 8e9
"""Before the first copy was timed."""
MEMORY = 0.8
"""Weight of the pace that was known against each new copy."""


class HostMemory:
    """The `engine.kv_cache.host_tier.BlockStore` of a pool.

    settle: called before anything is copied; returns once nothing but this thread and the device's stream
        writes to the pool.

    Raises:
        EngineError: there is not so much memory.
    """

    def __init__(self, pool: KVPool, num_slots: int, settle: Callable[[], None] = lambda: None) -> None:
        self.num_slots = num_slots
        self._pool, self._settle = pool.tensor, settle
        layers, parts, _, *rest = pool.tensor.shape
        self._shape = (layers, parts, *rest)
        self._side = SideStream(pool.tensor.device, "kv")
        self._slots = HostSlots(num_slots, self._shape, pool.tensor.dtype, pool.tensor.is_cuda)
        self.block_bytes = self._slots.slot_bytes
        rows = max(1, BUFFER_BYTES // self.block_bytes)
        self._buffers = [_Buffer(self._empty(rows), self._side.moment()) for _ in range(NUM_BUFFERS)]
        self._next = 0
        self._pace = Pace(self.block_bytes / ASSUMED_BYTES_PER_SECOND)
        """Of loading."""

    def store(self, blocks: Sequence[int], slots: Sequence[int]) -> None:
        """See `BlockStore.store`."""
        self._settle()
        rows = len(self._buffers[0].tensor)
        for first in range(0, len(blocks), rows):
            buffer = self._buffers[self._next]
            self._next = (self._next + 1) % NUM_BUFFERS
            part, chosen = self._in_order(slots[first : first + rows], blocks[first : first + rows])
            buffer.read.hold_up()
            gathered = self._pool.index_select(2, chosen).permute(2, 0, 1, 3, 4, 5)
            buffer.tensor[: len(gathered)].copy_(gathered)
            self._side.follow()
            with self._side.on():
                for place, run in self._slots.runs(part):
                    run.copy_(buffer.tensor[place : place + len(run)], non_blocking=True)
            buffer.read = self._side.moment()

    def load(self, slots: Sequence[int], blocks: Sequence[int]) -> BlockTransfer:
        """See `BlockStore.load`."""
        self._settle()
        self._side.follow()  # what was launched for the former owners of these blocks
        began, began_at = self._side.moment(), time.perf_counter()
        with self._side.on():
            rows = len(self._buffers[0].tensor)
            for first in range(0, len(blocks), rows):
                self._spread(*self._in_order(slots[first : first + rows], blocks[first : first + rows]))
        ended = self._side.moment()
        seconds = time.perf_counter() - began_at
        return BlockTransfer(began, ended, len(blocks), seconds, self._pace)

    def _in_order(self, slots: Sequence[int], blocks: Sequence[int]) -> tuple[list[Span], Tensor]:
        """Slots by those that follow each other, and the block of each."""
        slots, blocks = zip(*sorted(zip(slots, blocks, strict=True)), strict=True)
        return spans_of(slots), upload(np.array(blocks), self._pool.device)

    def _spread(self, spans: list[Span], blocks: Tensor) -> None:
        arrived = torch.empty(len(blocks), *self._shape, dtype=self._pool.dtype, device=self._pool.device)
        for place, run in self._slots.runs(spans):
            arrived[place : place + len(run)].copy_(run, non_blocking=True)
        self._pool.index_copy_(2, blocks, arrived.permute(1, 2, 0, 3, 4, 5))

    def seconds_for(self, count: int) -> float:
        """See `BlockStore.seconds_for`; by the pace of the latest copies."""
        return count * self._pace.seconds_per_block

    def _empty(self, rows: int) -> Tensor:
        buffer = torch.empty(rows, *self._shape, dtype=self._pool.dtype, device=self._pool.device)
        self._side.borrow(buffer)
        return buffer


@dataclass(slots=True)
class _Buffer:
    """Of the device. read: when it was copied to the host last."""

    tensor: Tensor
    read: Moment


@dataclass(slots=True)
class Pace:
    """Of copies. assumed: until the first one was timed."""

    seconds_per_block: float
    assumed: bool = True

    def observe(self, count: int, seconds: float) -> None:
        """So many blocks took so long."""
        memory = 0.0 if self.assumed else MEMORY
        self.seconds_per_block = memory * self.seconds_per_block + (1 - memory) * seconds / count
        self.assumed = False


@dataclass(slots=True)
class BlockTransfer:
    """The `engine.kv_cache.host_tier.Transfer` of `count` blocks. seconds: of the host's own time."""

    began: Moment
    ended: Moment
    count: int
    seconds: float
    pace: Pace
    _seen: bool = field(default=False)

    def done(self) -> bool:
        """See `Transfer.done`."""
        if self.ended.past():
            self._see()
            return True
        return False

    def wait(self) -> None:
        """See `Transfer.wait`."""
        self.ended.wait()
        self._see()

    def abandon(self) -> None:
        """See `Transfer.abandon`."""
        self.ended.hold_up()

    def _see(self) -> None:
        self.ended.hold_up()
        if not self._seen:
            self._seen = True
            self.pace.observe(self.count, self.ended.seconds_since(self.began) or self.seconds)
