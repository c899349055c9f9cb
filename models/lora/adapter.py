"""What fine-tuning learnt: a low-rank addition to each of some linear layers.

adapter.layers["base_lm.layers.0.self_attn.q_proj"]      # LowRank(down [r, in], up [out, r])
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from engine.layers.low_rank import LowRank

MAX_RANK = 128


class AdapterError(ValueError):
    """An adapter that cannot be used, and why."""


@dataclass(frozen=True)
class Adapter:
    """Additions to layers, as they were trained: up (down x) * scale.

    layers: released name -> fp32 matrices, without the scale. scales: of layers whose scale is another one.
    base: name of the checkpoint it was trained on, as far as its files tell.
    base_digest: of the weights of that checkpoint, empty where its files do not tell.
    audio_vae_digest: of the weights of its audio VAE, where layers of that are among them.
    """

    layers: Mapping[str, LowRank]
    scale: float
    scales: Mapping[str, float] = field(default_factory=dict)
    base: str = ""
    base_digest: str = ""
    audio_vae_digest: str = ""

    @property
    def rank(self) -> int:
        """The largest rank of a layer."""
        return max(len(layer.down) for layer in self.layers.values())

    @property
    def num_parameters(self) -> int:
        return sum(tensor.numel() for layer in self.layers.values() for tensor in layer)

    def scaled(self, dtype: torch.dtype = torch.float32) -> Iterator[tuple[str, LowRank]]:
        """Layers with the scale in their `up`, in the type they are served in.

        Raises AdapterError, naming the tensor, for values that are not finite in it.
        """
        for name, (down, up) in self.layers.items():
            scale = self.scales.get(name, self.scale)
            found = LowRank(down.to(dtype), (up * scale).to(dtype))
            for tensor, said in zip(found, ("lora_A", f"lora_B, times a scale of {scale:g},"), strict=True):
                if not torch.isfinite(tensor).all():
                    raise AdapterError(f"{name}.{said} has values that are not finite in {dtype}")
            yield name, found

    @cached_property
    def digest(self) -> str:
        """SHA-256, in hex, of everything that changes a result; the same for every layout of files."""
        found = hashlib.sha256()
        for name in sorted(self.layers):
            down, up = (tensor.float().contiguous() for tensor in self.layers[name])
            found.update(f"{name} {len(down)} {self.scales.get(name, self.scale)!r}\n".encode())
            for tensor in (down, up):
                found.update(tensor.numpy().tobytes())
        return found.hexdigest()


def merged(state: Mapping[str, Tensor], adapter: Adapter) -> dict[str, Tensor]:
    """The state of a checkpoint (released names) with an adapter added to its weights, in their dtype."""
    result = dict(state)
    for name, (down, up) in adapter.scaled():
        weight = result[f"{name}.weight"]
        result[f"{name}.weight"] = torch.addmm(weight.float(), up, down).to(weight.dtype)
    return result
