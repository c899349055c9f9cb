"""The families of text models: a folder of `models/` each, and a line here.

A family is a configuration that reads `config.json` and a network that computes hidden states and logits; all
else is shared. What the engine needs to know of a network stands in `TextConfig` and `TextModel`.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Protocol

from torch import Tensor, nn

from engine.errors import RequestError
from engine.parallel.part import PARAM, WHOLE, Part
from models.config_fields import ConfigError
from models.transformer.stack import Attention


class TextConfig(Protocol):
    """Sizes that the engine asks for."""

    vocab_size: int
    hidden_size: int
    intermediate_size: int
    num_hidden_layers: int
    num_attention_heads: int
    num_key_value_heads: int
    max_position_embeddings: int
    torch_dtype: str
    tie_word_embeddings: bool

    @property
    def head_dim(self) -> int: ...


class TextModel(Protocol):
    """A causal language model over a flat batch of T positions.

    recordable: whether a step launches the same kernels whatever is in it, so that a CUDA graph may record
    it. It may be left out where that is so.
    """

    config: TextConfig
    recordable: bool

    def __call__(
        self, token_ids: Tensor, positions: Tensor, attention: Attention, ends: Tensor | None = None
    ) -> Tensor:
        """Hidden states [T, H] of token_ids and positions int64 [T], or [N, H] of the places `ends` int64 [N]
        alone, for which the last layer leaves out what nobody reads."""

    def logits(self, hidden: Tensor) -> Tensor:
        """[N, H] -> [N, vocab_size], or this rank's part of the vocabulary."""


@dataclass(frozen=True)
class Family:
    """Where a family lives; its module is imported when a checkpoint of it is loaded."""

    config: str
    model: str

    def read_config(self, data: Mapping[str, Any]) -> TextConfig:
        """Raises ConfigError naming the field."""
        return _named(self.config).from_dict(data)

    def build(self, config: TextConfig, part: Part = WHOLE) -> nn.Module:
        """A `TextModel`; for several ranks one whose class takes a `part`. Raises RequestError."""
        network = _named(self.model)
        if part.size == 1:
            return network(config)
        if "part" not in inspect.signature(network).parameters:
            raise RequestError(f"{PARAM} must be 1 for {network.__name__}", PARAM, "unsupported")
        return network(config, part=part)


FAMILIES: dict[str, Family] = {
    "Qwen3ForCausalLM": Family("models.qwen3.config:Qwen3Config", "models.qwen3.model:Qwen3"),
    "Qwen3MoeForCausalLM": Family("models.qwen3.mixture:Qwen3MoeConfig", "models.qwen3.mixture:Qwen3Moe"),
}
"""What a checkpoint's `architectures` names -> its family."""


def family_of(config: Mapping[str, Any]) -> Family:
    """The family of a `config.json`. Raises ConfigError naming what there is."""
    named = config.get("architectures") or []
    if not isinstance(named, list):
        raise ConfigError(f"architectures is {named!r}, not a list of names")
    for name in filter(lambda name: isinstance(name, str), named):
        if name in FAMILIES:
            return FAMILIES[name]
    asked = ", ".join(map(str, named)) or "of no name"
    raise ConfigError(f"architectures {asked}: not supported, only {', '.join(FAMILIES)}")


def _named(path: str) -> Any:
    module, name = path.split(":")
    return getattr(import_module(module), name)
