"""The widths of every released checkpoint, in a few layers: recorded, unrecorded and free steps agree."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from benchmarks.gpu.checkpoints import SHAPES, make_checkpoint
from benchmarks.gpu.engines.ours import graphs_against_eager
from models.voxcpm.checkpoint import load_checkpoint
from models.voxcpm.engine import EngineOptions
from tests.gpu.device import CUDA, DEVICE, needs_gpu

pytestmark = needs_gpu
SIZES = [1, 3, 8] if CUDA else [1]
OPTIONS = EngineOptions(
    max_num_seqs=SIZES[-1],
    max_model_len=256 if CUDA else 64,
    silence_guard=False,
    ratio_cap=False,
    attention_backend="triton",
)


@pytest.mark.parametrize("shape", SHAPES if CUDA else ["tiny"])
def test_steps_agree(shape: str, tmp_path: Path) -> None:
    path = make_checkpoint(shape, tmp_path, layers=2)
    checkpoint = load_checkpoint(path, str(DEVICE), dtype=torch.bfloat16)
    worst = graphs_against_eager(checkpoint, OPTIONS, SIZES, 4 if CUDA else 2)["worst"]
    assert worst["unrecorded_all_patches"] == 0 and worst["unrecorded_other_endings"] == 0, worst
    assert worst["free_first_patch"] < 0.1, worst
