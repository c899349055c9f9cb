"""Sums over GPUs by torch's symmetric memory, for sizes for which they are faster than NCCL's.

Every rank writes its part into a buffer that all others can read, and one kernel adds up what stands in all
of them. Which sizes that serves is measured at the start, by all ranks together, so that all choose the
same. Multicast stays off. **This file has not run on GPUs yet.**
"""

from __future__ import annotations

import logging
import os
import time

import numpy as np
import torch
from torch import Tensor
from torch import distributed as dist

from engine.parallel.group import Group, Place
from engine.staging import upload

logger = logging.getLogger(__name__)

SIZES = (1 << 13, 1 << 16, 1 << 19)
"""Bytes of the sums that are measured, rising; the last one is the size of the buffer."""
TRIES, REPEATS = 5, 20


class SymmetricSums:
    """Sums of up to `most_bytes` bytes through one buffer.

    Raises RuntimeError or AttributeError where the GPUs cannot read each other's memory, or PyTorch has no
    symmetric memory.
    """

    def __init__(self, place: Place, store: dist.Store, device: torch.device, most_bytes: int) -> None:
        os.environ.setdefault("TORCH_SYMM_MEM_DISABLE_MULTICAST", "1")
        from torch.distributed import _symmetric_memory as symmetric

        self.most_bytes, self._name = most_bytes, f"voxfleet-{place.name}"
        own_store = dist.PrefixStore(self._name, store)
        # The group is in no registry of PyTorch, where two engines could meet.
        symmetric._group_name_to_store[self._name] = own_store
        symmetric._SymmetricMemory.set_group_info(self._name, place.rank, place.size, own_store)
        self._buffer = symmetric.empty(most_bytes, dtype=torch.uint8, device=device)
        symmetric.rendezvous(self._buffer, self._name)

    def serves(self, x: Tensor) -> bool:
        fits = 0 < x.nbytes <= self.most_bytes and x.nbytes % 16 == 0
        return fits and x.dtype in (torch.float32, torch.bfloat16)

    def all_reduce(self, x: Tensor) -> Tensor:
        """The sum over all ranks, a new tensor like `x`."""
        buffer = self._buffer[: x.nbytes].view(x.dtype).view(x.shape)
        buffer.copy_(x)
        return torch.ops.symm_mem.one_shot_all_reduce(buffer, "sum", self._name)


def choose_sums(
    group: Group, backend: dist.Backend, place: Place, store: dist.Store, device: torch.device
) -> SymmetricSums | None:
    """What serves sums faster than `group` does by NCCL, and for which sizes; None where nothing does."""
    sums: SymmetricSums | None = None
    try:
        sums = SymmetricSums(place, store, device, SIZES[-1])
    except (RuntimeError, AttributeError, KeyError) as error:
        logger.info("no symmetric memory on %s: %s", device, error)
    able = group.all_reduce(torch.full((1,), float(sums is not None), device=device)).item()
    if sums is None or able < place.size:
        return None
    fastest = Group(place, backend, sums)
    most = 0
    for size in SIZES:
        x = torch.zeros(size // 2, dtype=torch.bfloat16, device=device)
        own = upload(np.array([_seconds(group, x), _seconds(fastest, x)], np.float32), device)
        plain, symmetric = group.all_reduce(own).tolist()
        if symmetric >= plain:
            break
        most = size
    logger.info("sums of up to %d bytes by symmetric memory on %s", most, device)
    sums.most_bytes = most
    return sums if most else None


def _seconds(group: Group, x: Tensor) -> float:
    """Of one sum, the best of some tries."""
    best = float("inf")
    for _ in range(TRIES):
        torch.cuda.synchronize(x.device)
        began = time.perf_counter()
        for _ in range(REPEATS):
            group.all_reduce(x)
        torch.cuda.synchronize(x.device)
        best = min(best, (time.perf_counter() - began) / REPEATS)
    return best
