"""The audio VAE: waveform to 25 Hz latents and back, with causal convolutions throughout.

Both generations are one definition. This is the form for training, for encoding and for decoding a
clip at once; `streaming_vae.StreamingDecoder` runs the same weights patch by patch.

    audio = vae.decode(latents)        # [B, D, N] -> [B, 1, N * output_hop_length]
    latents = vae.encode(audio)        # [B, 1, T], T a multiple of hop_length -> [B, D, T / hop_length]
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine.layers.embedding import embedding
from models.voxcpm.config import AudioVAEConfig


class CausalConv1d(nn.Conv1d):
    """Convolution that sees the past only. `context` is its left context in input frames."""

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        *,
        context: int | None = None,
        stride: int = 1,
        dilation: int = 1,
        groups: int = 1,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride=stride, dilation=dilation, groups=groups
        )
        self.context = (kernel_size - 1) * dilation if context is None else context

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(F.pad(x, (self.context, 0)) if self.context else x)


class CausalUpsample1d(nn.ConvTranspose1d):
    """Transposed convolution, kernel 2 * stride: an output frame sees the current and the previous input."""

    context = 1

    def __init__(self, in_channels: int, out_channels: int, stride: int) -> None:
        super().__init__(in_channels, out_channels, kernel_size=2 * stride, stride=stride)

    def forward(self, x: Tensor) -> Tensor:
        stride = self.stride[0]
        return super().forward(x)[..., :-stride]


class Snake(nn.Module):
    """x + sin(alpha x)^2 / alpha (Ziyin et al. 2020), one alpha per channel."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.alpha = nn.Parameter(torch.ones(1, channels, 1))

    def forward(self, x: Tensor) -> Tensor:
        return x + (self.alpha + 1e-9).reciprocal() * torch.sin(self.alpha * x).square()


class ResidualUnit(nn.Module):
    def __init__(self, dim: int, dilation: int, groups: int) -> None:
        super().__init__()
        self.block = nn.Sequential(
            Snake(dim),
            CausalConv1d(dim, dim, 7, dilation=dilation, groups=groups),
            Snake(dim),
            CausalConv1d(dim, dim, 1),
        )

    def forward(self, x: Tensor) -> Tensor:
        return x + self.block(x)


class EncoderBlock(nn.Module):
    """Three residual units, then a strided convolution that doubles the channels."""

    def __init__(self, input_dim: int, stride: int, groups: int, odd_stride_padding: bool) -> None:
        super().__init__()
        context = stride + stride % 2 if odd_stride_padding else stride
        self.block = nn.Sequential(
            *(ResidualUnit(input_dim, dilation, groups) for dilation in (1, 3, 9)),
            Snake(input_dim),
            CausalConv1d(input_dim, 2 * input_dim, 2 * stride, stride=stride, context=context),
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.block(x)


class Encoder(nn.Module):
    def __init__(self, config: AudioVAEConfig) -> None:
        super().__init__()
        dim = config.encoder_dim
        blocks: list[nn.Module] = [CausalConv1d(1, dim, 7)]
        for stride in config.encoder_rates:
            groups = dim if config.depthwise else 1
            blocks.append(EncoderBlock(dim, stride, groups, config.odd_stride_padding))
            dim *= 2
        self.block = nn.Sequential(*blocks)
        self.fc_mu = CausalConv1d(dim, config.latent_dim, 3)
        self.fc_logvar = CausalConv1d(dim, config.latent_dim, 3)

    def forward(self, audio: Tensor) -> tuple[Tensor, Tensor]:
        """audio [B, 1, T] -> (mean, log variance), both [B, D, T / hop_length]."""
        hidden = self.block(audio)
        return self.fc_mu(hidden), self.fc_logvar(hidden)


class DecoderBlock(nn.Module):
    """Upsampling that halves the channels, then three residual units."""

    def __init__(self, input_dim: int, output_dim: int, stride: int, groups: int) -> None:
        super().__init__()
        self.input_dim = input_dim
        self.block = nn.Sequential(
            Snake(input_dim),
            CausalUpsample1d(input_dim, output_dim, stride),
            *(ResidualUnit(output_dim, dilation, groups) for dilation in (1, 3, 9)),
        )

    def forward(self, x: Tensor) -> Tensor:
        return self.block(x)


class SampleRateCondition(nn.Module):
    """Conditions a decoder block on the bucket of the output sample rate."""

    def __init__(self, dim: int, num_buckets: int, config: AudioVAEConfig) -> None:
        super().__init__()
        self.cond_type = config.cond_type
        out_dim = dim
        if self.cond_type in ("scale_bias", "scale_bias_init"):
            self.scale_embed = embedding(num_buckets, dim)
            self.bias_embed = embedding(num_buckets, dim)
        elif self.cond_type == "add":
            self.cond_embed = embedding(num_buckets, dim)
        elif self.cond_type == "concat":
            self.cond_embed = embedding(num_buckets, config.cond_dim)
            out_dim = dim + config.cond_dim
        else:
            raise ValueError(f"audio_vae_config.cond_type {self.cond_type!r} is unknown")
        self.out_layer = (
            nn.Sequential(Snake(out_dim), CausalConv1d(out_dim, dim, 1))
            if config.cond_out_layer
            else nn.Sequential()
        )

    def apply_embedding(self, x: Tensor, bucket: Tensor) -> Tensor:
        """x [B, C, T], bucket [1] -> [B, C', T], before the output layer."""
        if self.cond_type.startswith("scale_bias"):
            return x * self.scale_embed(bucket)[..., None] + self.bias_embed(bucket)[..., None]
        vector = self.cond_embed(bucket)[..., None]
        if self.cond_type == "add":
            return x + vector
        return torch.cat([x, vector.expand(len(x), -1, x.shape[-1])], dim=1)

    def forward(self, x: Tensor, bucket: Tensor) -> Tensor:
        return self.out_layer(self.apply_embedding(x, bucket))


class Decoder(nn.Module):
    def __init__(self, config: AudioVAEConfig) -> None:
        super().__init__()
        dim = config.decoder_dim
        if config.depthwise:
            layers: list[nn.Module] = [
                CausalConv1d(config.latent_dim, config.latent_dim, 7, groups=config.latent_dim),
                CausalConv1d(config.latent_dim, dim, 1),
            ]
        else:
            layers = [CausalConv1d(config.latent_dim, dim, 7)]
        for stride in config.decoder_rates:
            out_dim = dim // 2
            layers.append(DecoderBlock(dim, out_dim, stride, out_dim if config.depthwise else 1))
            dim = out_dim
        layers += [Snake(dim), CausalConv1d(dim, 1, 7)]
        self.model = nn.ModuleList(layers)
        self._add_sample_rate_condition(config)

    def _add_sample_rate_condition(self, config: AudioVAEConfig) -> None:
        if config.sr_bin_boundaries is None:
            return
        boundaries = torch.tensor(config.sr_bin_boundaries, dtype=torch.int32, device="cpu")
        self.register_buffer("sr_bin_boundaries", boundaries)
        self.sr_cond_model = nn.ModuleDict(
            {
                str(i): SampleRateCondition(layer.input_dim, len(boundaries) + 1, config)
                for i, layer in enumerate(self.model)
                if isinstance(layer, DecoderBlock)
            }
        )
        rate = torch.tensor([config.output_sample_rate], dtype=torch.int32, device="cpu")
        self.register_buffer("sample_rate_bucket", torch.bucketize(rate, boundaries), persistent=False)

    def forward(self, latents: Tensor) -> Tensor:
        """latents [B, D, N] -> audio [B, 1, N * output_hop_length] in [-1, 1]."""
        conditions = getattr(self, "sr_cond_model", {})
        x = latents
        for i, layer in enumerate(self.model):
            if str(i) in conditions:
                x = conditions[str(i)](x, self.sample_rate_bucket)
            x = layer(x)
        return torch.tanh(x)


class AudioVAE(nn.Module):
    def __init__(self, config: AudioVAEConfig) -> None:
        super().__init__()
        self.config = config
        self.encoder = Encoder(config)
        self.decoder = Decoder(config)

    def encode(self, audio: Tensor) -> Tensor:
        """audio [B, 1, T] -> latent means [B, D, T / hop_length].

        Raises ValueError for a T that is no multiple of hop_length.
        """
        if audio.shape[-1] % self.config.hop_length:
            raise ValueError(
                f"audio length {audio.shape[-1]} is not a multiple of {self.config.hop_length} samples"
            )
        return self.encoder(audio)[0]

    def decode(self, latents: Tensor) -> Tensor:
        """latents [B, D, N] -> audio [B, 1, N * output_hop_length]; silence came before."""
        return self.decoder(latents)


def fold_weight_norm(state: dict[str, Tensor]) -> dict[str, Tensor]:
    """Replace weight-norm pairs (`weight_g`, `weight_v` or torch parametrizations) by plain weights.

    weight = g * v / ||v||, the norm over all dimensions but the first (Salimans & Kingma 2016). Half a pair
    stays as it is.
    """
    folded = dict(state)
    for g_suffix, v_suffix in (
        ("weight_g", "weight_v"),
        ("parametrizations.weight.original0", "parametrizations.weight.original1"),
    ):
        stems = [name[: -len(g_suffix)] for name in state if name.endswith(g_suffix)]
        for stem in [stem for stem in stems if stem + v_suffix in state]:
            g, v = folded.pop(stem + g_suffix).float(), folded.pop(stem + v_suffix).float()
            folded[stem + "weight"] = v * (g / v.flatten(1).norm(dim=1).view(g.shape))
    return folded


def receptive_field_frames(config: AudioVAEConfig) -> int:
    """How many earlier latent frames can influence an output sample of the decoder."""
    frames, rate = 6.0, 1
    for stride in config.decoder_rates:
        frames += 1 / rate
        rate *= stride
        frames += 6 * (1 + 3 + 9) / rate
    return math.ceil(frames + 6 / rate)
