"""What an adapter can change of the audio VAE's decoder: its convolutions, as matrices on windows of frames.

A causal convolution is one product over its window, [outputs, taps * inputs], and a transposed one over pairs
of frames, [stride * outputs, 2 * inputs] (`streaming_layers.py`). Low-rank matrices of these sizes are added
to its weight:

    sizes = adaptable_convolutions(config.audio_vae_config)    # {"audio_vae.decoder.model.0": (640, 448)}
    vae = vae_with(checkpoint.vae, layers)                     # decodes with them; its encoder is the same

Latents mean the same to every decoder, so language models, prompts and references know nothing of it.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping

import torch
from torch import Tensor, nn

from engine.layers.low_rank import LowRank
from models.transformer.adapted import Size
from models.voxcpm.config import AudioVAEConfig
from models.voxcpm.vae.audio_vae import AudioVAE, CausalConv1d, CausalUpsample1d, Decoder

PREFIX = "audio_vae.decoder."
"""What the released names of its layers begin with."""


def adaptable_convolutions(config: AudioVAEConfig) -> dict[str, Size]:
    """Released name -> size of every convolution of the decoder that mixes channels."""
    with torch.device("meta"):
        decoder = Decoder(config)
    return {PREFIX + name: _size(layer) for name, layer in _convolutions(decoder)}


def decoder_layers(layers: Mapping[str, LowRank]) -> dict[str, LowRank]:
    """The layers of an adapter that are in the decoder."""
    return {name: layer for name, layer in layers.items() if name.startswith(PREFIX)}


def added_weights(decoder: Decoder, layers: Mapping[str, LowRank]) -> dict[str, Tensor]:
    """Weights of `decoder`, by their names in it, with what `layers` add, whose `up` have the scale.

    Gradients flow back to the layers. Layers of other modules are left out.
    """
    return {
        f"{name}.weight": layer.weight + _weight(layer, *layers[PREFIX + name])
        for name, layer in _convolutions(decoder)
        if PREFIX + name in layers
    }


@torch.no_grad()
def vae_with(vae: AudioVAE, layers: Mapping[str, LowRank]) -> AudioVAE:
    """The VAE with what `layers` add to its decoder; both VAEs share all that these leave as it is."""
    device = next(vae.decoder.parameters()).device
    moved = {name: LowRank(*(tensor.to(device) for tensor in layer)) for name, layer in layers.items()}
    with torch.device("meta"):
        found = AudioVAE(vae.config)
    shared = {id(tensor): tensor for tensor in vae.decoder.parameters()}
    found.encoder, found.decoder = vae.encoder, copy.deepcopy(vae.decoder, shared)
    found.decoder.load_state_dict(added_weights(vae.decoder, moved), strict=False, assign=True)
    return found.eval().requires_grad_(False)


def _convolutions(decoder: Decoder) -> list[tuple[str, nn.Conv1d | nn.ConvTranspose1d]]:
    return [
        (name, layer)
        for name, layer in decoder.named_modules()
        if isinstance(layer, (CausalConv1d, CausalUpsample1d)) and layer.groups == 1
    ]


def _size(layer: nn.Conv1d | nn.ConvTranspose1d) -> Size:
    """The size of the layer's `streaming_layers.pair_weight` or `window_weight`."""
    if isinstance(layer, CausalUpsample1d):
        return layer.stride[0] * layer.out_channels, 2 * layer.in_channels
    return layer.out_channels, layer.kernel_size[0] * layer.in_channels


def _weight(layer: nn.Conv1d | nn.ConvTranspose1d, down: Tensor, up: Tensor) -> Tensor:
    """up down, a matrix on windows, in the form of the layer's weight."""
    if isinstance(layer, CausalUpsample1d):
        stride, outputs, inputs = layer.stride[0], layer.out_channels, layer.in_channels
        before, now = (up @ down).view(stride, outputs, 2, inputs).permute(2, 3, 1, 0)
        return torch.cat([now, before], dim=-1)
    return (up @ down).view(layer.out_channels, layer.kernel_size[0], layer.in_channels).transpose(1, 2)
