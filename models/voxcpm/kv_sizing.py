"""How many blocks of KV cache an engine gets when nobody says how many.

Wanted is room for `max_num_seqs` sequences of typical length, and for one of full length. On CUDA what is
wanted is bounded by what is free once the weights are there: a reserve stays for the activations, the pool of
recorded steps and the streaming decoder's state, and of the rest the cache takes a share.

    wanted 28672 blocks of 0.5625 MiB, free 100 GiB, reserve 10 GiB -> 28672
    wanted 28672 blocks of 0.5625 MiB, free  16 GiB, reserve 10 GiB -> 10376
"""

from __future__ import annotations

import logging

import torch

from engine.errors import EngineError
from engine.kv_cache.pool import blocks_for_sequences, bytes_per_block
from models.voxcpm.config import VoxCPMConfig
from models.voxcpm.options import EngineOptions

logger = logging.getLogger(__name__)

GIB = 1 << 30
FREE_SHARE = 0.95
"""Of the free memory less the reserve; the rest is for what the allocator cannot use."""
FIXED_RESERVE_BYTES = 2 * GIB
"""Libraries' workspaces, kernels, prefill of the longest prompts."""
RESERVE_BYTES_PER_SEQUENCE = 16 << 20
"""Activations of a recorded step and the waveform stream of one sequence. Both are ample: beyond weights and
cache, an engine of VoxCPM2 for 64 sequences took 1.9 GiB of an H200, of the 3 that are left for it, and one
for 256 took 3.7 of 6."""


def wanted_blocks(config: VoxCPMConfig, options: EngineOptions, max_model_len: int) -> int:
    """Blocks for `max_num_seqs` sequences of typical length, and at least for one of full length."""
    positions = int(options.typical_seconds / config.patch_seconds) + 512
    typical = blocks_for_sequences(options.max_num_seqs, min(positions, max_model_len), options.block_size)
    return max(typical, blocks_for_sequences(1, max_model_len, options.block_size))


def reserve_bytes(options: EngineOptions) -> int:
    """Device memory that the cache leaves alone."""
    return FIXED_RESERVE_BYTES + options.max_num_seqs * RESERVE_BYTES_PER_SEQUENCE


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


def default_blocks(
    config: VoxCPMConfig,
    options: EngineOptions,
    max_model_len: int,
    device: torch.device,
    dtype: torch.dtype,
) -> int:
    """Blocks for an engine on `device`, whose weights are loaded already. Raises EngineError."""
    wanted = wanted_blocks(config, options, max_model_len)
    if device.type != "cuda":
        return wanted
    torch.cuda.empty_cache()
    free_bytes, _ = torch.cuda.mem_get_info(device)
    lm = config.lm_config
    layers = lm.num_hidden_layers + config.residual_lm_num_layers
    block_bytes = bytes_per_block(layers, options.block_size, lm.num_key_value_heads, lm.head_dim, dtype)
    least = blocks_for_sequences(1, max_model_len, options.block_size)
    blocks = bounded_blocks(wanted, least, budget_bytes(free_bytes, reserve_bytes(options)), block_bytes)
    logger.info(
        "KV cache: %d blocks of %d positions, %.2f GiB of %.2f GiB free (%d wanted)",
        blocks, options.block_size, blocks * block_bytes / GIB, free_bytes / GIB, wanted,
    )  # fmt: skip
    return blocks
