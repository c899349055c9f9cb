"""What the audio VAE's encoder hears of speech: 24 kHz to 16 kHz on the device, two samples for every three.

heard = Hearing().to(device)(spoken)        # [B, 1, 3 n] -> [B, 1, 2 n]
"""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

SPOKEN_PER_STEP, HEARD_PER_STEP = 3, 2
REACH = 48
PASSED_HZ, SPEECH_HZ, WINDOW_BETA = 7700.0, 24_000.0, 8.0


class Hearing(nn.Module):
    """Windowed-sinc resampling (Kaiser) as one strided convolution with an output channel per phase."""

    def __init__(self) -> None:
        super().__init__()
        taps = np.arange(-REACH, REACH + SPOKEN_PER_STEP)
        phases = [taps - SPOKEN_PER_STEP / HEARD_PER_STEP * phase for phase in range(HEARD_PER_STEP)]
        cutoff = 2 * PASSED_HZ / SPEECH_HZ
        weights = [
            cutoff * np.sinc(cutoff * t) * np.i0(WINDOW_BETA * np.sqrt(np.clip(1 - (t / REACH) ** 2, 0, 1)))
            for t in phases
        ]
        weights = np.stack([w / w.sum() for w in weights])[:, None]
        self.register_buffer("weights", torch.tensor(weights, dtype=torch.float32), persistent=False)

    @torch.no_grad()
    def forward(self, spoken: Tensor) -> Tensor:
        """Silence is heard before and after. The length must be a multiple of 3 samples."""
        padded = F.pad(spoken, (REACH, REACH))
        phases = F.conv1d(padded, self.weights, stride=SPOKEN_PER_STEP)
        return phases.transpose(1, 2).flatten(1)[:, None]
