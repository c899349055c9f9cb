"""What a step of VoxCPM must move and multiply, and what the machine can: the floor under every time.

A step reads the language models and the local encoder once, the DiT once per solver step, the audio decoder
once, and the keys and values of every stream; it multiplies for every row. For VoxCPM2 at one stream that is
7.8 GB, 1.6 ms at 4.8 TB/s.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import torch

from benchmarks.cpu import flop_per_patch
from benchmarks.gpu.work import TIMESTEPS
from engine.kv_cache.pool import bytes_per_block
from models.voxcpm.config import VoxCPMConfig
from models.voxcpm.flow_matching import num_zero_steps
from models.voxcpm.model import VoxCPMModel
from models.voxcpm.vae.audio_vae import AudioVAE

BF16, FP32 = 2, 4


@lru_cache(maxsize=4)
def bytes_read_once(config: VoxCPMConfig) -> dict[str, float]:
    """Bytes of weights that a step reads, however many streams it serves."""
    with torch.device("meta"):
        model = VoxCPMModel(config)
        decoder = AudioVAE(config.audio_vae_config).decoder
    count = {name: sum(p.numel() for p in child.parameters()) for name, child in model.named_children()}
    embeddings = sum(p.numel() for p in model.base_lm.embed_tokens.parameters())
    constant = (model.dit.time_mlp, model.dit.delta_time_mlp)
    dit = count.pop("feat_decoder") - sum(p.numel() for part in constant for p in part.parameters())
    return {
        "language_models_and_encoder": BF16 * (sum(count.values()) - embeddings),
        "dit": BF16 * dit * (TIMESTEPS - num_zero_steps(TIMESTEPS)),
        "vae": FP32 * sum(p.numel() for p in decoder.parameters()),
    }


def step_bytes(config: VoxCPMConfig, streams: int, context: float) -> dict[str, float]:
    """Bytes that one step of `streams` decodes reads; `context`: mean positions of a stream."""
    lm, layers = config.lm_config, config.lm_config.num_hidden_layers + config.residual_lm_num_layers
    position = bytes_per_block(layers, 1, lm.num_key_value_heads, lm.head_dim, torch.bfloat16)
    return bytes_read_once(config) | {"kv": position * streams * context}


def against_the_machine(
    config: VoxCPMConfig, figures: dict[str, Any], context: float, rates: dict[str, float]
) -> dict[str, float]:
    """Rates that the median step reached, and their share of what the machine was measured to do."""
    rows, seconds = figures["rows_of_fullest_step"], figures["step_ms_p50"] / 1e3
    moved = sum(step_bytes(config, rows, context).values())
    multiplied = rows * sum(flop_per_patch(config).values())
    floor = max(moved / rates["copy_bytes_per_second"], multiplied / rates["matrix_flop_per_second"])
    return {
        "gigabytes_per_second": moved / seconds / 1e9,
        "share_of_copy": moved / seconds / rates["copy_bytes_per_second"],
        "teraflop_per_second": multiplied / seconds / 1e12,
        "share_of_matrix": multiplied / seconds / rates["matrix_flop_per_second"],
        "floor_ms": 1e3 * floor,
        "times_the_floor": seconds / floor,
    }


def machine_rates(device: torch.device) -> dict[str, float]:
    """Measured bytes per second of a large copy (read and written) and bf16 operations per second."""
    cuda = device.type == "cuda"
    size, edge = ((1 << 30), 8192) if cuda else ((1 << 24), 256)
    source = torch.empty(size, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    copy = fastest(lambda: target.copy_(source), device)
    a, b = torch.randn(2, edge, edge, device=device).bfloat16().unbind(0)
    product = fastest(lambda: torch.mm(a, b), device)
    return {"copy_bytes_per_second": 2 * size / copy, "matrix_flop_per_second": 2 * edge**3 / product}


def fastest(work: Callable[[], object], device: torch.device, repeats: int = 10) -> float:
    """Seconds of the fastest of some runs."""
    best = math.inf
    for _ in range(repeats + 2):
        _wait(device)
        began = time.perf_counter()
        work()
        _wait(device)
        best = min(best, time.perf_counter() - began)
    return best


def _wait(device: torch.device) -> None:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
