"""Checkpoints of the released shapes, and what a step of theirs moves and multiplies."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from benchmarks.cpu import flop_per_patch
from benchmarks.gpu.arithmetic import against_the_machine, step_bytes
from benchmarks.gpu.checkpoints import SHAPES, make_checkpoint, shape_config
from benchmarks.gpu.engines import scenarios
from engine.weights import released_tensors
from models.voxcpm.checkpoint import load_checkpoint
from models.voxcpm.config import VoxCPMConfig
from models.voxcpm.model import VoxCPMModel
from models.voxcpm.requests.tokenizer import REFERENCE_END


def test_what_a_step_moves_and_multiplies_is_what_the_released_shapes_say() -> None:
    config = VoxCPMConfig.from_dict(shape_config("voxcpm2"))
    moved = step_bytes(config, 1, 0)
    assert moved["language_models_and_encoder"] == pytest.approx(3.855e9, rel=1e-3)
    assert moved["dit"] == pytest.approx(3.74e9, rel=1e-3)
    assert moved["vae"] == pytest.approx(0.183e9, rel=1e-2)
    assert step_bytes(config, 3, 100)["kv"] == 3 * 100 * 36_864
    assert flop_per_patch(config)["dit"] == pytest.approx(82.2e9, rel=1e-2)
    rates = {"copy_bytes_per_second": 4.8e12, "matrix_flop_per_second": 8e14}
    one = against_the_machine(config, {"rows_of_fullest_step": 1, "step_ms_p50": 4.0}, 0, rates)
    assert one["floor_ms"] == pytest.approx(1.62, abs=0.01)
    assert one["times_the_floor"] == pytest.approx(4.0 / one["floor_ms"])
    many = against_the_machine(config, {"rows_of_fullest_step": 512, "step_ms_p50": 160.0}, 50, rates)
    assert many["share_of_matrix"] == pytest.approx(512 * 90.5e9 / 0.16 / 8e14, rel=0.01)
    assert many["floor_ms"] == pytest.approx(160 * many["share_of_matrix"])


@pytest.mark.parametrize(
    ("shape", "tensors", "millions"),
    [("voxcpm-0.5b", 377, 652.3), ("voxcpm1.5", 467, 801.7), ("voxcpm2", 577, 2290.0)],
)
def test_shapes_are_the_released_ones(shape: str, tensors: int, millions: float) -> None:
    config = VoxCPMConfig.from_dict(shape_config(shape))
    with torch.device("meta"):
        found = dict(released_tensors(VoxCPMModel(config)))
    assert len(found) == tensors
    assert sum(tensor.numel() for tensor in found.values()) / 1e6 == pytest.approx(millions, abs=0.05)
    assert config.lm_config.vocab_size > REFERENCE_END


def test_checkpoints_load_and_are_written_once(tmp_path: Path) -> None:
    directory = make_checkpoint("tiny", tmp_path)
    weights = directory / "model.safetensors"
    assert {tensor.dtype for tensor in load_file(weights).values()} == {torch.bfloat16}
    checkpoint = load_checkpoint(directory, "cpu", dtype=torch.bfloat16)
    hidden = torch.randn(64, checkpoint.config.lm_config.hidden_size).bfloat16()
    with torch.inference_mode():
        assert not checkpoint.model.stop_logits(hidden).argmax(-1).any()
    before = weights.stat().st_mtime_ns
    assert make_checkpoint("tiny", tmp_path) == directory
    assert weights.stat().st_mtime_ns == before
    with pytest.raises(SystemExit):
        scenarios.parse(["--shape", "voxcpm3"])
    assert "tiny" in SHAPES
