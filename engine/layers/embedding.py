"""Token embedding that is read in batches where some positions carry no token.

Speech models mix text positions, which have a token id, with audio positions, which have a vector of their
own. `forward_masked` embeds the former and leaves zeros for the latter, so that the two can be added.
"""

from __future__ import annotations

from torch import Tensor, nn


class TokenEmbedding(nn.Embedding):
    """`nn.Embedding` with one parameter, `weight` [vocabulary, hidden_size]."""

    def forward_masked(self, token_ids: Tensor, mask: Tensor) -> Tensor:
        """Embeds `token_ids` [T] where `mask` [T] is non-zero; returns [T, hidden_size] with zeros elsewhere.

        Ids under a zero of the mask are never looked up as they are: any value is allowed there.
        """
        present = mask.bool()
        return self(token_ids.masked_fill(~present, 0)) * present[:, None]
