"""DiTs of the released shapes: layers of random weights, and the rows of their steps."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass

import torch

from benchmarks.gpu.checkpoints import shape_config
from models.transformer.stack import Transformer
from models.voxcpm.config import TransformerConfig, VoxCPMConfig

SHAPES = ("voxcpm2", "voxcpm1.5", "voxcpm-0.5b")
LAYERS = 12
"""Whose weights do not fit in the device's cache."""


@dataclass(frozen=True)
class Dit:
    """One of a release. length: rows of a patch with what stands before it."""

    config: TransformerConfig
    length: int

    def stack(self, device: str) -> Transformer:
        """LAYERS random ones in bf16."""
        with torch.device(device):
            stack = Transformer(self.config).to(torch.bfloat16)
        for name, parameter in stack.named_parameters():
            parameter.fill_(1.0) if "norm" in name else parameter.normal_(0.0, parameter.shape[-1] ** -0.5)
        return stack.eval()

    def rows(self, streams: Iterable[int]) -> tuple[int, ...]:
        """Of steps with so many streams: each has a patch with guidance and one without."""
        return tuple(2 * self.length * count for count in streams)

    def products(self) -> dict[str, tuple[int, int]]:
        """Outputs and inputs of the layer's products, in which gate and up are one."""
        config = self.config
        attended = config.num_attention_heads * config.head_dim
        qkv = attended + 2 * config.num_key_value_heads * config.head_dim
        return {
            "o": (config.hidden_size, attended),
            "down": (config.hidden_size, config.intermediate_size),
            "qkv": (qkv, config.hidden_size),
            "gate_up": (2 * config.intermediate_size, config.hidden_size),
        }


def dit_of(shape: str) -> Dit:
    """That of a release, by its name."""
    config = VoxCPMConfig.from_dict(shape_config(shape))
    layers = dataclasses.replace(config.dit_transformer(), num_hidden_layers=LAYERS, no_rope=True)
    before = 3 if config.two_condition_tokens else 1
    return Dit(layers, before + 2 * config.patch_size)
