"""What a worker announces of a text model; `models/llm` says how it is asked. Standard library only."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

CHAT = "chat"
"""The feature of a model with a chat template."""
THINKING = "thinking"
"""The feature of a model whose template can be told whether to think first (`enable_thinking`)."""
CACHE_SALT = "cache_salt"
"""The feature of a model whose requests may say with which others they share cached prefixes."""


@dataclass(frozen=True)
class TextModelInfo:
    """What a text model is, and takes."""

    name: str
    revision: str
    """Hash of everything that decides the output: weights, config, tokenizer, template."""
    vocab_size: int
    """Tokens that it knows."""
    max_model_len: int
    """Positions of prompt and answer together."""
    features: tuple[str, ...] = ()
    """What a request may use: `CHAT`, `THINKING`, `CACHE_SALT`."""
    kind: str = "text"

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON types."""
        return {**asdict(self), "features": list(self.features)}
