"""Sizes of the audio VAE."""

from __future__ import annotations

import math
from dataclasses import dataclass

from models.config_fields import ConfigError


@dataclass(frozen=True)
class AudioVAEConfig:
    """Shape of the audio VAE. `odd_stride_padding`: how the first generation pads strided convolutions."""

    encoder_dim: int = 128
    encoder_rates: tuple[int, ...] = (2, 5, 8, 8)
    latent_dim: int = 64
    decoder_dim: int = 1536
    decoder_rates: tuple[int, ...] = (8, 8, 5, 2)
    depthwise: bool = True
    sample_rate: int = 16000
    out_sample_rate: int | None = None
    use_noise_block: bool = False
    sr_bin_boundaries: tuple[int, ...] | None = None
    cond_type: str = "scale_bias"
    cond_dim: int = 128
    cond_out_layer: bool = False
    odd_stride_padding: bool = False

    def __post_init__(self) -> None:
        if self.use_noise_block:
            raise ConfigError(
                "audio_vae_config.use_noise_block is not supported: its output is not deterministic"
            )

    @property
    def hop_length(self) -> int:
        """Input samples per latent frame."""
        return math.prod(self.encoder_rates)

    @property
    def output_hop_length(self) -> int:
        """Output samples per latent frame."""
        return math.prod(self.decoder_rates)

    @property
    def output_sample_rate(self) -> int:
        return self.out_sample_rate or self.sample_rate
