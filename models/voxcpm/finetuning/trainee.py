"""What is learnt: the matrices of an adapter beside a model that stays as it is, or all of its weights."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import torch
from torch import nn

from engine.layers.low_rank import LowRank
from engine.weights import export_state
from models.lora.adapter import Adapter
from models.lora.files import write_adapter
from models.lora.layouts import DECODER_ALPHA, DECODER_RANK, DECODER_SWITCH
from models.lora.rows import LoadedAdapter
from models.voxcpm.adapters import adaptable, loaded
from models.voxcpm.checkpoint import Checkpoint
from models.voxcpm.finetuning.decoder import DecoderLearner
from models.voxcpm.finetuning.fresh import fresh_layers
from models.voxcpm.merging import write_checkpoint
from models.voxcpm.model import PROJECTIONS
from models.voxcpm.vae.adapted_decoder import PREFIX as DECODER_PREFIX
from models.voxcpm.vae.adapted_decoder import vae_with


class Trainee(Protocol):
    """Parameters that the loop moves, and how they are written when it ends."""

    parameters: list[nn.Parameter]

    def adapter(self) -> LoadedAdapter | None:
        """What the loss is to add to the model, gradients included; None where the model itself learns."""

    def write(self, directory: Path) -> None: ...


class AdapterTrainee:
    """All layers of language models, DiT and projections that adapters may have, at one rank.

    strength: how much of what these learnt is written. decoder: learns beside them, and is written whole.
    """

    def __init__(
        self,
        checkpoint: Checkpoint,
        rank: int,
        alpha: float,
        seed: int,
        strength: float = 1.0,
        decoder: DecoderLearner | None = None,
    ) -> None:
        self._checkpoint, self._rank, self._alpha = checkpoint, rank, alpha
        self._written_alpha, self._decoder = alpha * strength, decoder
        sizes = adaptable(checkpoint.config)
        sizes = {name: size for name, size in sizes.items() if not name.startswith(DECODER_PREFIX)}
        self._layers = fresh_layers(sizes, rank, seed, checkpoint.device)
        self.parameters = [tensor for layer in self._layers.values() for tensor in layer]
        checkpoint.model.requires_grad_(False)

    def adapter(self) -> LoadedAdapter:
        scale = self._alpha / self._rank
        layers = {name: LowRank(down, up * scale) for name, (down, up) in self._layers.items()}
        return loaded(self._checkpoint.model, layers)

    def write(self, directory: Path) -> None:
        names = sorted({name.rpartition(".")[2] for name in self._layers} - set(PROJECTIONS))
        config = {
            "enable_lm": True, "enable_dit": True, "enable_proj": True,
            "r": self._rank, "alpha": _plain(self._written_alpha), "dropout": 0.0,
            "target_modules_lm": names, "target_modules_dit": names,
            "target_proj_modules": [name for name in PROJECTIONS if name in self._layers],
        }  # fmt: skip
        learnt, scales = dict(self._layers), {}
        if self._decoder is not None:
            learnt |= self._decoder.layers()
            scales = dict.fromkeys(self._decoder.layers(), 1.0)
            rank = self._decoder.rank
            config |= {DECODER_SWITCH: True, DECODER_RANK: rank, DECODER_ALPHA: rank}
        layers = {
            name: LowRank(*(tensor.detach().float().cpu() for tensor in layer))
            for name, layer in learnt.items()
        }
        base, scale = self._checkpoint, self._written_alpha / self._rank
        vae_digest = base.vae_digest if self._decoder is not None else ""
        adapter = Adapter(layers, scale, scales, base.name, base.weights_digest, vae_digest)
        write_adapter(directory, adapter, config)


def _plain(number: float) -> float | int:
    return int(number) if number == int(number) else number


class FullTrainee:
    """All weights of the language models, the DiT and the local encoder. Of the audio VAE the encoder stays.

    decoder: what learns beside them.
    """

    def __init__(self, checkpoint: Checkpoint, decoder: DecoderLearner | None = None) -> None:
        self._checkpoint, self._decoder = checkpoint, decoder
        checkpoint.model.requires_grad_(True)
        self.parameters = list(checkpoint.model.parameters())

    def adapter(self) -> None:
        return None

    def write(self, directory: Path) -> None:
        """A whole checkpoint: new weights among copies of the other files of its base."""
        base = self._checkpoint
        stored = torch.bfloat16 if base.config.dtype == "bfloat16" else torch.float32
        state = {name: tensor.to(stored).cpu() for name, tensor in export_state(base.model).items()}
        vae = None if self._decoder is None else vae_with(base.vae, self._decoder.layers())
        write_checkpoint(base.directory, state, directory, vae)
