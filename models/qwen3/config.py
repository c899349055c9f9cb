"""Configuration of a Qwen3 checkpoint, as its `config.json` states it.

One dataclass serves every dense size, 0.6B to 32B; they differ in values only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from engine.layers.rotary import Rotary, YarnRope, base_frequencies
from models.config_fields import ConfigError, build, check_sizes, section

ARCHITECTURE = "Qwen3ForCausalLM"
_PLAIN_ROPE = ("default", None)
_SIZES = (
    "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
    "num_key_value_heads", "max_position_embeddings", "head_dim",
)  # fmt: skip


@dataclass(frozen=True)
class Yarn:
    """`rope_scaling` of a checkpoint made for longer texts, see `engine.layers.rotary.YarnRope`."""

    factor: float
    original_max_position_embeddings: int
    beta_fast: float = 32.0
    beta_slow: float = 1.0
    attention_factor: float | None = None

    def __post_init__(self) -> None:
        check_sizes(self, "factor", "original_max_position_embeddings")


@dataclass(frozen=True)
class Qwen3Config:
    """Sizes of a Qwen3. Raises ConfigError for what this family does not have."""

    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    max_position_embeddings: int
    head_dim: int = 128
    rms_norm_eps: float = 1e-6
    rope_theta: float = 1_000_000.0
    rope_scaling: Yarn | None = None
    tie_word_embeddings: bool = False
    attention_bias: bool = False
    use_sliding_window: bool = False
    hidden_act: str = "silu"
    torch_dtype: str = "bfloat16"

    def __post_init__(self) -> None:
        check_sizes(self, *_SIZES)
        if self.num_attention_heads % self.num_key_value_heads:
            raise ConfigError(
                f"num_attention_heads {self.num_attention_heads} is not a multiple of "
                f"num_key_value_heads {self.num_key_value_heads}"
            )
        for name, only in (("attention_bias", False), ("use_sliding_window", False), ("hidden_act", "silu")):
            if getattr(self, name) != only:
                raise ConfigError(f"{name} {getattr(self, name)!r} is not supported, only {only!r}")

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Qwen3Config:
        """`config.json` as an object. Raises ConfigError naming the field."""
        values = dict(data)
        if quantization := values.get("quantization_config"):
            method = quantization.get("quant_method") if isinstance(quantization, Mapping) else quantization
            raise ConfigError(
                f"quantization_config {method!r} is not supported, only weights of 16 or 32 bits"
            )
        # Newer files keep all about rotation in one object.
        named = next((name for name in ("rope_parameters", "rope_scaling") if values.get(name)), None)
        rope = {} if named is None else section(values, named)
        values["rope_theta"] = rope.get("rope_theta", values.get("rope_theta", cls.rope_theta))
        values["torch_dtype"] = values.get("dtype") or values.get("torch_dtype") or cls.torch_dtype
        kind = rope.get("rope_type", rope.get("type"))
        if kind not in (*_PLAIN_ROPE, "yarn"):
            raise ConfigError(f"rope_scaling of type {kind!r} is not supported, only 'yarn'")
        values["rope_scaling"] = scaling = build(Yarn, rope, "rope_scaling") if kind == "yarn" else None
        found = build(cls, values, "config.json")
        # Who adds it to a released file leaves the length there as it was.
        longer = 0 if scaling is None else int(scaling.factor * scaling.original_max_position_embeddings)
        return replace(found, max_position_embeddings=max(found.max_position_embeddings, longer))

    @property
    def residual_scale(self) -> float:
        return 1.0

    @property
    def qk_norm(self) -> bool:
        return True

    def rotary(self) -> Rotary:
        """See `models.transformer.stack.StackShape`."""
        scaling = self.rope_scaling
        if scaling is None:
            return Rotary(base_frequencies(self.head_dim, self.rope_theta))
        return YarnRope(
            self.head_dim,
            self.rope_theta,
            scaling.factor,
            scaling.original_max_position_embeddings,
            scaling.beta_fast,
            scaling.beta_slow,
            scaling.attention_factor,
        )
