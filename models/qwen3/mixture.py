"""Qwen3 as a mixture of experts: a layer has many small MLPs, and a router picks a few for each position.

    {"architectures": ["Qwen3MoeForCausalLM"], "num_experts": 128, "num_experts_per_tok": 8, ...}

The released names are those of the dense model but for `mlp.gate.weight`, the router, and an MLP under
`mlp.experts.N` each. Positions are grouped by expert, and each expert that somebody chose multiplies its
group. The host has to know the groups, so a step cannot be recorded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from engine.errors import EngineError
from engine.layers.low_rank import NOTHING, Deltas
from engine.parallel.part import WHOLE
from models.config_fields import ConfigError, check_sizes
from models.qwen3.config import Qwen3Config
from models.qwen3.model import Qwen3
from models.transformer.stack import GatedMLP


@dataclass(frozen=True, kw_only=True)
class Qwen3MoeConfig(Qwen3Config):
    """Sizes of a mixture. intermediate_size: of the layers that are dense, as `is_sparse` says.

    norm_topk_prob: whether the shares of the experts of a position are made to add up to 1.
    """

    num_experts: int
    num_experts_per_tok: int
    moe_intermediate_size: int
    norm_topk_prob: bool = False
    decoder_sparse_step: int = 1
    mlp_only_layers: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_sizes(
            self, "num_experts", "num_experts_per_tok", "moe_intermediate_size", "decoder_sparse_step"
        )
        if self.num_experts_per_tok > self.num_experts:
            raise ConfigError(
                f"num_experts_per_tok {self.num_experts_per_tok} is above num_experts {self.num_experts}"
            )

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Qwen3MoeConfig:
        """See `Qwen3Config.from_dict`. Files written by transformers call `num_experts` otherwise."""
        values = dict(data)
        if (count := values.get("num_local_experts")) is not None:
            values.setdefault("num_experts", count)
        return super().from_dict(values)

    def is_sparse(self, layer: int) -> bool:
        """Whether a layer has experts."""
        dense = layer in (self.mlp_only_layers or ())
        return not dense and (layer + 1) % self.decoder_sparse_step == 0


class Experts(nn.Module):
    """Takes the place of a layer's `GatedMLP`. E: experts, K: those of a position."""

    def __init__(self, config: Qwen3MoeConfig) -> None:
        super().__init__()
        self.count, self.normalises = config.num_experts_per_tok, config.norm_topk_prob
        self.gate = nn.Linear(config.hidden_size, config.num_experts, bias=False)
        each = replace(config, intermediate_size=config.moe_intermediate_size)
        self.experts = nn.ModuleList(GatedMLP(each, WHOLE) for _ in range(config.num_experts))

    def forward(self, x: Tensor, deltas: Deltas) -> Tensor:
        """x [..., hidden_size] -> the same shape. Raises EngineError for rows with an adapter."""
        if deltas.rows:
            raise EngineError("experts take no adapters")
        rows = x.flatten(0, -2)
        shares, chosen = self.route(rows)
        order = chosen.flatten().argsort(stable=True)
        sizes = chosen.flatten().bincount(minlength=len(self.experts)).tolist()
        out = torch.zeros_like(rows)
        for expert, group in zip(self.experts, order.split(sizes), strict=True):
            if len(group):
                places = group // self.count
                share = shares.flatten()[group, None]
                out.index_add_(0, places, expert(rows[places], NOTHING) * share)
        return out.view_as(x)

    def route(self, rows: Tensor) -> tuple[Tensor, Tensor]:
        """rows [T, hidden_size] -> shares of x's type and numbers of the experts of each, [T, K]."""
        probabilities = self.gate(rows).softmax(-1, dtype=torch.float32)
        shares, chosen = probabilities.topk(self.count, dim=-1)
        if self.normalises:
            shares = shares / shares.sum(-1, keepdim=True)
        return shares.to(rows.dtype), chosen


class Qwen3Moe(Qwen3):
    """See the module."""

    recordable = False

    def __init__(self, config: Qwen3MoeConfig) -> None:
        super().__init__(config)
        for place, layer in enumerate(self.model.layers):
            if config.is_sparse(place):
                layer.mlp = Experts(config)
