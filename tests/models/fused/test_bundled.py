"""The bundled voice in the forms for CUDA, in Triton's interpreter: its layers have sizes of their own."""

from __future__ import annotations

import copy
import json
from pathlib import Path

import pytest
import torch

import models.voxcpm
from engine.device import devices
from engine.device.devices import runs_triton
from models.transformer.stack import Transformer, bidirectional_attention
from models.voxcpm.config import VoxCPMConfig
from models.voxcpm.fused.linear import FusedLinear
from models.voxcpm.fused.model import fuse_model
from models.voxcpm.model import VoxCPMModel

Models = tuple[VoxCPMModel, VoxCPMModel]


@pytest.fixture(scope="module")
def both() -> Models:
    """With random weights and one layer of each kind, as it is and fused."""
    config = json.loads((Path(models.voxcpm.__file__).parent / "bundled" / "config.json").read_text())
    config["residual_lm_num_layers"] = config["lm_config"]["num_hidden_layers"] = 1
    config["encoder_config"]["num_layers"] = config["dit_config"]["num_layers"] = 1
    torch.manual_seed(4)
    plain = VoxCPMModel(VoxCPMConfig.from_dict(config)).eval()
    fused = copy.deepcopy(plain)
    fuse_model(fused)
    return plain, fused


def test_the_forms_want_triton_and_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    assert runs_triton(torch.device("cuda")) and not runs_triton(torch.device("cpu"))
    monkeypatch.setattr(devices, "find_spec", lambda name: None)
    assert not runs_triton(torch.device("cuda"))


@pytest.mark.parametrize("rows", [1, 22])
@torch.inference_mode()
def test_its_fused_stacks_compute_what_the_plain_ones_do(both: Models, rows: int) -> None:
    stacks = [[m for m in model.modules() if isinstance(m, Transformer)] for model in both]
    assert len(stacks[0]) == 4
    for plain, fused in zip(*stacks, strict=True):
        x = torch.randn(1, rows, plain.norm.hidden_size)
        expected = plain(x, None, bidirectional_attention)
        torch.testing.assert_close(fused(x, None, bidirectional_attention), expected, atol=1e-4, rtol=1e-4)


@torch.inference_mode()
def test_its_fused_projections_compute_what_the_plain_ones_do(both: Models) -> None:
    fused = {name: m for name, m in both[1].named_modules() if isinstance(m, FusedLinear)}
    assert "stop_proj" in fused
    for name, projection in fused.items():
        plain = both[0].get_submodule(name)
        x = torch.randn(3, plain.in_features)
        torch.testing.assert_close(projection(x), plain(x), atol=1e-4, rtol=1e-4)
