"""Triton kernels over the paged KV cache: store, and prefill of rows of any length.

A cache layer is `[2, num_blocks, block_size, kv_heads, head_dim]`, contiguous within keys and within values.
The query heads that share a key/value head stand together as the rows of one tile, so that keys and values
are read once per group: with 16 query heads on 2 key/value heads, a tile of 64 rows holds 8 queries. Decodes
have kernels of their own (`decodes`).

Keys and values past a context are masked when they are loaded, not only in the scores, so whatever an unused
slot holds, NaN included, cannot reach a sum. Scores, sums and outputs are accumulated in fp32; `OPERAND` is
the type in which tiles are multiplied. Scores carry a factor log2(e), so that exp2 serves.

With `cos` and `sin`, fp32 [tokens, HEAD_DIM] as `LongRope.cos_sin` gives them, queries and keys are rotated
when they are loaded, and keys are stored rotated; rotated vectors are rounded to the type of the cache.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _rotated(vectors, partners, cos, sin):
    """Elements of vectors, each with its partner half a vector on, rotated in fp32, in their type."""
    return (vectors.to(tl.float32) * cos + partners.to(tl.float32) * sin).to(vectors.dtype)


@triton.jit
def store_kernel(
    k, v, cache, slots, cos, sin, k_token, k_head, v_token, v_head, side,
    KV_HEADS: tl.constexpr, HEAD_DIM: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """Program t brings the keys and values of token t to its slot; a negative slot is padding."""
    token = tl.program_id(0).to(tl.int64)
    slot = tl.load(slots + token).to(tl.int64)
    if slot < 0:
        return
    element = tl.arange(0, BLOCK)
    mask = element < KV_HEADS * HEAD_DIM
    head, offset = element // HEAD_DIM, element % HEAD_DIM
    target = cache + slot * KV_HEADS * HEAD_DIM + element
    source = k + token * k_token + head * k_head
    keys = tl.load(source + offset, mask=mask)
    if cos is not None:
        partners = tl.load(source + (offset + HEAD_DIM // 2) % HEAD_DIM, mask=mask)
        factor = token * HEAD_DIM + offset
        c, s = tl.load(cos + factor, mask=mask), tl.load(sin + factor, mask=mask)
        keys = _rotated(keys, partners, c, s)
    tl.store(target, keys, mask=mask)
    tl.store(target + side, tl.load(v + token * v_token + head * v_head + offset, mask=mask), mask=mask)


@triton.jit
def _page_offsets(
    table, positions, valid, kv_head,
    BLOCK_SIZE: tl.constexpr, KV_HEADS: tl.constexpr, HEAD_DIM: tl.constexpr,
):  # fmt: skip
    """Where the vectors of `positions` begin in the keys (or values) of one cache layer."""
    blocks = tl.load(table + positions // BLOCK_SIZE, mask=valid, other=0).to(tl.int64)
    return ((blocks * BLOCK_SIZE + positions % BLOCK_SIZE) * KV_HEADS + kv_head) * HEAD_DIM


@triton.jit
def _accumulate(q, keys, values, visible, scale, maximum, total, output, OPERAND: tl.constexpr):
    """One step of the online softmax: q [M, D], keys and values [N, D], visible [M or 1, N].

    Every row sees at least one position of the first tile it is given, so `maximum` is finite after it.
    """
    scores = tl.dot(q, tl.trans(keys.to(OPERAND)), input_precision="ieee")
    scores = tl.where(visible, scores * scale, float("-inf"))
    raised = tl.maximum(maximum, tl.max(scores, 1))
    decay = tl.exp2(maximum - raised)
    weights = tl.exp2(scores - raised[:, None])
    total = total * decay + tl.sum(weights, 1)
    output = output * decay[:, None]
    output += tl.dot(weights.to(OPERAND), values.to(OPERAND), input_precision="ieee")
    return raised, total, output


@triton.jit(do_not_specialize=["table_width", "num_rows"])
def prefill_kernel(
    q, cache, out, tables, contexts, cu_queries, cos, sin, table_width, num_rows, scale, q_token, q_head,
    side,
    BLOCK_SIZE: tl.constexpr, KV_HEADS: tl.constexpr, GROUP: tl.constexpr, HEAD_DIM: tl.constexpr,
    BLOCK_Q: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_D: tl.constexpr,
    BLOCK_R: tl.constexpr, OPERAND: tl.constexpr,
):  # fmt: skip
    """Program (tile, key/value head) attends BLOCK_Q queries of one row, all of whose keys are stored.

    The tiles of row r begin at `cu_queries[r] // BLOCK_Q + r`, which leaves each row one tile more than its
    full ones; so the grid depends on the room of the batch alone, and a captured launch serves any batch in
    it. A row with context 0 is padding and gets zeros.
    """
    tile, kv_head = tl.program_id(0), tl.program_id(1)
    rows = tl.arange(0, BLOCK_R)
    first_tiles = tl.load(cu_queries + rows, mask=rows < num_rows, other=0) // BLOCK_Q + rows
    row = tl.sum(((first_tiles <= tile) & (rows < num_rows)).to(tl.int32), 0) - 1
    begin = tl.load(cu_queries + row)
    count = tl.load(cu_queries + row + 1) - begin
    first_query = (tile - begin // BLOCK_Q - row) * BLOCK_Q
    if first_query >= count:
        return

    member, d = tl.arange(0, BLOCK_M), tl.arange(0, BLOCK_D)
    query = first_query + member // GROUP
    heads = kv_head * GROUP + member % GROUP
    in_head = d < HEAD_DIM
    in_tile = ((query < count) & (member < BLOCK_Q * GROUP))[:, None] & in_head[None, :]
    token = (begin + query).to(tl.int64)
    query_start = q + token[:, None] * q_token + heads[:, None] * q_head
    queries = tl.load(query_start + d[None, :], mask=in_tile, other=0.0)
    if cos is not None:
        partners = tl.load(query_start + ((d + HEAD_DIM // 2) % HEAD_DIM)[None, :], mask=in_tile, other=0.0)
        factor = token[:, None] * HEAD_DIM + d[None, :]
        c = tl.load(cos + factor, mask=in_tile, other=0.0)
        s = tl.load(sin + factor, mask=in_tile, other=0.0)
        queries = _rotated(queries, partners, c, s)
    queries = queries.to(OPERAND)
    maximum = tl.full([BLOCK_M], float("-inf"), tl.float32)
    total = tl.zeros([BLOCK_M], tl.float32)
    output = tl.zeros([BLOCK_M, BLOCK_D], tl.float32)

    context = tl.load(contexts + row)
    last_visible = context - count + query
    end = tl.minimum(context, context - count + first_query + BLOCK_Q)
    for first in range(0, end, BLOCK_N):
        positions = first + tl.arange(0, BLOCK_N)
        valid = positions < end
        offsets = _page_offsets(
            tables + row.to(tl.int64) * table_width, positions, valid, kv_head, BLOCK_SIZE, KV_HEADS, HEAD_DIM
        )
        cached = cache + offsets[:, None] + d[None, :]
        mask = valid[:, None] & in_head[None, :]
        keys = tl.load(cached, mask=mask, other=0.0)
        values = tl.load(cached + side, mask=mask, other=0.0)
        visible = (positions[None, :] <= last_visible[:, None]) & valid[None, :]
        maximum, total, output = _accumulate(
            queries, keys, values, visible, scale, maximum, total, output, OPERAND
        )

    output = output / tl.where(total > 0, total, 1.0)[:, None]
    target = out + (token * KV_HEADS * GROUP + heads)[:, None] * HEAD_DIM + d[None, :]
    tl.store(target, output.to(out.dtype.element_ty), mask=in_tile)
