"""How many blocks of KV cache the engine of a text model gets when nobody says how many.

Wanted is room for `max_num_seqs` sequences of full length; what fits of that `engine.kv_cache.sizing` tells.
"""

from __future__ import annotations

import torch

from engine.attention.streamed import PART_POSITIONS
from engine.errors import RequestError
from engine.kv_cache.pool import blocks_for_sequences, bytes_per_block
from engine.kv_cache.sizing import GIB, available_bytes, blocks_on_device, bounded_blocks, host_slots
from models.llm.checkpoint import TextCheckpoint
from models.llm.options import TextOptions

CPU_CACHE_BYTES = 4 * GIB
"""The most bytes of keys and values on a CPU."""
FIXED_RESERVE_BYTES = GIB
"""Libraries' workspaces, kernels, recorded steps."""
LOGITS_BYTES = 24
"""Bytes for each row and token of the vocabulary: logits as they come, after penalties, as probabilities and
sorted, and how often an answer has the token."""
WIDTHS = 8
"""What a position of a prompt takes in a layer, in multiples of its widest row."""


def reserve_bytes(checkpoint: TextCheckpoint, options: TextOptions) -> int:
    """Device memory that the cache leaves alone."""
    config = checkpoint.config
    logits = options.max_num_seqs * config.vocab_size * LOGITS_BYTES
    widest = max(config.hidden_size, 2 * config.intermediate_size)
    rows = options.batched_tokens(checkpoint.device.type) * (2 * widest + WIDTHS * config.hidden_size)
    return FIXED_RESERVE_BYTES + logits + rows * checkpoint.dtype.itemsize


def _block_bytes(checkpoint: TextCheckpoint, options: TextOptions) -> int:
    """Bytes of one block, all layers together."""
    config = checkpoint.config
    _, heads = checkpoint.part.heads(config.num_attention_heads, config.num_key_value_heads)
    size, width = options.block_size, config.head_dim
    return bytes_per_block(config.num_hidden_layers, size, len(heads), width, checkpoint.kv_dtype)


def default_blocks(checkpoint: TextCheckpoint, options: TextOptions, max_model_len: int) -> int:
    """Blocks for an engine, or one rank of it, whose weights are loaded already. Raises EngineError."""
    size = options.block_size
    wanted = blocks_for_sequences(options.max_num_seqs, max_model_len, size)
    least = blocks_for_sequences(1, options.max_model_len or size, size)
    if options.kv_offload:
        budget = _offload_bytes(options, checkpoint.device)
        return bounded_blocks(wanted, least, budget, _block_bytes(checkpoint, options))
    return blocks_on_device(
        wanted,
        least,
        _block_bytes(checkpoint, options),
        reserve_bytes(checkpoint, options),
        checkpoint.device,
        share=options.gpu_memory_utilization,
        host_bytes=CPU_CACHE_BYTES,
    )


def check_offload(options: TextOptions) -> None:
    """Raises RequestError for options that do not go with `kv_offload`, or not without it."""
    ring = options.gpu_kv_blocks
    if ring is not None and not options.kv_offload:
        raise RequestError("gpu_kv_blocks goes with kv_offload=True", "gpu_kv_blocks")
    if ring is not None and ring < 2:
        raise RequestError(f"gpu_kv_blocks must be at least 2, got {ring}", "gpu_kv_blocks")
    if options.kv_offload and options.graphs == "static":
        raise RequestError("kv_offload has no recorded steps: graphs must be auto or off", "graphs")


def ring_blocks(options: TextOptions) -> int | None:
    """Blocks of one layer that pass through the device; None without `kv_offload`."""
    if not options.kv_offload:
        return None
    return options.gpu_kv_blocks or 2 * max(1, PART_POSITIONS // options.block_size) + 1


def _offload_bytes(options: TextOptions, device: torch.device) -> int:
    if options.kv_host_gib:
        return int(options.kv_host_gib * GIB)
    available = int(available_bytes() * 2 * options.kv_host_share)
    return min(available, CPU_CACHE_BYTES) if device.type == "cpu" else available


def second_tier_slots(checkpoint: TextCheckpoint, options: TextOptions, num_blocks: int) -> int:
    """Blocks on the host, beside so many on the device. Raises EngineError."""
    if options.kv_offload:
        return 0
    size, share = _block_bytes(checkpoint, options), options.kv_host_share
    return host_slots(options.kv_host_gib, size, num_blocks, checkpoint.device, share)
