"""Attention to another part of a context, added to that of the parts before, in one kernel.

Of two results with log-sum-exps l and m of their scores, over different positions, the attention to all of
them is the sum of both, weighted by exp(l - n) and exp(m - n), where n = log(exp(l) + exp(m)).
"""

from __future__ import annotations

import triton
import triton.language as tl
from torch import Tensor

from engine.kernels.launch import kernel_on

ROWS = 8
"""Query heads per program."""


@triton.jit(do_not_specialize=["count", "lse_query"])
def merge_kernel(
    out, weight, more, lse, count, lse_query, lse_head,
    HEADS: tl.constexpr, HEAD_DIM: tl.constexpr, BLOCK: tl.constexpr, ROWS: tl.constexpr,
):  # fmt: skip
    """Program i merges ROWS of `count` rows; row r is head r % HEADS of query r // HEADS."""
    row = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    there = row < count
    old = tl.load(weight + row, mask=there, other=0.0)
    new = tl.load(lse + row // HEADS * lse_query + row % HEADS * lse_head, mask=there, other=0.0)
    highest = tl.maximum(old, new)
    both = highest + tl.log(tl.exp(old - highest) + tl.exp(new - highest))
    element = tl.arange(0, BLOCK)
    place = row[:, None] * HEAD_DIM + element[None, :]
    mask = there[:, None] & (element < HEAD_DIM)[None, :]
    before = tl.load(out + place, mask=mask, other=0.0)
    added = tl.load(more + place, mask=mask, other=0.0).to(tl.float32)
    merged = before * tl.exp(old - both)[:, None] + added * tl.exp(new - both)[:, None]
    tl.store(out + place, merged, mask=mask)
    tl.store(weight + row, both, mask=there)


def merge_(out: Tensor, weight: Tensor, more: Tensor, lse: Tensor) -> None:
    """Adds `more` [N, H, D], with the log-sum-exps `lse` [N, H] fp32, to `out` fp32 [N, H, D] and `weight`
    fp32 [N, H]. All but `lse` are contiguous."""
    queries, heads, head_dim = out.shape
    kernel_on(out.device, merge_kernel)[(triton.cdiv(queries * heads, ROWS),)](
        out, weight, more, lse, queries * heads, *lse.stride(),
        HEADS=heads, HEAD_DIM=head_dim, BLOCK=triton.next_power_of_2(head_dim), ROWS=ROWS, num_warps=4,
    )  # fmt: skip
