"""Attention for training: causal within each document of a flat batch, and dense over rows of a few tokens.

The row form comes in ways that suit different compilers; which is fastest is measured at the start of a
run (see train_lm.py) rather than assumed.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor

from models.transformer.stack import Attention, bidirectional_attention


def flat_attention(boundaries: Tensor, longest: int) -> Attention:
    """Attention over a flat batch: position i sees the earlier positions of its own document.

    boundaries [documents + 1] int32: cumulative lengths (empty documents allowed); longest: an upper
    bound of one document's length. On a GPU this is torch's variable-length flash attention (bf16).
    """

    def attend(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        groups = q.shape[1] // k.shape[1]
        k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
        if q.is_cuda:
            return _variable_length(q, k, v, boundaries, longest)
        return _document_loop(q, k, v, boundaries)

    return attend


@cache
def _causal_argument() -> dict:
    """torch 2.10 and 2.11 differ in how `varlen_attn` is told to be causal. It takes two seconds to load."""
    from torch.nn.attention.varlen import varlen_attn

    return (
        {"is_causal": True}
        if "is_causal" in inspect.signature(varlen_attn).parameters
        else {"window_size": (-1, 0)}
    )


def _variable_length(q: Tensor, k: Tensor, v: Tensor, boundaries: Tensor, longest: int) -> Tensor:
    from torch.nn.attention.varlen import varlen_attn

    dtype = torch.bfloat16
    return varlen_attn(
        q.to(dtype), k.to(dtype), v.to(dtype), boundaries, boundaries, longest, longest, **_causal_argument()
    )


def _document_loop(q: Tensor, k: Tensor, v: Tensor, boundaries: Tensor) -> Tensor:
    parts = []
    for first, last in pairwise(boundaries.tolist()):
        if last > first:
            rows = (x[first:last].transpose(0, 1)[None] for x in (q, k, v))
            parts.append(F.scaled_dot_product_attention(*rows, is_causal=True)[0].transpose(0, 1))
    return torch.cat(parts)


def _same_heads(q: Tensor, k: Tensor) -> Tensor:
    return k.repeat_interleave(q.shape[2] // k.shape[2], 2)


def broadcast_row_attention(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Sums over broadcast products, which a compiler fuses: q [N, L, Hq, D], k, v [N, L, Hkv, D]."""
    k, v = _same_heads(q, k).float(), _same_heads(q, v).float()
    scores = (q.float()[:, :, None] * k[:, None]).sum(-1) * q.shape[-1] ** -0.5
    return (scores.softmax(2)[..., None] * v[:, None]).sum(2).to(q.dtype)


def einsum_row_attention(layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Batched matrix products: q [N, L, Hq, D], k, v [N, L, Hkv, D]."""
    k, v = _same_heads(q, k), _same_heads(q, v)
    scores = torch.einsum("nlhd,nmhd->nhlm", q, k).float() * q.shape[-1] ** -0.5
    return torch.einsum("nhlm,nmhd->nlhd", scores.softmax(-1).to(v.dtype), v)


ROW_ATTENTIONS: dict[str, Callable[[int, Tensor, Tensor, Tensor], Tensor]] = {
    "broadcast": broadcast_row_attention,
    "einsum": einsum_row_attention,
    "sdpa": bidirectional_attention,
}
