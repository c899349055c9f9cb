"""Weight norm for training, and folding and whitening of what it gives.

A trained VAE ships as plain convolutions whose latents have mean 0 and deviation 1 per channel; the
scale and the mean live in the last encoder and the first decoder convolution.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm

from models.voxcpm.vae.audio_vae import AudioVAE, fold_weight_norm


def add_weight_norm(module: nn.Module) -> None:
    """Parametrise every one-dimensional convolution as magnitude and direction; outputs stay the same."""
    for layer in [m for m in module.modules() if isinstance(m, (nn.Conv1d, nn.ConvTranspose1d))]:
        weight_norm(layer)


def plain_state(module: nn.Module) -> dict[str, Tensor]:
    """The state of a module with weight norm, as one without it has: fp32 copies."""
    return {
        name: value.detach().float().clone() for name, value in fold_weight_norm(module.state_dict()).items()
    }


@torch.no_grad()
def whiten(vae: AudioVAE, audio: Tensor) -> None:
    """Change plain weights so that the latents of `audio` [B, 1, T] have mean 0 and deviation 1 per channel.

    Decoding stays the same, except that the zeros padded before a clip now stand for the mean latent.
    """
    means = torch.cat([vae.encode(part) for part in audio.split(16)])
    mean, deviation = means.mean(dim=(0, 2)), means.std(dim=(0, 2)).clamp_min(1e-4)
    to_mean, to_variance, first = vae.encoder.fc_mu, vae.encoder.fc_logvar, vae.decoder.model[0]
    to_mean.weight /= deviation[:, None, None]
    to_mean.bias.copy_((to_mean.bias - mean) / deviation)
    to_variance.bias -= 2 * deviation.log()
    first.bias += torch.einsum("oik,i->o", first.weight, mean)
    first.weight *= deviation[None, :, None]
