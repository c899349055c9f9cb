"""How many blocks of KV cache fit, when nobody says how many there are to be.

On CUDA what is wanted is bounded by what is free once the weights are there: a reserve stays for the
activations and the pool of recorded steps, and of the rest the cache takes a share.

    wanted 28672 blocks of 0.5625 MiB, free 100 GiB, reserve 10 GiB -> 28672
    wanted 28672 blocks of 0.5625 MiB, free  16 GiB, reserve 10 GiB -> 10376
"""

from __future__ import annotations

import logging

import torch

from engine.errors import EngineError

logger = logging.getLogger(__name__)

GIB = 1 << 30
FREE_SHARE = 0.95
"""Of the free memory less the reserve; the rest is for what the allocator cannot use."""


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
