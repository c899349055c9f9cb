"""Reconstruction loss of the audio VAE: log-mel L1 over windows from 2048 down to 64 samples.

Spectra are computed in fp32 whatever autocast says.
"""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from models.voxcpm.training.speech.teachers import SPEECH_RATE

LEAST_FLOOR, QUIET_FLOOR = 1e-5, 1e-2
WINDOWS_AND_BANDS = ((2048, 160), (1024, 100), (512, 64), (256, 32), (128, 16), (64, 8))


def mel_filters(window: int, bands: int, sample_rate: int = SPEECH_RATE) -> Tensor:
    """Triangular filters, mel = 2595 log10(1 + f / 700) (O'Shaughnessy): [bands, window / 2 + 1]."""
    bins = np.linspace(0, sample_rate / 2, window // 2 + 1)
    top = 2595 * np.log10(1 + sample_rate / 2 / 700)
    edges = 700 * (10 ** (np.linspace(0, top, bands + 2) / 2595) - 1)
    rising = (bins - edges[:-2, None]) / np.diff(edges)[:-1, None]
    falling = (edges[2:, None] - bins) / np.diff(edges)[1:, None]
    return torch.tensor(np.maximum(0, np.minimum(rising, falling)), dtype=torch.float32)


class MelLoss(nn.Module):
    """Sum over windows of L1 distances: log10 mel magnitudes, and `linear_weight` times the linear ones.

    sample_rate: of the audio. most_hz: bands that reach above it are left out, where recordings have nothing.
    floor: of the magnitudes whose logarithm is taken. A logarithm's gradient is the larger the quieter the
    sound: with LEAST_FLOOR four fifths of its energy are in what nobody hears, and its norm says nothing
    of the speech. QUIET_FLOOR is 80 dB below full scale.
    """

    def __init__(
        self,
        linear_weight: float = 0.2,
        floor: float = LEAST_FLOOR,
        sample_rate: int = SPEECH_RATE,
        most_hz: float | None = None,
    ) -> None:
        super().__init__()
        self.linear_weight, self.floor = linear_weight, floor
        for window, bands in WINDOWS_AND_BANDS:
            filters = mel_filters(window, bands, sample_rate)
            if most_hz is not None:
                frequencies = torch.linspace(0, sample_rate / 2, window // 2 + 1)
                filters = filters[(filters * (frequencies > most_hz)).sum(1) == 0]
            self.register_buffer(f"filters_{window}", filters, persistent=False)
            self.register_buffer(f"window_{window}", torch.hann_window(window), persistent=False)

    def mel(self, audio: Tensor, window: int) -> Tensor:
        """audio [B, 1, T] -> mel magnitudes [B, bands, frames] with hop window / 4."""
        taper = getattr(self, f"window_{window}")
        spectrum = torch.stft(audio[:, 0].float(), window, window // 4, window=taper, return_complex=True)
        return getattr(self, f"filters_{window}") @ spectrum.abs()

    def forward(self, audio: Tensor, target: Tensor) -> Tensor:
        """audio and target [B, 1, T] -> scalar; gradients reach `audio` alone."""
        total = audio.new_zeros(())
        for window, _ in WINDOWS_AND_BANDS:
            with torch.no_grad():
                wanted = self.mel(target, window)
            made = self.mel(audio, window)
            made_log, wanted_log = (mel.clamp_min(self.floor).log10() for mel in (made, wanted))
            log_distance = F.l1_loss(made_log, wanted_log)
            total = total + log_distance + self.linear_weight * F.l1_loss(made, wanted)
        return total


def kl_divergence(mean: Tensor, log_variance: Tensor) -> Tensor:
    """Mean over all elements of KL(N(mean, exp(log_variance)) || N(0, 1))."""
    return 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance).mean()
