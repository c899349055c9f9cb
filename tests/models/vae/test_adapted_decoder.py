"""What an adapter adds to a convolution is what its matrices add to the product over its window."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from engine.layers.low_rank import LowRank
from models.voxcpm.vae.adapted_decoder import (
    PREFIX,
    adaptable_convolutions,
    added_weights,
    decoder_layers,
    vae_with,
)
from models.voxcpm.vae.audio_vae import CausalUpsample1d
from models.voxcpm.vae.streaming_layers import pair_weight, window_weight
from models.voxcpm.vae.streaming_vae import StreamingDecoder
from tests.models.vae.shapes import SHAPES, make_vae, random_decoder


def matrix(layer: nn.Module) -> torch.Tensor:
    return pair_weight(layer) if isinstance(layer, CausalUpsample1d) else window_weight(layer)


@pytest.mark.parametrize("shape", SHAPES)
@torch.inference_mode()
def test_the_matrices_are_added_to_those_on_windows_and_to_nothing_else(shape: str) -> None:
    vae = make_vae(shape)
    before = {name: tensor.clone() for name, tensor in vae.state_dict().items()}
    layers = random_decoder(vae.config)
    found = vae_with(vae, layers | {"base_lm.layers.0.self_attn.q_proj": LowRank(*torch.ones(2, 1, 1))})
    for name, (down, up) in layers.items():
        own, new = (each.get_submodule(name.removeprefix("audio_vae.")) for each in (vae, found))
        assert torch.allclose(matrix(new), matrix(own) + up @ down, atol=1e-6)
    changed = {f"{name.removeprefix('audio_vae.')}.weight" for name in layers}
    for name, tensor in found.state_dict().items():
        assert torch.equal(tensor, before[name]) == (name not in changed), name
    assert all(torch.equal(tensor, before[name]) for name, tensor in vae.state_dict().items())
    assert found.encoder is vae.encoder


@pytest.mark.parametrize("shape", SHAPES)
def test_every_convolution_that_mixes_channels_may_change(shape: str) -> None:
    vae = make_vae(shape)
    wanted = {
        f"audio_vae.{name}"
        for name, layer in vae.named_modules()
        if name.startswith("decoder.")
        and isinstance(layer, nn.Conv1d | nn.ConvTranspose1d)
        and layer.groups == 1
    }
    names = adaptable_convolutions(vae.config).keys()
    assert names == wanted and all(name.startswith(PREFIX) for name in names)
    depthwise = [layer for layer in vae.decoder.modules() if getattr(layer, "groups", 1) > 1]
    assert bool(depthwise) == (SHAPES[shape].get("depthwise", True))
    assert decoder_layers({"base_lm.norm": 1, f"{PREFIX}model.0": 2}) == {f"{PREFIX}model.0": 2}


@pytest.mark.parametrize("shape", SHAPES)
@torch.inference_mode()
def test_decoders_of_the_same_slots_decode_as_each_would_alone(shape: str) -> None:
    """In turns, in slots that change hands: from one decoder to the other, and with a history."""
    vae = make_vae(shape)
    vaes = [vae, vae_with(vae, random_decoder(vae.config))]
    shared = StreamingDecoder(vae, num_slots=3)
    decoders = [shared, shared.of(vaes[1])]
    assert decoders[1]._storage is shared._storage
    latents = torch.randn(2, 8, 2, 8)
    whole = [each.decode(row.flatten(0, 1).T[None])[0, 0] for each, row in zip(vaes, latents, strict=True)]
    scale, length = torch.cat(whole).abs().max(), len(whole[0]) // 8
    assert (whole[0] - vaes[1].decode(latents[0].flatten(0, 1).T[None])[0, 0]).abs().max() > 0.01 * scale
    for slots in ((0, 2), (2, 0)):
        for decoder, slot, row in zip(decoders, slots, latents, strict=True):
            decoder.start(slot, row[:3])
        for patch in range(3, 8):
            for decoder, slot, row, expected in zip(decoders, slots, latents, whole, strict=True):
                heard = decoder.decode(row[patch : patch + 1], torch.tensor([slot]))[0]
                part = expected[patch * length : (patch + 1) * length]
                assert (heard - part).abs().max() <= 1e-5 * scale


def test_gradients_flow_back_to_the_matrices() -> None:
    vae = make_vae("dense")
    layers = {
        name: LowRank(*(tensor.requires_grad_() for tensor in layer))
        for name, layer in random_decoder(vae.config).items()
    }
    weights = added_weights(vae.decoder, layers)
    torch.func.functional_call(vae.decoder, weights, (torch.randn(1, 8, 4),)).square().sum().backward()
    assert all(tensor.grad is not None for layer in layers.values() for tensor in layer)
