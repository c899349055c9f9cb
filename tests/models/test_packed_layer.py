"""Packed layers compute what the layers they replace compute."""

from __future__ import annotations

import copy
import dataclasses

import pytest
import torch

from models.transformer.packed import PackedLayer, pack_model
from models.transformer.stack import Transformer, bidirectional_attention
from models.voxcpm.checkpoint import Checkpoint


@pytest.mark.parametrize("keep", [None, slice(-2, None), slice(0, 1)])
@torch.inference_mode()
def test_a_packed_stack_equals_the_plain_one(checkpoint: Checkpoint, keep: slice | None) -> None:
    torch.manual_seed(1)
    plain = Transformer(checkpoint.config.dit_transformer()).eval()
    for name, parameter in plain.named_parameters():
        if "norm" in name:
            parameter.normal_(1.0, 0.3)
    packed = copy.deepcopy(torch.nn.ModuleList([plain]))
    pack_model(packed)
    assert all(isinstance(layer, PackedLayer) for layer in packed[0].layers)
    x, rope = torch.randn(3, 7, 64), plain.cos_sin(torch.arange(7))
    expected = plain(x, rope, bidirectional_attention, keep)
    actual = packed[0](x, rope, bidirectional_attention, keep)
    assert torch.allclose(actual, expected, atol=1e-5)


def test_a_stack_with_scaled_residuals_is_left_as_it_is(checkpoint: Checkpoint) -> None:
    config = dataclasses.replace(checkpoint.config.dit_transformer(), use_mup=True, scale_depth=1.4)
    stack = torch.nn.ModuleList([Transformer(config)])
    pack_model(stack)
    assert not any(isinstance(layer, PackedLayer) for layer in stack[0].layers)
