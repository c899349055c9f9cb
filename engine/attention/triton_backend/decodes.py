"""Decodes over the paged KV cache by programs of one warp, each a part of one context.

A warp loads keys and queries as its parts of the operands of their product (`engine.kernels.fragments`), so
that nothing is exchanged between warps, and only values pass through shared memory. The newest position never
travels through the cache: the first part of a context takes it from k and v, and stores it. So no program
reads what another writes, and of the cache only what earlier steps stored.

Launched before the kernel that precedes it has ended, a program therefore has its first tile of keys and
values by the time its query is there. For this, contexts, tables and those parts of the cache have to be
complete when any earlier kernel of the stream begins that waits for its predecessor to end, as what copies
wrote is, or kernels of earlier graphs.
"""

from __future__ import annotations

import triton
import triton.language as tl

from engine.kernels.fence import load_before_computing
from engine.kernels.fragments import (
    elements,
    factors,
    fragments,
    lanes,
    rotated,
    rows,
    rows_of_lanes,
    shuffled,
    store_wide,
    unshuffled,
)

COMBINED = 8
"""Splits that are merged at a time."""


@triton.jit
def _share(cached, SPLITS: tl.constexpr, BLOCK_N: tl.constexpr):
    """Cached positions of a split: whole tiles, so that the first few splits may have all there is."""
    return tl.cdiv(tl.cdiv(cached, SPLITS), BLOCK_N) * BLOCK_N


@triton.jit
def _vectors(
    blocks, positions, kv_head, BLOCK_SIZE: tl.constexpr, KV_HEADS: tl.constexpr, HALF: tl.constexpr
):
    """Where the vectors of `positions` in `blocks` begin in the keys (or values) of one cache layer."""
    return ((blocks.to(tl.int64) * BLOCK_SIZE + positions % BLOCK_SIZE) * KV_HEADS + kv_head) * 2 * HALF


@triton.jit
def _load_tile(
    cache, side, table, first, end, kv_head,
    BLOCK_SIZE: tl.constexpr, KV_HEADS: tl.constexpr, HALF: tl.constexpr, BLOCK_N: tl.constexpr,
    BLOCK_HALF: tl.constexpr,
):  # fmt: skip
    """Keys (two tiles) and values [BLOCK_N, 2, BLOCK_HALF] of positions first to end; zeros from there on."""
    element, position = elements(BLOCK_HALF // 32), first + rows_of_lanes(BLOCK_N // 8)
    blocks = tl.load(lanes(table, position // BLOCK_SIZE), mask=position < end, other=0)
    offsets = _vectors(blocks, position, kv_head, BLOCK_SIZE, KV_HEADS, HALF) + element
    mask = (position < end) & (element < HALF)
    k_a = tl.load(lanes(cache, offsets), mask=mask, other=0.0)
    k_b = tl.load(lanes(cache + HALF, offsets), mask=mask, other=0.0)
    place = first + tl.arange(0, BLOCK_N)[:, None, None]
    of_half = tl.arange(0, BLOCK_HALF)[None, None, :]
    blocks = tl.load(table + place // BLOCK_SIZE, mask=place < end, other=0)
    offsets = _vectors(blocks, place, kv_head, BLOCK_SIZE, KV_HEADS, HALF)
    offsets += (tl.arange(0, 2) * HALF)[None, :, None] + of_half
    return k_a, k_b, tl.load(cache + side + offsets, mask=(place < end) & (of_half < HALF), other=0.0)


@triton.jit
def _fetch_ahead(
    cache, side, table, first, end, kv_head,
    BLOCK_SIZE: tl.constexpr, KV_HEADS: tl.constexpr, HALF: tl.constexpr, BLOCK_N: tl.constexpr,
):  # fmt: skip
    """Has keys and values of positions first to end, as many as a tile has, brought to the device's cache."""
    place = first + tl.arange(0, BLOCK_N)[:, None]
    inside = place < end
    blocks = tl.load(table + place // BLOCK_SIZE, mask=inside, other=0)
    offsets = tl.where(inside, _vectors(blocks, place, kv_head, BLOCK_SIZE, KV_HEADS, HALF), 0)
    keys = cache + offsets + (tl.arange(0, 2) * HALF)[None, :]
    for lines in tl.static_range(2):
        tl.inline_asm_elementwise(
            "prefetch.global.L2 [$1]; mov.u32 $0, 0;", "=r,l", [(keys + lines * side).to(tl.int64)],
            dtype=tl.int32, is_pure=False, pack=1,
        )  # fmt: skip


@triton.jit
def _accumulate(
    q_a, q_b, k_a, k_b, values, visible, scale, maximum, total, output,
    BLOCK_N: tl.constexpr, CHUNKS: tl.constexpr, OPERAND: tl.constexpr,
):  # fmt: skip
    """One step of the online softmax; `maximum` is -inf while no position was visible."""
    scores = tl.dot(q_a, tl.trans(fragments(k_a.to(OPERAND), BLOCK_N // 8, CHUNKS)), input_precision="ieee")
    scores += tl.dot(q_b, tl.trans(fragments(k_b.to(OPERAND), BLOCK_N // 8, CHUNKS)), input_precision="ieee")
    scores = tl.where(visible[None, :], scores * scale, float("-inf"))
    raised = tl.maximum(maximum, tl.max(scores, 1))
    base = tl.where(raised == float("-inf"), 0.0, raised)
    decay, weights = tl.exp2(maximum - base), tl.exp2(scores - base[:, None])
    values = shuffled(values.to(OPERAND), BLOCK_N, 2 * CHUNKS)
    output = tl.dot(weights.to(OPERAND), values, output * decay[:, None], input_precision="ieee")
    return raised, total * decay + tl.sum(weights, 1), output


@triton.jit
def _normalised(a, b, norm, same, in_half, eps, HALF: tl.constexpr):
    """Halves a and b of heads, each head normalised: fp32."""
    a, b = a.to(tl.float32), b.to(tl.float32)
    of_a = tl.load(lanes(norm, same), mask=in_half, other=0.0).to(tl.float32)
    of_b = tl.load(lanes(norm + HALF, same), mask=in_half, other=0.0).to(tl.float32)
    squares = tl.sum(tl.sum(tl.sum(a * a + b * b, 4), 3), 0)
    inverse = _beside(tl.rsqrt(squares / (2 * HALF) + eps))
    return a * inverse * of_a, b * inverse * of_b


@triton.jit(do_not_specialize=["table_width", "eps"])
def decode_kernel(
    q, k, v, cache, out, partial, partial_lse, tables, contexts, cos, sin, q_norm, k_norm, eps, table_width,
    scale,
    q_token, q_head, k_token, k_head, v_token, v_head, side,
    BLOCK_SIZE: tl.constexpr, KV_HEADS: tl.constexpr, GROUP: tl.constexpr, HALF: tl.constexpr,
    SPLITS: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_HALF: tl.constexpr,
    OPERAND: tl.constexpr, FENCE: tl.constexpr, PDL: tl.constexpr,
    AHEAD: tl.constexpr,
):  # fmt: skip
    """Program (key/value head, split, row) attends one query to its part of the context.

    The heads of a row begin together, since keys of all heads stand together, and all of a row before the
    next, since long contexts may come first. AHEAD: while a tile is multiplied, the next one is brought to
    the device's cache.

    With one split the result goes to `out`; otherwise the normalised part goes to `partial` [rows, heads,
    SPLITS, D] fp32 and its log2-sum-exp to `partial_lse` [rows, heads, SPLITS], by splits with a share.
    """
    if PDL:
        tl.extra.cuda.gdc_launch_dependents()
    CHUNKS: tl.constexpr = BLOCK_HALF // 32
    EIGHTS: tl.constexpr = BLOCK_M // 8
    kv_head, split, row = tl.program_id(0), tl.program_id(1), tl.program_id(2).to(tl.int64)
    context, table = tl.load(contexts + row), tables + row * table_width
    newest = tl.maximum(context - 1, 0)
    share = _share(newest, SPLITS, BLOCK_N)
    begin = split * share
    end = tl.minimum(begin + share, newest)
    if (split > 0) & (begin >= newest):
        return  # without waiting, which split 0 does for the whole row

    k_a, k_b, values = _load_tile(
        cache, side, table, begin, end, kv_head, BLOCK_SIZE, KV_HEADS, HALF, BLOCK_N, BLOCK_HALF
    )
    if AHEAD:
        _fetch_ahead(cache, side, table, begin + BLOCK_N, end, kv_head, BLOCK_SIZE, KV_HEADS, HALF, BLOCK_N)
    owner = (split == 0) & (context > 0)
    block = tl.load(table + newest // BLOCK_SIZE, mask=owner, other=0)
    target = cache + _vectors(block, newest, kv_head, BLOCK_SIZE, KV_HEADS, HALF)
    element, member, single = elements(CHUNKS), rows(EIGHTS), rows(1)
    in_half, in_group = element < HALF, member < GROUP
    same = single // 8 * 8 + element  # alike for all rows, which the compiler must not know
    if PDL:
        tl.extra.cuda.gdc_wait()

    queries = q + row * q_token + kv_head * GROUP * q_head
    q_a = tl.load(lanes(queries, member * q_head + element), mask=in_group & in_half, other=0.0)
    q_b = tl.load(lanes(queries + HALF, member * q_head + element), mask=in_group & in_half, other=0.0)
    newest_k, newest_v = k + row * k_token + kv_head * k_head, v + row * v_token + kv_head * v_head
    taken = owner & in_half
    new_a = tl.load(lanes(newest_k, same), mask=taken, other=0.0)
    new_b = tl.load(lanes(newest_k + HALF, same), mask=taken, other=0.0)
    value_a = tl.load(lanes(newest_v, same), mask=taken, other=0.0)
    value_b = tl.load(lanes(newest_v + HALF, same), mask=taken, other=0.0)
    if cos is not None:
        c = factors(cos + row * 2 * HALF, single // 8, single < 8, HALF, 1, CHUNKS)
        s = factors(sin + row * 2 * HALF, single // 8, single < 8, HALF, 1, CHUNKS)
    if FENCE:
        load_before_computing()
    if q_norm is not None:
        q_a, q_b = _normalised(q_a, q_b, q_norm, same, in_half, eps, HALF)
        new_a, new_b = _normalised(new_a, new_b, k_norm, same, in_half, eps, HALF)
    if cos is not None:
        q_a, q_b = rotated(q_a, q_b, c, s)
        new_a, new_b = rotated(new_a, new_b, c, s)
    stored = taken & (single == 0)
    tl.store(lanes(target, same), new_a.to(cache.dtype.element_ty), mask=stored)
    tl.store(lanes(target + HALF, same), new_b.to(cache.dtype.element_ty), mask=stored)
    tl.store(lanes(target + side, same), value_a, mask=stored)
    tl.store(lanes(target + side + HALF, same), value_b, mask=stored)
    product = q_a.to(tl.float32) * new_a.to(tl.float32) + q_b.to(tl.float32) * new_b.to(tl.float32)
    score = tl.sum(tl.sum(tl.sum(product, 4), 3), 0) * scale
    score = tl.where(owner, score, float("-inf"))

    q_a, q_b = fragments(q_a.to(OPERAND), EIGHTS, CHUNKS), fragments(q_b.to(OPERAND), EIGHTS, CHUNKS)
    maximum = tl.full([BLOCK_M], float("-inf"), tl.float32)
    total, output = tl.zeros([BLOCK_M], tl.float32), tl.zeros([BLOCK_M, 2 * BLOCK_HALF], tl.float32)
    place = tl.arange(0, BLOCK_N)
    maximum, total, output = _accumulate(
        q_a, q_b, k_a, k_b, values, begin + place < end, scale, maximum, total, output,
        BLOCK_N, CHUNKS, OPERAND,
    )  # fmt: skip
    for first in range(begin + BLOCK_N, end, BLOCK_N):
        k_a, k_b, values = _load_tile(
            cache, side, table, first, end, kv_head, BLOCK_SIZE, KV_HEADS, HALF, BLOCK_N, BLOCK_HALF
        )
        if AHEAD:
            following = first + BLOCK_N
            _fetch_ahead(cache, side, table, following, end, kv_head, BLOCK_SIZE, KV_HEADS, HALF, BLOCK_N)
        maximum, total, output = _accumulate(
            q_a, q_b, k_a, k_b, values, first + place < end, scale, maximum, total, output,
            BLOCK_N, CHUNKS, OPERAND,
        )  # fmt: skip

    maximum, total = _as_rows(maximum, EIGHTS), _as_rows(total, EIGHTS)
    highest = tl.maximum(maximum, score)
    base = tl.where(highest == float("-inf"), 0.0, highest)
    old, new = tl.exp2(maximum - base), tl.exp2(score - base)
    total = total * old + new
    divisor = tl.where(total > 0, total, 1.0)
    old, new = _beside(old / divisor), _beside(new / divisor)
    output_a, output_b = unshuffled(output, EIGHTS, CHUNKS)
    output_a = output_a * old + value_a.to(tl.float32) * new
    output_b = output_b * old + value_b.to(tl.float32) * new
    head = row * KV_HEADS * GROUP + kv_head * GROUP
    if SPLITS == 1:
        target = out + head * 2 * HALF
        offsets = member * 2 * HALF + element
        tl.store(lanes(target, offsets), output_a.to(out.dtype.element_ty), mask=in_group & in_half)
        tl.store(lanes(target + HALF, offsets), output_b.to(out.dtype.element_ty), mask=in_group & in_half)
    else:
        flat = tl.arange(0, 8)[:, None] + (tl.arange(0, EIGHTS) * 8)[None, :]
        lse = tl.where(total > 0, base + tl.log2(divisor), float("-inf"))
        tl.store(partial_lse + (head + flat) * SPLITS + split, lse, mask=flat < GROUP)
        target = partial + (head * SPLITS + split) * 2 * HALF
        store_wide(target, member, SPLITS * 2 * HALF, output_a, in_group, HALF, EIGHTS, CHUNKS)
        store_wide(target + HALF, member, SPLITS * 2 * HALF, output_b, in_group, HALF, EIGHTS, CHUNKS)


@triton.jit
def _as_rows(vector, EIGHTS: tl.constexpr):
    """A value per row of a product -> [8, EIGHTS], as the rows of a tile are."""
    return tl.trans(tl.reshape(vector, (EIGHTS, 8)))


@triton.jit
def _beside(vector):
    """[8, EIGHTS] beside a tile."""
    return vector[None, :, :, None, None]


@triton.jit
def combine_kernel(
    out, partial, partial_lse, contexts,
    HEADS: tl.constexpr, HEAD_DIM: tl.constexpr, SPLITS: tl.constexpr, BLOCK_N: tl.constexpr,
    BLOCK_D: tl.constexpr, COMBINED: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    """Program i merges the splits of head row i, each weighted with its share of the softmax's sum.

    A lane has 4 elements of every split, and every lane all of their sums: nothing is exchanged.
    """
    if PDL:
        tl.extra.cuda.gdc_launch_dependents()
    LANES: tl.constexpr = BLOCK_D // 4
    head_row = tl.program_id(0).to(tl.int64)
    cached = tl.maximum(tl.load(contexts + head_row // HEADS) - 1, 0)
    share = tl.maximum(_share(cached, SPLITS, BLOCK_N), 1)
    active = tl.maximum(tl.cdiv(cached, share), 1)
    split, lane = tl.arange(0, COMBINED)[:, None, None], tl.arange(0, LANES)[None, :, None]
    element = lane * 4 + tl.arange(0, 4)[None, None, :]
    alike = split + lane // LANES
    partial += head_row * SPLITS * HEAD_DIM
    partial_lse += head_row * SPLITS
    highest = tl.full([LANES, 1], float("-inf"), tl.float32)
    total, merged = tl.zeros([LANES, 1], tl.float32), tl.zeros([LANES, 4], tl.float32)
    if PDL:
        tl.extra.cuda.gdc_wait()
    for first in range(0, active, COMBINED):
        written = first + split < active
        lse = tl.load(
            tl.max_contiguous(partial_lse + (first + alike), (1, 4, 16)), mask=written, other=float("-inf")
        )
        parts = tl.max_contiguous(partial + ((first + split) * HEAD_DIM + element), (1, 4, 16))
        parts = tl.load(parts, mask=written & (element < HEAD_DIM), other=0.0)
        raised = tl.maximum(highest, tl.max(lse, 0))
        base = tl.where(raised == float("-inf"), 0.0, raised)
        decay, weights = tl.exp2(highest - base), tl.exp2(lse - base[None, :, :])
        total = total * decay + tl.sum(weights, 0)
        merged = merged * decay + tl.sum(parts * weights, 0)
        highest = raised
    merged = merged / tl.where(total > 0, total, 1.0)
    element = tl.arange(0, LANES)[:, None] * 4 + tl.arange(0, 4)[None, :]
    tl.store(out + head_row * HEAD_DIM + element, merged.to(out.dtype.element_ty), mask=element < HEAD_DIM)
