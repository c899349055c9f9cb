"""Held-out speech by which the audio VAE is judged in training: the mel loss of encoding and decoding it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from models.voxcpm.audio_vae import AudioVAE

from . import synthesis
from .text import HELD_OUT_FILE, read_lines
from .vae_losses import MelLoss

SAMPLES = 32000
FILE = "validation.npy"


def write_validation_speech(work: Path, carry: Path | None, sentences: int) -> None:
    """Held-out sentences in four voices, cut or padded to two seconds: int16 [N, samples]."""
    flite = synthesis.Flite(carry)
    gains = synthesis.voice_gains(flite)
    texts = read_lines(HELD_OUT_FILE)[:sentences]
    pairs = [(text, voice) for text in texts for voice in synthesis.VOICES]
    rows = [synthesis.speak(flite, *pair, gains)[:SAMPLES] for pair in pairs]
    np.save(work / FILE, np.stack([np.pad(row, (0, SAMPLES - len(row))) for row in rows]))


class Validation:
    """The speech of `write_validation_speech` on a device, cut to whole latent frames: [N, 1, samples]."""

    def __init__(self, work: Path, device: torch.device, hop_length: int) -> None:
        samples = torch.from_numpy(np.load(work / FILE)).to(device)
        whole = samples.shape[1] // hop_length * hop_length
        self.audio: Tensor = samples[:, None, :whole].float() / 32768
        self._loss = MelLoss().to(device)

    @torch.no_grad()
    def mel(self, vae: AudioVAE) -> float:
        """Mean mel loss of encoding and decoding, without sampling."""
        losses = [self._loss(vae.decode(vae.encode(part)), part) for part in self.audio.split(16)]
        return torch.stack(losses).mean().item()
