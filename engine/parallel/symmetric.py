"""Sums over GPUs that can write into each other's memory, where that is faster than NCCL.

The memory is torch's symmetric memory, the sums are those of `engine.kernels.norms.exchange`. Up to which
size they are used is measured at the start, by all ranks together, so that all choose the same. Multicast
stays off.

A kernel that waits for a rank that is gone would wait for ever, and with it everything on its GPU: `release`
tells it, from any thread, that all others were there.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor
from torch import distributed as dist

from engine.device.cuda_graphs import GraphRecorder
from engine.device.staging import upload
from engine.kernels.norms.exchange import (
    NEVER,
    ROW_BYTES,
    Mailbox,
    exchange,
    exchange_add_and_norm,
    mailbox_bytes,
)
from engine.parallel.group import Group, Place
from engine.parallel.own_numbers import OwnNumbers

logger = logging.getLogger(__name__)

MOST_BYTES = 1 << 27
"""The most bytes of a mailbox."""
MOST_ROOM = 2048
COLUMNS = 4096
ROWS = (1, 8, 64, 256, 1024, 2048)
"""Of sums of so many columns in bf16 that are measured, rising."""
TRIES, REPEATS = 4, 8


class SymmetricSums:
    """Sums of up to `most_rows` rows.

    Raises RuntimeError, AttributeError or KeyError where the GPUs cannot reach each other's memory, or
    PyTorch has no symmetric memory.
    """

    def __init__(self, place: Place, store: dist.Store, device: torch.device) -> None:
        os.environ.setdefault("TORCH_SYMM_MEM_DISABLE_MULTICAST", "1")
        from torch.distributed import _symmetric_memory as symmetric

        room = min(MOST_ROOM, MOST_BYTES // (2 * place.size * ROW_BYTES))
        size = mailbox_bytes(room, place.size)
        self._memory = symmetric.empty(size, dtype=torch.uint8, device=device)
        self._memory.zero_()
        torch.cuda.synchronize(device)
        with _named(place, store) as name:
            self._handle = symmetric.rendezvous(self._memory, name)
        own = self._memory.data_ptr() - self._handle.buffer_ptrs[place.rank]
        self._box = _mailbox(place.rank, [begin + own for begin in self._handle.buffer_ptrs], room, device)
        spare = torch.zeros(size, dtype=torch.uint8, device=device)
        self._flags, self._spare = _flags(self._memory, self._box), spare
        self._rehearsed = _mailbox(place.rank, [spare.data_ptr()] * place.size, room, device)
        _flags(spare, self._rehearsed).fill_(NEVER)
        self._released = torch.full_like(self._flags, NEVER, device="cpu").pin_memory()
        self._beside = torch.cuda.Stream(device)
        self.most_rows, self.muted = room, False

    def all_reduce(self, x: Tensor) -> Tensor | None:
        """The sum over all ranks, a new tensor like x [..., N]; None for what is not served."""
        rows = x.reshape(-1, x.shape[-1]) if x.dim() else x.reshape(1, 1)
        if not self._serves(rows):
            return None
        return exchange(self._mailbox, rows).view(x.shape)

    def add_and_norm(
        self, partials: Tensor, residual: Tensor, norm: Tensor, eps: float, alpha: float
    ) -> tuple[Tensor, Tensor] | None:
        """See `exchange_add_and_norm`; None for what is not served."""
        if not self._serves(partials[0]):
            return None
        return exchange_add_and_norm(self._mailbox, partials, residual, norm, eps, alpha)

    def release(self) -> None:
        """Whoever waits for another rank goes on, with sums that mean nothing."""
        with torch.cuda.device(self._memory.device), torch.cuda.stream(self._beside):
            self._flags.copy_(self._released, non_blocking=True)

    def _serves(self, rows: Tensor) -> bool:
        fits = self._box.serves(*rows.shape) and len(rows) <= self.most_rows
        wide = rows.dtype is torch.int64 and rows.shape[-1] * 8 > ROW_BYTES
        return fits and not wide and rows.dtype in (torch.float32, torch.bfloat16, torch.int64)

    @property
    def _mailbox(self) -> Mailbox:
        return self._rehearsed if self.muted else self._box


def choose_sums(
    group: Group, backend: dist.Backend, place: Place, store: dist.Store, device: torch.device
) -> SymmetricSums | None:
    """What serves sums faster than `group` does by NCCL, and for which sizes; None where nothing does."""
    sums: SymmetricSums | None = None
    try:
        sums = SymmetricSums(place, store, device)
    except (RuntimeError, AttributeError, KeyError) as error:
        logger.info("no symmetric memory on %s: %s", device, error)
    able = group.all_reduce(torch.full((1,), float(sums is not None), device=device)).item()
    if sums is None or able < place.size:
        return None
    fastest, most = Group(place, backend, sums), 0
    for rows in (rows for rows in ROWS if rows <= sums.most_rows):
        x = torch.zeros(rows, COLUMNS, dtype=torch.bfloat16, device=device)
        own = [_seconds(lambda x=x, by=by: by.all_reduce(x), device) for by in (group, fastest)]
        plain, symmetric = group.all_reduce(upload(np.array(own, np.float32), device)).tolist()
        logger.info(
            "a sum of %d rows: NCCL %.1f us, ours %.1f",
            rows,
            1e6 * plain / place.size,
            1e6 * symmetric / place.size,
        )
        if symmetric >= plain:
            break
        most = rows
    sums.most_rows = most
    return sums if most else None


@contextmanager
def _named(place: Place, store: dist.Store) -> Iterator[str]:
    """The name of a group in PyTorch's registry, where it stands while memory is shared and not longer, and
    nobody else has its name."""
    from torch._C import _distributed_c10d as registry

    name = f"voxfleet-{place.name}"
    numbered = OwnNumbers(store)  # PyTorch's part of it does not keep ours alive
    group = dist.ProcessGroup(dist.PrefixStore(name, numbered), place.rank, place.size)
    registry._register_process_group(name, group)
    try:
        yield name
    finally:
        registry._unregister_process_group(name)


def _mailbox(rank: int, addresses: list[int], room: int, device: torch.device) -> Mailbox:
    numbers = torch.zeros(room, dtype=torch.int64, device=device)
    return Mailbox(rank, upload(np.array(addresses, np.int64), device), numbers)


def _flags(memory: Tensor, box: Mailbox) -> Tensor:
    return memory[: 8 * box.room * box.ranks].view(torch.int64)


def _seconds(compute: Callable[[], object], device: torch.device) -> float:
    """Seconds of one `compute` within a recorded step, the best of some tries."""
    recorder, best = GraphRecorder(device), float("inf")
    replay = recorder.record(lambda: [compute() for _ in range(REPEATS)])
    for _ in range(TRIES):
        torch.cuda.synchronize(device)
        began = time.perf_counter()
        replay()
        torch.cuda.synchronize(device)
        best = min(best, (time.perf_counter() - began) / REPEATS)
    recorder.forget()
    return best
