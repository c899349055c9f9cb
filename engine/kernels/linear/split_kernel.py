"""The kernel of `split_linear`."""

from __future__ import annotations

import triton
import triton.language as tl

from engine.kernels.activation import silu
from engine.kernels.fence import load_before_computing
from engine.kernels.linear.operands import fragments, load_weights, tile_at
from engine.kernels.low_rank.within import given_to, lines_of, shrink_item, turns_of_rows, with_given


@triton.jit
def _activations(base, row, k, step, num_rows, limit, K: tl.constexpr, MASKED: tl.constexpr):
    """Rows of x at K step + k, zero beyond the rows and the limit of K."""
    mask = row < num_rows
    if MASKED:
        mask = mask & (step + k < limit)
    return tl.load(tile_at(base + step, row * K + k), mask=mask, other=0.0)


@triton.jit
def _multiply(
    weights, values, product,
    WARPS: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, CHUNKS: tl.constexpr,
):  # fmt: skip
    operand = tl.trans(fragments(values, WARPS, BLOCK_M // 8, CHUNKS), (0, 2, 1))
    tile = fragments(weights, WARPS, BLOCK_N // 8, CHUNKS)
    return tl.dot(tile, operand, product, input_precision="ieee")


@triton.jit
def _sum_over_warps(product):
    """[warps, outputs, rows] -> [outputs, rows], in halves: so a thread gets all it adds up in one exchange,
    where `tl.sum` exchanges one value after the other."""
    values = tl.permute(product, (1, 2, 0))
    for _ in tl.static_range(5):
        if values.shape[2] > 1:
            pairs = tl.reshape(values, (values.shape[0], values.shape[1], values.shape[2] // 2, 2))
            even, odd = tl.split(pairs)
            values = even + odd
    return tl.reshape(values, (values.shape[0], values.shape[1]))


@triton.jit
def _finish(
    product, product_up, shift, added, added_up, out, first_row, first_output, num_rows,
    N: tl.constexpr, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, GATED: tl.constexpr,
    ASSEMBLY: tl.constexpr,
):  # fmt: skip
    """Adds up the warps' sums and stores them, `shift` [outputs] and `added` [outputs, rows] added; of gates
    and what they are multiplied with `added` and `added_up`."""
    rows, outputs = first_row + tl.arange(0, BLOCK_M), first_output + tl.arange(0, BLOCK_N)
    if GATED:
        both = tl.reshape(tl.join(product, product_up), (product.shape[0], BLOCK_N, 2 * BLOCK_M))
        result, up = tl.split(tl.reshape(_sum_over_warps(both), (BLOCK_N, BLOCK_M, 2)))
    else:
        result = _sum_over_warps(product)
    if shift is not None:
        result += shift.to(tl.float32)[:, None]
    if added is not None:
        result += added
    if GATED:
        if added_up is not None:
            up += added_up
        result = silu(result, ASSEMBLY) * up
    mask = (rows < num_rows)[None, :] & (outputs < N)[:, None]
    target = out + rows[None, :] * N + outputs[:, None]
    tl.store(target, result.to(out.dtype.element_ty), mask=mask)


@triton.jit(do_not_specialize=["num_rows", "num_entries"])
def split_linear_kernel(
    x, weight, bias, out, num_rows, down, up, hidden, turns, slot_stride, num_entries,
    N: tl.constexpr, K: tl.constexpr, PART: tl.constexpr, MASKED: tl.constexpr, BLOCK_M: tl.constexpr,
    TAIL: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr, EARLY: tl.constexpr,
    AHEAD: tl.constexpr, WARPS: tl.constexpr, GATED: tl.constexpr, FENCE: tl.constexpr, PDL: tl.constexpr,
    ENTRIES: tl.constexpr, RANK: tl.constexpr, PARTS: tl.constexpr, FIRST: tl.constexpr,
    OTHER: tl.constexpr, REPEAT: tl.constexpr, BRANCHES: tl.constexpr, ENTRY_ROWS: tl.constexpr,
    INPUTS: tl.constexpr, ITEMS: tl.constexpr,
):  # fmt: skip
    """Program (i, s) computes BLOCK_N outputs of BLOCK_M + TAIL rows, over part s of K, into out[s].

    x [num_rows, K], weight [N or 2N, K], bias [N] or None and out [parts, num_rows, N] are contiguous; PART
    is a multiple of BLOCK_K. MASKED: the parts together reach beyond K. With a RANK programs are numbered in
    one row, the first ITEMS of them are those of `low_rank.within`, and its additions are part of out[0].
    """
    if PDL:
        tl.extra.cuda.gdc_launch_dependents()
    BLOCKS: tl.constexpr = (N + BLOCK_N - 1) // BLOCK_N
    if RANK:
        if tl.program_id(0) < ITEMS:
            shrink_item(
                x, down, hidden, turns, slot_stride, num_entries,
                K, PARTS, RANK, REPEAT, BRANCHES, ENTRY_ROWS, INPUTS, PDL,
            )  # fmt: skip
            return
        block, split = (tl.program_id(0) - ITEMS) % BLOCKS, (tl.program_id(0) - ITEMS) // BLOCKS
    else:
        block, split = tl.program_id(0), tl.program_id(1)
    STEPS: tl.constexpr = PART // BLOCK_K
    SLICE: tl.constexpr = BLOCK_K // WARPS
    CHUNKS: tl.constexpr = SLICE // 32
    MASKED_WEIGHTS: tl.constexpr = MASKED or N % BLOCK_N != 0
    first_output, first_k = block * BLOCK_N, split * PART
    eight = tl.arange(0, 8)
    k = (
        (tl.arange(0, 4) * 8)[:, None, None, None, None, None]
        + (tl.arange(0, WARPS) * SLICE)[None, None, :, None, None, None]
        + (tl.arange(0, CHUNKS) * 32)[None, None, None, None, :, None]
        + eight[None, None, None, None, None, :]
    )
    row_of_eight = eight[None, :, None, None, None, None]
    output = row_of_eight + (tl.arange(0, BLOCK_N // 8) * 8)[None, None, None, :, None, None]
    row = row_of_eight + (tl.arange(0, BLOCK_M // 8) * 8)[None, None, None, :, None, None]
    limit = K - first_k
    in_outputs = first_output + output < N
    weights = weight + (first_output.to(tl.int64) * K + first_k)
    weights_up = weights + N * K
    weight_offsets = output * K + k
    inputs = x + first_k

    gates, ups, values, tails = (), (), (), ()
    for step in tl.static_range(EARLY):
        in_tile = in_outputs & (step * BLOCK_K + k < limit)
        gates += (load_weights(weights + step * BLOCK_K, weight_offsets, in_tile, MASKED_WEIGHTS),)
        if GATED:
            ups += (load_weights(weights_up + step * BLOCK_K, weight_offsets, in_tile, MASKED_WEIGHTS),)
    shift = None
    if bias is not None:
        outputs = first_output + tl.arange(0, BLOCK_N)
        shift = tl.load(bias + outputs, mask=outputs < N, other=0.0)
    if RANK:
        outputs = first_output + tl.arange(0, BLOCK_N)
        adds, adapted = (outputs < N) & (split == 0), tl.load(turns)
        lines, lines_up, turn_of_tail = (), (), None
        for turn in tl.static_range(ENTRIES):
            lines += (lines_of(up, turns, turn, slot_stride, num_entries, outputs, adds, RANK),)
            if GATED:
                lines_up += (lines_of(up, turns, turn, slot_stride, num_entries, N + outputs, adds, RANK),)
        turn_of_row = turns_of_rows(turns, num_entries, 0, REPEAT, BRANCHES, BLOCK_M)
        if TAIL:
            turn_of_tail = turns_of_rows(turns, num_entries, BLOCK_M, REPEAT, BRANCHES, TAIL)
    if PDL:
        tl.extra.cuda.gdc_wait()
    for step in tl.static_range(AHEAD):
        values += (_activations(inputs, row, k, step * BLOCK_K, num_rows, limit, K, MASKED),)
        if TAIL:
            row_of_tail = (
                BLOCK_M + row_of_eight + (tl.arange(0, TAIL // 8) * 8)[None, None, None, :, None, None]
            )
            tails += (_activations(inputs, row_of_tail, k, step * BLOCK_K, num_rows, limit, K, MASKED),)
    if FENCE:
        load_before_computing()

    product = tl.zeros([WARPS, BLOCK_N, BLOCK_M], tl.float32)
    product_up = product
    if TAIL:
        product_tail = tl.zeros([WARPS, BLOCK_N, TAIL], tl.float32)
        product_up_tail = product_tail
    for step in tl.static_range(STEPS):
        if step + EARLY < STEPS:
            later = (step + EARLY) * BLOCK_K
            in_tile = in_outputs & (later + k < limit)
            gates += (load_weights(weights + later, weight_offsets, in_tile, MASKED_WEIGHTS),)
            if GATED:
                ups += (load_weights(weights_up + later, weight_offsets, in_tile, MASKED_WEIGHTS),)
        if step + AHEAD < STEPS:
            later = (step + AHEAD) * BLOCK_K
            values += (_activations(inputs, row, k, later, num_rows, limit, K, MASKED),)
            if TAIL:
                row_of_tail = (
                    BLOCK_M + row_of_eight + (tl.arange(0, TAIL // 8) * 8)[None, None, None, :, None, None]
                )
                tails += (_activations(inputs, row_of_tail, k, later, num_rows, limit, K, MASKED),)
        product = _multiply(gates[step], values[step], product, WARPS, BLOCK_M, BLOCK_N, CHUNKS)
        if GATED:
            product_up = _multiply(ups[step], values[step], product_up, WARPS, BLOCK_M, BLOCK_N, CHUNKS)
        if TAIL:
            product_tail = _multiply(gates[step], tails[step], product_tail, WARPS, TAIL, BLOCK_N, CHUNKS)
            if GATED:
                product_up_tail = _multiply(
                    ups[step], tails[step], product_up_tail, WARPS, TAIL, BLOCK_N, CHUNKS
                )
    added, added_up, added_tail, added_up_tail = None, None, None, None
    if RANK:
        SPLITS: tl.constexpr = (K + INPUTS - 1) // INPUTS
        part = tl.where(first_output < FIRST, 0, 1 + (first_output - FIRST) // OTHER)
        added = tl.zeros([BLOCK_N, BLOCK_M], tl.float32)
        if GATED:
            added_up = added
        if TAIL:
            added_tail = tl.zeros([BLOCK_N, TAIL], tl.float32)
            if GATED:
                added_up_tail = added_tail
        if (split == 0) & (adapted > 0):
            given, given_tail = given_to(
                hidden, turn_of_row, turn_of_tail, part, num_entries, SPLITS, PARTS, RANK, REPEAT, ENTRY_ROWS
            )
            added = with_given(added, lines, given, turn_of_row, ENTRIES)
            if TAIL:
                added_tail = with_given(added_tail, lines, given_tail, turn_of_tail, ENTRIES)
            if GATED:
                given, given_tail = given_to(
                    hidden, turn_of_row, turn_of_tail, 1, num_entries, SPLITS, PARTS, RANK, REPEAT, ENTRY_ROWS
                )
                added_up = with_given(added_up, lines_up, given, turn_of_row, ENTRIES)
                if TAIL:
                    added_up_tail = with_given(added_up_tail, lines_up, given_tail, turn_of_tail, ENTRIES)
    target = out + split * num_rows * N
    _finish(
        product, product_up, shift, added, added_up, target, 0, first_output, num_rows,
        N, BLOCK_M, BLOCK_N, GATED, FENCE,
    )  # fmt: skip
    if TAIL:
        _finish(
            product_tail, product_up_tail, shift, added_tail, added_up_tail, target, BLOCK_M, first_output,
            num_rows, N, TAIL, BLOCK_N, GATED, FENCE,
        )  # fmt: skip
