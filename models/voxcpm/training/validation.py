"""Held-out speech by which the audio VAE is judged in training: the mel loss of encoding and decoding it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from models.voxcpm.audio_vae import AudioVAE

from .synthesis import VALIDATION_FILE
from .vae_losses import MelLoss


class Validation:
    """What `write_validation_speech` wrote, on a device and cut to whole latent frames: [N, 1, samples]."""

    def __init__(self, work: Path, device: torch.device, hop_length: int) -> None:
        samples = torch.from_numpy(np.load(work / VALIDATION_FILE)).to(device)
        whole = samples.shape[1] // hop_length * hop_length
        self.audio: Tensor = samples[:, None, :whole].float() / 32768
        self._loss = MelLoss().to(device)

    @torch.no_grad()
    def mel(self, vae: AudioVAE) -> float:
        """Mean mel loss of encoding and decoding, without sampling."""
        losses = [self._loss(vae.decode(vae.encode(part)), part) for part in self.audio.split(16)]
        return torch.stack(losses).mean().item()
