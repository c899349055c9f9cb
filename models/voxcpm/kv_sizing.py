"""How many blocks of KV cache an engine of VoxCPM gets when nobody says how many.

Wanted is room for `max_num_seqs` sequences of typical length, and for one of full length; what fits of that
`engine.kv_cache.sizing` tells.
"""

from __future__ import annotations

import torch

from engine.kv_cache.pool import blocks_for_sequences, bytes_per_block
from engine.kv_cache.sizing import GIB, blocks_on_device, host_slots
from engine.parallel.part import WHOLE, Part
from models.lora.layout import SlotLayout
from models.voxcpm.adapters import products, slot_shape
from models.voxcpm.config import VoxCPMConfig
from models.voxcpm.options import EngineOptions

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


def adapter_bytes(config: VoxCPMConfig, options: EngineOptions, dtype: torch.dtype) -> int:
    """Device memory of the slots that there are from the start."""
    room = options.adapter_room
    if room is None:
        return 0
    return room.slots * SlotLayout(products(config), slot_shape(config, room)).size * dtype.itemsize


def _block_bytes(config: VoxCPMConfig, options: EngineOptions, dtype: torch.dtype, part: Part = WHOLE) -> int:
    """Bytes of one block, all layers together."""
    lm = config.lm_config
    layers = lm.num_hidden_layers + config.residual_lm_num_layers
    _, heads = part.heads(lm.num_attention_heads, lm.num_key_value_heads)
    return bytes_per_block(layers, options.block_size, len(heads), lm.head_dim, dtype)


def default_blocks(
    config: VoxCPMConfig,
    options: EngineOptions,
    max_model_len: int,
    device: torch.device,
    dtype: torch.dtype,
    part: Part = WHOLE,
) -> int:
    """Blocks for an engine on `device`, or one rank of it, whose weights are loaded already. Raises
    EngineError."""
    return blocks_on_device(
        wanted_blocks(config, options, max_model_len),
        blocks_for_sequences(1, max_model_len, options.block_size),
        _block_bytes(config, options, dtype, part),
        reserve_bytes(options) + adapter_bytes(config, options, dtype),
        device,
        share=options.gpu_memory_utilization,
    )


def second_tier_slots(
    config: VoxCPMConfig, options: EngineOptions, num_blocks: int, device: torch.device, dtype: torch.dtype
) -> int:
    """Blocks on the host, beside so many on the device. Raises EngineError."""
    size = _block_bytes(config, options, dtype)
    return host_slots(options.kv_host_gib, size, num_blocks, device, options.kv_host_share)
