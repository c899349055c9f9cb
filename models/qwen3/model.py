"""The Qwen3 network: the shared transformer between a token embedding and a head that may be its transpose.

Module names follow the released checkpoints, so weights load by name.
"""

from __future__ import annotations

from torch import Tensor, nn

from engine.layers.linear import TiedLinear
from engine.parallel.layers import head
from engine.parallel.part import WHOLE, Part
from models.qwen3.config import Qwen3Config
from models.transformer.stack import Attention, Transformer


class Qwen3(nn.Module):
    """A causal language model, `models.llm.families.TextModel`. T: positions of a flat batch, V: tokens.

    part: what a rank has of it; it then gives the logits of its part of the vocabulary.
    """

    def __init__(self, config: Qwen3Config, part: Part = WHOLE) -> None:
        super().__init__()
        self.config = config
        self.model = Transformer(config, part=part)
        if config.tie_word_embeddings:
            self.lm_head: nn.Module = TiedLinear(self.model.embed_tokens)
        else:
            self.lm_head = head(part, config.hidden_size, config.vocab_size)

    def forward(
        self, token_ids: Tensor, positions: Tensor, attention: Attention, ends: Tensor | None = None
    ) -> Tensor:
        """See `models.llm.families.TextModel`; hidden states are those after the final norm."""
        rope = self.model.cos_sin(positions)
        return self.model(self.model.embed_tokens(token_ids), rope, attention, ends)

    def logits(self, hidden: Tensor) -> Tensor:
        """hidden [N, hidden_size] -> [N, V]."""
        return self.lm_head(hidden)
