"""Discriminators of the audio VAE's late training: complex spectra at three resolutions, five periods.

After Défossez et al. 2022 (multi-scale STFT) and Kong et al. 2020 (multi-period), both small. The
losses are least squares and feature matching.
"""

from __future__ import annotations

from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm

from models.voxcpm.training.speech.teachers import SPEECH_RATE

Judgement = tuple[Tensor, list[Tensor]]
SLOPE = 0.1
LOUDNESS = 5.0  # speech at training level is quiet; fresh discriminators learn faster from louder input
QUIET_POWER = 0.1  # of a spectrum's bin: what lies below, 55 dB under the loudest, counts little
TILT_HZ = 1000.0  # from here on spectra are lifted with the frequency, as speech falls


def _conv(inputs: int, outputs: int, kernel: tuple[int, int], stride: tuple[int, int] = (1, 1)) -> nn.Module:
    """Weights as large as their input's level asks for (He et al. 2015): with PyTorch's, five layers fade."""
    conv = nn.Conv2d(inputs, outputs, kernel, stride, (kernel[0] // 2, kernel[1] // 2))
    nn.init.kaiming_normal_(conv.weight, a=SLOPE)
    nn.init.zeros_(conv.bias)
    return weight_norm(conv)


def _score(inputs: int, kernel: tuple[int, int]) -> nn.Module:
    """The last layer, which at first says of everything what is right of half."""
    conv = nn.Conv2d(inputs, 1, kernel, 1, (kernel[0] // 2, kernel[1] // 2))
    nn.init.constant_(conv.bias, 0.5)
    return weight_norm(conv)


class _ConvStack(nn.Module):
    """Convolutions with leaky ReLU; returns the score map and every layer's features."""

    def __init__(self, layers: list[nn.Module], last: nn.Module) -> None:
        super().__init__()
        self.layers, self.last = nn.ModuleList(layers), last

    def forward(self, x: Tensor) -> Judgement:
        features = []
        for layer in self.layers:
            x = x.contiguous(memory_format=torch.channels_last)  # the layout of tensor cores
            x = F.leaky_relu(layer(x), SLOPE)
            features.append(x)
        return self.last(x), features


class SpectrumDiscriminator(nn.Module):
    """Judges the complex spectrum, compressed by a square root, with its log magnitude and the frequency.

    The compression is nearly linear below QUIET_POWER: a gradient through the root of nothing is endless, and
    the silence between two words would outweigh the words.
    """

    def __init__(self, window: int, channels: int = 32) -> None:
        super().__init__()
        frequency = torch.linspace(0, 1, window // 2 + 1)
        lift = (frequency * SPEECH_RATE / 2 / TILT_HZ).clamp_min(1.0)
        self.register_buffer("taper", torch.hann_window(window), persistent=False)
        self.register_buffer("frequency", (2 * frequency - 1)[:, None], persistent=False)
        self.register_buffer("lift", lift[:, None], persistent=False)
        strided = [_conv(channels, channels, (9, 3), (2, 1)) for _ in range(3)]
        layers = [_conv(4, channels, (9, 3)), *strided, _conv(channels, channels, (3, 3))]
        self.stack = _ConvStack(layers, _score(channels, (3, 3)))

    def view(self, audio: Tensor) -> Tensor:
        """audio [B, 1, T] -> [B, 4, bins, frames]."""
        window = len(self.taper)
        with torch.autocast(audio.device.type, enabled=False):
            z = torch.stft(audio[:, 0].float(), window, window // 4, window=self.taper, return_complex=True)
            real, imaginary = z.real * self.lift, z.imag * self.lift
            power = real.square() + imaginary.square() + QUIET_POWER
            root = power.pow(-0.25)
            frequency = self.frequency.expand_as(power)
            return torch.stack([real * root, imaginary * root, 0.5 * power.log10(), frequency], 1)


class PeriodDiscriminator(nn.Module):
    """Judges the waveform folded at a period."""

    def __init__(self, period: int, channels: tuple[int, ...] = (32, 96, 256, 512)) -> None:
        super().__init__()
        self.period = period
        sizes = (1, *channels)
        layers = [_conv(a, b, (5, 1), (3, 1)) for a, b in pairwise(sizes)]
        self.stack = _ConvStack(layers, _score(channels[-1], (3, 1)))

    def view(self, audio: Tensor) -> Tensor:
        """audio [B, 1, T] -> [B, 1, T / period, period]."""
        padded = F.pad(audio, (0, -audio.shape[-1] % self.period), mode="reflect")
        return padded.unflatten(-1, (-1, self.period))


class Discriminators(nn.Module):
    """All eight."""

    def __init__(self) -> None:
        super().__init__()
        spectra = [SpectrumDiscriminator(window) for window in (2048, 1024, 512)]
        self.members = nn.ModuleList([*spectra, *(PeriodDiscriminator(p) for p in (2, 3, 5, 7, 11))])

    def forward(self, audio: Tensor) -> list[Judgement]:
        """audio [B, 1, T] -> one judgement per discriminator."""
        audio = LOUDNESS * audio
        return [member.stack(member.view(audio)) for member in self.members]


def discriminator_loss(real: list[Judgement], made: list[Judgement]) -> Tensor:
    """Real scores toward 1, made ones toward 0, mean over discriminators."""
    losses = [
        (1 - r.float()).square().mean() + m.float().square().mean()
        for (r, _), (m, _) in zip(real, made, strict=True)
    ]
    return torch.stack(losses).mean()


def margin(real: list[Judgement], made: list[Judgement]) -> Tensor:
    """By how much real speech scores higher, mean over discriminators: 0 where they see no difference."""
    return torch.stack(
        [r.float().mean() - m.float().mean() for (r, _), (m, _) in zip(real, made, strict=True)]
    ).mean()


def generator_loss(real: list[Judgement], made: list[Judgement], matching_weight: float = 2.0) -> Tensor:
    """Made scores toward 1 plus the weighted distance of features, mean over discriminators.

    The distance is L1 over the mean size of real features, mean over layers, so that loud layers have no
    more to say than quiet ones.
    """
    losses = []
    for (_, wanted), (score, features) in zip(real, made, strict=True):
        distances = [
            F.l1_loss(f.float(), w.detach().float()) / w.detach().float().abs().mean().clamp_min(1e-4)
            for f, w in zip(features, wanted, strict=True)
        ]
        losses.append((1 - score.float()).square().mean() + matching_weight * torch.stack(distances).mean())
    return torch.stack(losses).mean()
