"""How many blocks of KV cache fit, when nobody says how many there are to be.

On CUDA what is wanted is bounded by what is free once the weights are there: a reserve stays for the
activations and the pool of recorded steps, and of the rest the cache takes a share.

    wanted 28672 blocks of 0.5625 MiB, free 100 GiB, reserve 10 GiB -> 28672
    wanted 28672 blocks of 0.5625 MiB, free  16 GiB, reserve 10 GiB -> 10376

How large its second tier is on the host, `host_slots` tells: what was asked for, or a share of what is free.
"""

from __future__ import annotations

import logging
import os
from pathlib import Path

import torch

from engine.errors import EngineError

logger = logging.getLogger(__name__)

GIB = 1 << 30
FREE_SHARE = 0.95
"""Share of the free memory, less the reserve; the rest is for what the allocator cannot use."""
HOST_SHARE, HOST_TIMES = 0.25, 4
"""When nobody says how much, the second tier takes at most this share of the host's available memory, and so
many times the device's part of the cache."""


def budget_bytes(free_bytes: int, reserve: int) -> int:
    """What the cache may take of the free memory."""
    return max(0, int((free_bytes - reserve) * FREE_SHARE))


def bounded_blocks(wanted: int, least: int, budget: int, block_bytes: int) -> int:
    """`wanted`, or as many blocks as fit into `budget` bytes.

    least: blocks of one sequence of full length. Raises EngineError when not even those fit.
    """
    blocks = min(wanted, budget // block_bytes)
    if blocks < least:
        raise EngineError(
            f"the KV cache of one sequence takes {least * block_bytes / GIB:.2f} GiB, and "
            f"{budget / GIB:.2f} GiB of the device's free memory are left for it; lower max_model_len or "
            "max_num_seqs (slots of a worker), or give kv_blocks"
        )
    return blocks


def blocks_on_device(
    wanted: int,
    least: int,
    block_bytes: int,
    reserve: int,
    device: torch.device,
    share: float = 1.0,
    host_bytes: int | None = None,
) -> int:
    """`wanted`, on CUDA bounded by what is free now less `reserve` bytes, elsewhere by `host_bytes`.

    share: of a GPU's memory that may be used in all. Raises as `bounded_blocks`.
    """
    if device.type != "cuda":
        return wanted if host_bytes is None else bounded_blocks(wanted, least, host_bytes, block_bytes)
    torch.cuda.empty_cache()
    free_bytes, total = torch.cuda.mem_get_info(device)
    usable = max(0, free_bytes - int(total * (1 - share)))
    blocks = bounded_blocks(wanted, least, budget_bytes(usable, reserve), block_bytes)
    logger.info(
        "KV cache: %d blocks, %.2f GiB of %.2f GiB free (%d wanted)",
        blocks, blocks * block_bytes / GIB, free_bytes / GIB, wanted,
    )  # fmt: skip
    return blocks


def host_slots(
    gib: float | None,
    block_bytes: int,
    device_blocks: int,
    device: torch.device,
    share: float = HOST_SHARE,
) -> int:
    """Blocks of the second tier, in `gib` GiB; None: as many as are worth it beside `device_blocks` on a GPU.

    share: of the available memory, where nobody says how much. On other devices the first tier lies in the
    same memory already, and None is 0. Raises EngineError when there is less memory than was asked for.
    """
    available = available_bytes()
    if gib is None:
        if device.type != "cuda":
            return 0
        wanted = HOST_TIMES * device_blocks * block_bytes
        return int(min(wanted, share * available)) // block_bytes
    if gib * GIB > available:
        raise EngineError(
            f"kv_host_gib is {gib:g}, and {available / GIB:.2f} GiB of the host's memory are available"
        )
    return int(gib * GIB) // block_bytes


def available_bytes(root: Path = Path("/")) -> int:
    """What this process can get of the host's memory, by the system and by its control group."""
    limits = [os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")]
    for line in _read(root / "proc/meminfo").splitlines():
        name, _, size = line.partition(":")
        if name == "MemAvailable":
            limits = [int(size.split()[0]) * 1024]
    group = root / "sys/fs/cgroup"
    most, used = _read(group / "memory.max").strip(), _read(group / "memory.current").strip()
    if most.isdigit() and used.isdigit():
        limits.append(max(0, int(most) - int(used)))
    return min(limits)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except OSError:  # not there on every system
        return ""
