"""Weights to go on from: a run's pieces, or an exported checkpoint.

A warm start improves a shipped voice instead of starting over. Its encoder, and so its latents, stay as they
are; the decoder and the language model go on with a fresh optimizer and warm-up:

    python -m models.voxcpm.training.pipeline --init models/voxcpm/bundled --out DIR

With `--retrain-vae` stage 1 goes on as well; the language model then follows latents that moved a little.
"""

from __future__ import annotations

from pathlib import Path

import torch.nn.functional as F
from torch import Tensor

from engine.weights import load_into
from models.voxcpm.config import VoxCPMConfig
from models.voxcpm.model import VoxCPMModel
from models.voxcpm.training.checkpoint.pieces import DECODERS, ENCODER, LANGUAGE_MODEL, joined
from models.voxcpm.vae.audio_vae import AudioVAE

FINAL_LANGUAGE_MODEL, FINAL_VAE = "model.safetensors", "audiovae.safetensors"


def load_language_model(folder: Path, model: VoxCPMModel) -> None:
    """Copy the language model's weights from `folder` into `model`, in place and in the model's precision.

    Raises FileNotFoundError where the folder holds none, WeightError where they have another shape.
    """
    exported = (folder / FINAL_LANGUAGE_MODEL).is_file()
    load_into(model, joined(folder, FINAL_LANGUAGE_MODEL if exported else LANGUAGE_MODEL))


def stretched(weight: Tensor, wanted: Tensor | None) -> Tensor:
    """A kernel of another length, interpolated to the length of `wanted`; anything else as it is.

    So a decoder that upsamples by 3 may go on from one that upsamples by 2.
    """
    if wanted is None or weight.ndim != 3 or weight.shape[:2] != wanted.shape[:2]:
        return weight
    if weight.shape[2] == wanted.shape[2]:
        return weight
    return F.interpolate(weight.float(), wanted.shape[2], mode="linear", align_corners=False)


def load_vae(folder: Path, config: VoxCPMConfig) -> dict[str, Tensor]:
    """The audio VAE's plain weights in `folder`, fp32, under the names of AudioVAE.

    Of pieces, the decoder from before the adversarial part, since stage 2 begins without it again. Raises as
    `load_language_model`.
    """
    if (folder / FINAL_VAE).is_file():
        state = joined(folder, FINAL_VAE)
    else:
        state = joined(folder, ENCODER) | joined(folder, DECODERS["plain"])
    vae = AudioVAE(config.audio_vae_config)
    wanted = vae.state_dict()
    load_into(vae, {name: stretched(tensor, wanted.get(name)) for name, tensor in state.items()})
    return vae.state_dict()
