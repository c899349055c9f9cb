"""Packed layers compute what the layers they replace compute."""

from __future__ import annotations

import copy
import dataclasses

import pytest
import torch

from engine.layers.packed import weight_dtype
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


@torch.inference_mode()
def test_of_a_flat_batch_the_last_layer_computes_what_is_read(checkpoint: Checkpoint) -> None:
    torch.manual_seed(1)
    plain = Transformer(checkpoint.config.dit_transformer()).eval()
    packed = copy.deepcopy(torch.nn.ModuleList([plain]))
    pack_model(packed)
    x, rope, places, queries = torch.randn(9, 64), plain.cos_sin(torch.arange(9)), torch.tensor([8, 2]), []

    def attention(layer: int, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        queries.append(len(q))
        return bidirectional_attention(layer, q[None], k[None], v[None])[0]

    expected = plain(x, rope, attention)[places]
    for stack in (plain, packed[0]):
        torch.testing.assert_close(stack(x, rope, attention, places), expected, atol=1e-5, rtol=1e-5)
    assert set(queries) == {9}


@torch.inference_mode()
def test_weights_in_bf16_cost_a_stack_no_more_than_their_rounding(checkpoint: Checkpoint) -> None:
    torch.manual_seed(1)
    config = dataclasses.replace(checkpoint.config.dit_transformer(), hidden_size=256, intermediate_size=512)
    plain = Transformer(config).eval()
    halved = copy.deepcopy(torch.nn.ModuleList([plain]))
    pack_model(halved, torch.bfloat16)
    x, rope = torch.randn(3, 7, 256), plain.cos_sin(torch.arange(7))
    expected = plain(x, rope, bidirectional_attention)
    actual = halved[0](x, rope, bidirectional_attention)
    rounded = copy.deepcopy(plain).bfloat16()
    halved_rope = tuple(factor.bfloat16() for factor in rope)
    cost = rounded(x.bfloat16(), halved_rope, bidirectional_attention).float() - expected
    assert actual.dtype == torch.float32 and not torch.equal(actual, expected)
    assert (actual - expected).square().mean() < cost.square().mean()


@pytest.mark.parametrize("wanted", ["auto", "float32", "bfloat16"])
def test_weights_are_halved_where_checkpoint_and_processor_have_bf16(
    wanted: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for capable in (False, True):
        monkeypatch.setattr("engine.layers.packed.multiplies_bf16", lambda capable=capable: capable)
        for stored in ("float32", "bfloat16"):
            halved = wanted == "bfloat16" or (wanted == "auto" and capable and stored == "bfloat16")
            assert weight_dtype(wanted, stored) is (torch.bfloat16 if halved else torch.float32)


def test_another_precision_of_weights_is_refused() -> None:
    with pytest.raises(ValueError, match="cpu_weights must be one of auto, float32, bfloat16, got 'int8'"):
        weight_dtype("int8", "bfloat16")


def test_a_stack_with_scaled_residuals_is_left_as_it_is(checkpoint: Checkpoint) -> None:
    config = dataclasses.replace(checkpoint.config.dit_transformer(), use_mup=True, scale_depth=1.4)
    stack = torch.nn.ModuleList([Transformer(config)])
    pack_model(stack)
    assert not any(isinstance(layer, PackedLayer) for layer in stack[0].layers)
