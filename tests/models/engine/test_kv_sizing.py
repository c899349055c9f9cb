"""The size of the KV cache when nobody gives it."""

from __future__ import annotations

import pytest
import torch

from engine.errors import EngineError
from engine.kv_cache.sizing import FREE_SHARE, GIB, bounded_blocks, budget_bytes
from models.voxcpm import kv_sizing
from models.voxcpm.checkpoint import Checkpoint
from models.voxcpm.kv_sizing import default_blocks
from models.voxcpm.options import EngineOptions

BLOCK_BYTES = 589_824
"""Of VoxCPM2: 16 positions, 36 layers, 2 heads of 128 in bf16."""


def test_what_is_wanted_is_given_where_it_fits() -> None:
    assert bounded_blocks(28672, 512, budget_bytes(100 * GIB, 10 * GIB), BLOCK_BYTES) == 28672


def test_free_memory_bounds_the_cache() -> None:
    assert bounded_blocks(28672, 512, budget_bytes(16 * GIB, 10 * GIB), BLOCK_BYTES) == 10376


@pytest.mark.parametrize("free", [0, 5 * GIB, 10 * GIB])
def test_not_even_one_sequence_is_an_error_that_says_what_to_do(free: int) -> None:
    with pytest.raises(EngineError, match=r"takes 0\.28 GiB.*max_model_len"):
        bounded_blocks(28672, 512, budget_bytes(free, 10 * GIB), BLOCK_BYTES)


def test_one_sequence_fits_exactly() -> None:
    assert bounded_blocks(28672, 512, 512 * BLOCK_BYTES, BLOCK_BYTES) == 512
    with pytest.raises(EngineError):
        bounded_blocks(28672, 512, 512 * BLOCK_BYTES - 1, BLOCK_BYTES)


def test_the_device_is_asked_on_cuda_alone(checkpoint: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    config, options = checkpoint.config, EngineOptions(max_num_seqs=64)
    arguments = config, options, config.max_length
    wanted = default_blocks(*arguments, torch.device("cpu"), torch.bfloat16)
    assert wanted == 64 * config.max_length // 16
    reserve = kv_sizing.reserve_bytes(options)
    monkeypatch.setattr(torch.cuda, "empty_cache", lambda: None)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (80 * GIB, 80 * GIB))
    assert default_blocks(*arguments, torch.device("cuda"), torch.bfloat16) == wanted
    block_bytes = 2 * 5 * 16 * 2 * 32 * 2
    free = reserve + int(100 * block_bytes / FREE_SHARE) + 1
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (free, 80 * GIB))
    assert default_blocks(*arguments, torch.device("cuda"), torch.bfloat16) == 100
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (free + 20 * GIB, 80 * GIB))
    shared = config, EngineOptions(max_num_seqs=64, gpu_memory_utilization=0.75), config.max_length
    assert default_blocks(*shared, torch.device("cuda"), torch.bfloat16) == 100
