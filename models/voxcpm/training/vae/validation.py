"""Held-out speech by which the audio VAE is judged in training, encoded and decoded.

The mel loss always; where DistillMOS is installed, also the estimated opinion score beside that of the speech
itself, the teachers' first.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from models.voxcpm.training.speech.hearing import Hearing
from models.voxcpm.training.speech.synthesis import VALIDATION_FILE
from models.voxcpm.training.vae.losses import MelLoss
from models.voxcpm.training.vae.opinion import opinion_model
from models.voxcpm.vae.audio_vae import AudioVAE


class Validation:
    """What `write_validation_speech` wrote, on a device and cut to whole latent frames: [N, 1, samples]."""

    def __init__(self, work: Path, device: torch.device, output_hop_length: int) -> None:
        samples = torch.from_numpy(np.load(work / VALIDATION_FILE)).to(device)
        whole = samples.shape[1] // output_hop_length * output_hop_length
        self.audio: Tensor = samples[:, None, :whole].float() / 32768
        self._hearing = Hearing().to(device)
        self._scorer: nn.Module | None = None
        self._teacher_mos = 0.0
        self.heard = self._hearing(self.audio)
        self._loss = MelLoss().to(device)

    def figures(self, vae: AudioVAE) -> dict[str, float]:
        """What a report says: `validation_mel`, and with DistillMOS `validation_mos` and `teacher_mos`."""
        return {"validation_mel": self.mel(vae), **self.opinion_scores(vae)}

    @torch.no_grad()
    def opinion_scores(self, vae: AudioVAE) -> dict[str, float]:
        """Mean scores of the speech and of what the VAE makes of it, on a GPU with DistillMOS."""
        if self.audio.device.type == "cpu":
            return {}  # it takes longer there than the training
        if self._scorer is None:
            self._scorer = opinion_model()
            if self._scorer is None:
                return {}
            self._scorer.to(self.audio.device)
            self._teacher_mos = self._score(self.audio)
        made = torch.cat([vae.decode(vae.encode(heard)) for heard in self.heard.split(16)])
        return {"validation_mos": self._score(made), "teacher_mos": self._teacher_mos}

    def _score(self, spoken: Tensor) -> float:
        return (
            torch.cat([self._scorer(heard[:, 0]) for heard in self._hearing(spoken).split(16)]).mean().item()
        )

    @torch.no_grad()
    def mel(self, vae: AudioVAE) -> float:
        """Mean mel loss of encoding and decoding, without sampling."""
        parts = zip(self.heard.split(16), self.audio.split(16), strict=True)
        losses = [self._loss(vae.decode(vae.encode(heard)), spoken) for heard, spoken in parts]
        return torch.stack(losses).mean().item()
