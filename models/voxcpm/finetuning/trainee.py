"""What is learnt: the matrices of an adapter beside a model that stays as it is, or all of its weights."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from engine.layers.low_rank import LowRank
from engine.weights import export_state
from models.lora.adapter import Adapter
from models.lora.files import write_adapter
from models.lora.rows import LoadedAdapter
from models.transformer.adapted import Size
from models.voxcpm.adapters import adaptable, loaded
from models.voxcpm.checkpoint import Checkpoint
from models.voxcpm.merging import write_checkpoint
from models.voxcpm.model import PROJECTIONS


class Trainee(Protocol):
    """Parameters that the loop moves, and how they are written when it ends."""

    parameters: list[nn.Parameter]

    def adapter(self) -> LoadedAdapter | None:
        """What the loss is to add to the model, gradients included; None where the model itself learns."""

    def write(self, directory: Path) -> None: ...


class AdapterTrainee:
    """All layers that adapters may have, at one rank; `up` begins at zero, so that nothing changes yet."""

    def __init__(self, checkpoint: Checkpoint, rank: int, alpha: int, seed: int) -> None:
        self._checkpoint, self._rank, self._alpha = checkpoint, rank, alpha
        self._layers = _fresh(adaptable(checkpoint.config), rank, seed, checkpoint.device)
        self.parameters = [tensor for layer in self._layers.values() for tensor in layer]
        checkpoint.model.requires_grad_(False)

    def adapter(self) -> LoadedAdapter:
        scale = self._alpha / self._rank
        layers = {name: LowRank(down, up * scale) for name, (down, up) in self._layers.items()}
        return loaded(self._checkpoint.model, layers)

    def write(self, directory: Path) -> None:
        layers = {
            name: LowRank(*(tensor.detach().float().cpu() for tensor in layer))
            for name, layer in self._layers.items()
        }
        names = sorted({name.rpartition(".")[2] for name in layers} - set(PROJECTIONS))
        config = {
            "enable_lm": True, "enable_dit": True, "enable_proj": True,
            "r": self._rank, "alpha": self._alpha, "dropout": 0.0,
            "target_modules_lm": names, "target_modules_dit": names,
            "target_proj_modules": [name for name in PROJECTIONS if name in layers],
        }  # fmt: skip
        base = self._checkpoint
        adapter = Adapter(layers, self._alpha / self._rank, base=base.name, base_digest=base.weights_digest)
        write_adapter(directory, adapter, config)


class FullTrainee:
    """All weights of the language models, the DiT and the local encoder; the audio VAE stays."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self._checkpoint = checkpoint
        checkpoint.model.requires_grad_(True)
        self.parameters = list(checkpoint.model.parameters())

    def adapter(self) -> None:
        return None

    def write(self, directory: Path) -> None:
        """A whole checkpoint: new weights among copies of the other files of its base."""
        base = self._checkpoint
        stored = torch.bfloat16 if base.config.dtype == "bfloat16" else torch.float32
        state = {name: tensor.to(stored).cpu() for name, tensor in export_state(base.model).items()}
        write_checkpoint(base.directory, state, directory)


def _fresh(sizes: Mapping[str, Size], rank: int, seed: int, device: torch.device) -> dict[str, LowRank]:
    generator = torch.Generator().manual_seed(seed)

    def parameter(values: Tensor) -> nn.Parameter:
        return nn.Parameter(values.to(device))

    layers: dict[str, Any] = {}
    for name, (height, width) in sizes.items():
        bound = 1 / math.sqrt(width)  # kaiming_uniform of slope sqrt(5), as the package draws them
        down = torch.empty(rank, width).uniform_(-bound, bound, generator=generator)
        layers[name] = LowRank(parameter(down), parameter(torch.zeros(height, rank)))
    return layers
