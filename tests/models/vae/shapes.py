"""Small VAEs of every shape, and random adapters of their decoders."""

from __future__ import annotations

import torch

from benchmarks.shared.adapter_work import random_layers
from engine.layers.low_rank import LowRank
from models.voxcpm.config import AudioVAEConfig
from models.voxcpm.vae.adapted_decoder import adaptable_convolutions
from models.voxcpm.vae.audio_vae import AudioVAE

SHAPES = {
    "depthwise": {"depthwise": True, "decoder_rates": (5, 3, 2)},
    "dense": {"depthwise": False, "decoder_rates": (4, 4, 2)},
    "conditioned": {"decoder_rates": (8, 2), "out_sample_rate": 48000, "sr_bin_boundaries": (20000, 40000)},
    "concatenated": {
        "decoder_rates": (2, 3),
        "sr_bin_boundaries": (20000,),
        "cond_type": "concat",
        "cond_dim": 6,
        "cond_out_layer": True,
    },
    "added": {"decoder_rates": (2, 3), "sr_bin_boundaries": (20000,), "cond_type": "add"},
}


def make_vae(shape: str) -> AudioVAE:
    torch.manual_seed(3)
    return AudioVAE(
        AudioVAEConfig(encoder_dim=4, encoder_rates=(2, 3), latent_dim=8, decoder_dim=32, **SHAPES[shape])
    ).eval()


def random_decoder(config: AudioVAEConfig, seed: int = 0, rank: int = 3) -> dict[str, LowRank]:
    return random_layers(adaptable_convolutions(config), seed, rank, 0.1)
