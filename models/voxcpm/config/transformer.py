"""Sizes of transformers: the two language models, the local encoder and the DiT."""

from __future__ import annotations

import math
from dataclasses import dataclass

from engine.layers.rotary import LongRope
from models.config_fields import ConfigError, check_sizes

_SIZES = (
    "hidden_size", "intermediate_size", "num_attention_heads", "num_key_value_heads",
    "max_position_embeddings", "kv_channels",
)  # fmt: skip


@dataclass(frozen=True)
class RopeScaling:
    """LongRoPE factors, one per pair of head dimensions."""

    short_factor: tuple[float, ...]
    long_factor: tuple[float, ...]
    original_max_position_embeddings: int
    type: str = "longrope"


@dataclass(frozen=True)
class TransformerConfig:
    """A MiniCPM-4 transformer stack (Llama layout: RMSNorm, GQA, SwiGLU, no biases).

    `kv_channels` is the head dimension; where a file leaves it out it is hidden_size / heads.
    """

    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    max_position_embeddings: int
    rope_scaling: RopeScaling
    vocab_size: int = 0
    rms_norm_eps: float = 1e-5
    rope_theta: float = 10000.0
    kv_channels: int | None = None
    use_mup: bool = True
    scale_emb: float = 1.0
    scale_depth: float = 1.0
    dim_model_base: int = 256
    bos_token_id: int = 1
    eos_token_id: int = 2
    no_rope: bool = False

    def __post_init__(self) -> None:
        check_sizes(self, *_SIZES)
        if self.num_attention_heads % self.num_key_value_heads:
            raise ConfigError(
                f"num_attention_heads {self.num_attention_heads} is not a multiple of "
                f"num_key_value_heads {self.num_key_value_heads}"
            )
        for name in ("short_factor", "long_factor"):
            factors = getattr(self.rope_scaling, name)
            if not self.no_rope and len(factors) != self.head_dim // 2:
                raise ConfigError(
                    f"rope_scaling.{name} has {len(factors)} values, "
                    f"head_dim {self.head_dim} needs {self.head_dim // 2}"
                )

    @property
    def head_dim(self) -> int:
        return self.kv_channels or self.hidden_size // self.num_attention_heads

    @property
    def qk_norm(self) -> bool:
        return False

    def rotary(self) -> LongRope | None:
        """See `models.transformer.stack.StackShape`."""
        if self.no_rope:
            return None
        scaling = self.rope_scaling
        return LongRope(
            head_dim=self.head_dim,
            base=self.rope_theta,
            max_position=self.max_position_embeddings,
            original_max_position=scaling.original_max_position_embeddings,
            short_factor=scaling.short_factor,
            long_factor=scaling.long_factor,
        )

    @property
    def embedding_scale(self) -> float:
        return self.scale_emb if self.use_mup else 1.0

    @property
    def residual_scale(self) -> float:
        return self.scale_depth / math.sqrt(self.num_hidden_layers) if self.use_mup else 1.0


@dataclass(frozen=True)
class LocalTransformerConfig:
    """The local encoder's or the DiT's own sizes; the rest comes from the LM's config."""

    hidden_dim: int = 1024
    ffn_dim: int = 4096
    num_heads: int = 16
    num_layers: int = 4
    kv_channels: int | None = None
