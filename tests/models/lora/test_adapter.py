"""What is not finite once it is scaled, in the type it is served in, never gets to a model."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from engine.layers.low_rank import LowRank
from models.lora.adapter import Adapter, AdapterError
from models.lora.bank import AdapterBank
from models.voxcpm.adapters import load_adapter, products
from models.voxcpm.checkpoint import Checkpoint
from tests.models.lora.conftest import decoder_adapter, random_adapter

LAYER = "base_lm.layers.0.self_attn.q_proj"
BF16, FP16, FP32 = torch.bfloat16, torch.float16, torch.float32


def with_values(down: float, up: float, scale: float) -> Adapter:
    return Adapter({LAYER: LowRank(torch.full((2, 4), down), torch.full((3, 2), up))}, scale)


@pytest.mark.parametrize(
    ("adapter", "dtype", "reason"),
    [
        (with_values(1, 1, 1e300), FP32, "lora_B, times a scale of 1e.300, has values .* in torch.float32"),
        (with_values(1, 0, 1e300), FP32, "lora_B, times a scale of 1e.300"),
        (with_values(1, 3.4e38, 1), BF16, "lora_B, times a scale of 1, has values .* in torch.bfloat16"),
        (with_values(3.4e38, 1, 1), BF16, "lora_A has values .* in torch.bfloat16"),
        (with_values(1, 1000, 100), FP16, "lora_B, times a scale of 100, has values .* in torch.float16"),
    ],
)
def test_what_is_not_finite_as_it_is_served_is_named(
    adapter: Adapter, dtype: torch.dtype, reason: str
) -> None:
    with pytest.raises(AdapterError, match=f"{LAYER}.{reason}"):
        dict(adapter.scaled(dtype))


def test_layers_come_scaled_in_the_type_they_are_served_in() -> None:
    [(name, layer)] = with_values(1, 1000, 0.5).scaled(FP16)
    assert name == LAYER and layer.down.dtype == layer.up.dtype == FP16
    assert (layer.up == 500).all() and (layer.down == 1).all()


def test_no_form_of_the_model_takes_it(checkpoint: Checkpoint) -> None:
    adapter = replace(random_adapter(), scale=1e300)
    bank = AdapterBank(products(checkpoint.config), FP32, torch.device("cpu"), 2)
    before = bank.generation
    with pytest.raises(AdapterError, match="times a scale"):
        bank.load(adapter)
    bank.renew()
    assert bank.generation is before
    with pytest.raises(AdapterError, match="times a scale"):
        load_adapter(checkpoint.model, adapter)


def test_layers_of_the_decoder_are_no_exception() -> None:
    adapter = decoder_adapter(1, random_adapter())
    scales = dict(adapter.scales) | {list(adapter.scales)[-1]: 1e300}
    with pytest.raises(AdapterError, match=r"audio_vae\.decoder\..*times a scale"):
        dict(replace(adapter, scales=scales).scaled())
