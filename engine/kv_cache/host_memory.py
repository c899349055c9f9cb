"""Memory of the host for blocks of the KV cache, and copies between both.

    memory = HostMemory(pool, num_slots=4096)
    memory.store(blocks=[7, 9], slots=[0, 1])     # as they are now; the blocks may be overwritten at once
    transfer = memory.load(slots=[0], blocks=[3])
    transfer.done()                               # asked between two steps
    memory.load([1], [4], at_once=True)           # kernels launched from now on see it

A block is one copy over the bus, and those in slots that follow each other are one together
(`host_slots.py`). In the pool of the device a block lies in 2 x layers pieces; a kernel gathers or spreads
them.

On CUDA the memory is pinned, and copies run on a stream of their own, in the order in which they were asked
for. A step waits for a copy in three cases only. What leaves is first gathered into one of a few buffers of
the device, in order with the kernels, and all these buffers may still be in use. Blocks whose sequence left
while they were coming are not used for anything else before they have come. And what the next step reads
comes at once, on a stream of its own, beneath the step that is under way:

    kernels:   step n             | spread | step n + 1
    at once:   copy over the bus |

The host waits for neither. On other devices everything happens in turn, through the same lines.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from engine.device.side_stream import Moment, SideStream
from engine.device.staging import upload
from engine.kv_cache.host_slots import HostSlots, Span, spans_of
from engine.kv_cache.host_tier import Transfer
from engine.kv_cache.pool import KVPool

BUFFER_BYTES, NUM_BUFFERS = 16 << 20, 4
"""Buffers on the device for blocks that leave it, each of a block at least."""
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
        self._pool, self._settle = _in_words(pool.tensor), settle
        layers, parts, _, *rest = self._pool.shape
        self._shape = (layers, parts, *rest)
        device = pool.tensor.device
        self._side, self._fast = SideStream(device, "kv"), SideStream(device, "kv at once")
        self._slots = HostSlots(num_slots, self._shape, self._pool.dtype, pool.tensor.is_cuda)
        self.block_bytes = self._slots.slot_bytes
        self._rows = max(1, BUFFER_BYTES // self.block_bytes)
        self._buffers = [_Buffer(self._empty(self._rows), self._side.moment()) for _ in range(NUM_BUFFERS)]
        self._next = 0
        self._leaving: list[tuple[Moment, set[int]]] = []
        """Slots that are being written, until when."""
        self._read = self._fast.moment()
        """When slots were read at once last."""
        self._pace = Pace()
        self._warm_up()

    def store(self, blocks: Sequence[int], slots: Sequence[int]) -> None:
        """See `BlockStore.store`."""
        self._settle()
        self._leaving = [(end, written) for end, written in self._leaving if not end.past()]
        for some_slots, some_blocks in self._parts(slots, blocks):
            buffer = self._buffers[self._next]
            self._next = (self._next + 1) % NUM_BUFFERS
            part, chosen = self._in_order(some_slots, some_blocks)
            buffer.read.hold_up()
            gathered = self._pool.index_select(2, chosen).permute(2, 0, 1, 3, 4, 5)
            buffer.tensor[: len(gathered)].copy_(gathered)
            self._side.follow()
            with self._side.on():
                self._read.hold_up()
                for place, run in self._slots.runs(part):
                    run.copy_(buffer.tensor[place : place + len(run)], non_blocking=True)
            buffer.read = self._side.moment()
            self._leaving.append((buffer.read, set(some_slots)))

    def load(self, slots: Sequence[int], blocks: Sequence[int], at_once: bool = False) -> Transfer:
        """See `BlockStore.load`."""
        self._settle()
        if at_once:
            return self._load_at_once(slots, blocks)
        self._side.follow()  # what was launched for the former owners of these blocks
        with self._side.on():
            for part in self._parts(slots, blocks):
                spans, chosen = self._in_order(*part)
                self._spread(self._bring(spans, self._side), chosen)
        return BlockTransfer(self._side.moment())

    def _load_at_once(self, slots: Sequence[int], blocks: Sequence[int]) -> Transfer:
        with self._fast.on():
            for end, written in self._leaving:
                if not written.isdisjoint(slots):
                    end.hold_up()
            ordered = [self._in_order(*part) for part in self._parts(slots, blocks)]
            parts = [(self._bring(spans, self._fast), chosen) for spans, chosen in ordered]
        self._read = self._fast.moment()
        self._fast.join(*(tensor for part in parts for tensor in part))
        for arrived, chosen in parts:
            self._spread(arrived, chosen)
        return Here()

    def seconds_for(self, count: int) -> float:
        """See `BlockStore.seconds_for`; by the pace of the latest copies over the bus."""
        return count * self._pace.seconds_per_block()

    def _parts(
        self, slots: Sequence[int], blocks: Sequence[int]
    ) -> Iterator[tuple[Sequence[int], Sequence[int]]]:
        """As many as fit into a buffer."""
        for first in range(0, len(slots), self._rows):
            yield slots[first : first + self._rows], blocks[first : first + self._rows]

    def _in_order(self, slots: Sequence[int], blocks: Sequence[int]) -> tuple[list[Span], Tensor]:
        """Slots by those that follow each other, and the block of each."""
        slots, blocks = zip(*sorted(zip(slots, blocks, strict=True)), strict=True)
        return spans_of(slots), upload(np.array(blocks), self._pool.device)

    def _bring(self, spans: list[Span], side: SideStream) -> Tensor:
        """What lies in slots, on the device, in order with `side`, which is current."""
        count = sum(span.count for span in spans)
        arrived = torch.empty(count, *self._shape, dtype=self._pool.dtype, device=self._pool.device)
        began, began_at = side.moment(), time.perf_counter()
        for place, run in self._slots.runs(spans):
            arrived[place : place + len(run)].copy_(run, non_blocking=True)
        ended = side.moment()
        self._pace.watch(Copy(began, ended, count, time.perf_counter() - began_at))
        return arrived

    def _spread(self, arrived: Tensor, blocks: Tensor) -> None:
        self._pool.index_copy_(2, blocks, arrived.permute(1, 2, 0, 3, 4, 5))

    def _warm_up(self) -> None:
        """Loads kernels, which takes milliseconds, and learns the pace, before anybody comes back. Blocks are
        written with what they hold."""
        some = range(min(self.num_slots, self._rows, self._pool.shape[2]))
        for _ in range(2):  # the first copy is slow
            self._pace = Pace()
            self.store(some, some)
            self.load(some, some, at_once=True)
            self._read.wait()

    def _empty(self, rows: int) -> Tensor:
        buffer = torch.empty(rows, *self._shape, dtype=self._pool.dtype, device=self._pool.device)
        self._side.borrow(buffer)
        return buffer


def _in_words(tensor: Tensor) -> Tensor:
    """A view of the tensor as 8 byte numbers where they fit: kernels gather and spread numbers one by one."""
    fit = tensor.shape[-1] * tensor.itemsize % torch.int64.itemsize == 0
    return tensor.view(torch.int64) if fit else tensor


@dataclass(slots=True)
class _Buffer:
    """A buffer on the device. read: when it was last copied to the host."""

    tensor: Tensor
    read: Moment


class Copy(NamedTuple):
    """A copy of `count` blocks over the bus. seconds: what it took of the host's own time."""

    began: Moment
    ended: Moment
    count: int
    seconds: float


class Pace:
    """Seconds per block of copies over the bus alone: waiting, and loading kernels to spread the first of
    them, would make later ones look slow, too."""

    def __init__(self) -> None:
        self._known = 0.0
        self._watched: list[Copy] = []

    def watch(self, copy: Copy) -> None:
        """Learns from a copy once it is done."""
        self._watched.append(copy)

    def seconds_per_block(self) -> float:
        """0 before the first copy is done."""
        watched, self._watched = self._watched, []
        for copy in watched:
            if copy.ended.past():
                seconds = (copy.ended.seconds_since(copy.began) or copy.seconds) / copy.count
                self._known = MEMORY * self._known + (1 - MEMORY) * seconds if self._known else seconds
            else:
                self._watched.append(copy)
        return self._known


class Here:
    """The `engine.kv_cache.host_tier.Transfer` of what comes in order with the kernels."""

    def done(self) -> bool:
        """See `Transfer.done`."""
        return True

    def wait(self) -> None:
        """See `Transfer.wait`."""

    def abandon(self) -> None:
        """See `Transfer.abandon`."""


@dataclass(slots=True)
class BlockTransfer:
    """The `engine.kv_cache.host_tier.Transfer` of what comes beside the kernels."""

    ended: Moment

    def done(self) -> bool:
        """See `Transfer.done`."""
        if self.ended.past():
            self.ended.hold_up()
            return True
        return False

    def wait(self) -> None:
        """See `Transfer.wait`."""
        self.ended.wait()
        self.ended.hold_up()

    def abandon(self) -> None:
        """See `Transfer.abandon`."""
        self.ended.hold_up()
