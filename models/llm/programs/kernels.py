"""Drawing tokens on a device: penalties, filters, and a number that depends on seed and place alone.

All of it follows `models.llm.logits` and `models.llm.sampler`. A row of logits is gone through in blocks by
many programs (`adjust_kernel`, `block_kernel`) and in the end by one (`choose_kernel`), which finds the block
in which a uniform number falls among the sums of the probabilities, and the token in that block.
"""

from __future__ import annotations

import triton
import triton.language as tl

PREFIX = 7
"""Tokens of a bad word before its last one, at most, on a device."""
RULES = 512
"""Biases and barred tokens of one answer, at most, on a device."""
PROMPT = tl.constexpr(1 << 30)
"""Set in a count: the token stands in the prompt."""
BIAS, BARRED = tl.constexpr(1), tl.constexpr(2)
"""Kinds of rules; 0 is none."""


@triton.jit
def _uniform(seed, position):
    """What `keyed_generator(seed, position).random()` gives, fp64 of [0, 1): Philox 4x64-10 (Salmon et al.
    2011) of counter 1, as NumPy runs it."""
    one = tl.full([1], 1, tl.uint64)
    zero = one - one
    multiplier_0, multiplier_1 = zero + 0xD2E7470EE14C6C93, zero + 0xCA5A826395121157
    weyl_0, weyl_1 = zero + 0x9E3779B97F4A7C15, zero + 0xBB67AE8584CAA73B
    key_0, key_1 = zero + seed, zero + position
    c_0, c_1, c_2, c_3 = one, zero, zero, zero
    for _ in tl.static_range(10):
        high_0, low_0 = tl.umulhi(multiplier_0, c_0), multiplier_0 * c_0
        high_1, low_1 = tl.umulhi(multiplier_1, c_2), multiplier_1 * c_2
        c_0, c_1, c_2, c_3 = high_1 ^ c_1 ^ key_0, low_1, high_0 ^ c_3 ^ key_1, low_0
        key_0, key_1 = key_0 + weyl_0, key_1 + weyl_1
    return tl.max((c_0 >> 11).to(tl.float64), 0) * (1.0 / 9007199254740992.0)


@triton.jit
def adjust_kernel(
    logits, adjusted, counts, floats, slots, V: tl.constexpr, COLUMNS: tl.constexpr, BLOCK: tl.constexpr
):
    """Program (row, block): logits [N, V] -> fp32, penalties applied; `floats` as of `Tables`."""
    row = tl.program_id(0).to(tl.int64)
    slot = tl.load(slots + row)
    settings = floats + slot * COLUMNS
    repetition, presence, frequency = tl.load(settings + 4), tl.load(settings + 5), tl.load(settings + 6)
    token = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    mask = token < V
    values = tl.load(logits + row * V + token, mask=mask, other=0.0).to(tl.float32)
    if (repetition != 1.0) | (presence != 0.0) | (frequency != 0.0):
        found = tl.load(counts + slot * V + token, mask=mask, other=0)
        repeated = tl.where(values > 0, values / repetition, values * repetition)
        values = tl.where(found != 0, repeated, values)
        times = found & (PROMPT - 1)
        values -= tl.where(times > 0, presence + frequency * times.to(tl.float32), 0.0)
    tl.store(adjusted + row * V + token, values, mask=mask)


@triton.jit
def rules_kernel(
    adjusted, rules, history, slots, indices,
    V: tl.constexpr, RULES: tl.constexpr, FIELDS: tl.constexpr, PREFIX: tl.constexpr,
):  # fmt: skip
    """Program r: biases, then barred tokens of row r; rules as of `Tables`."""
    row = tl.program_id(0).to(tl.int64)
    slot, index = tl.load(slots + row), tl.load(indices + row)
    place = tl.arange(0, RULES)
    rule = rules + (slot * RULES + place) * FIELDS
    kind, token, until = tl.load(rule), tl.load(rule + 1), tl.load(rule + 2)
    value = tl.load(rule + 3).to(tl.float32, bitcast=True)
    holds = (kind != 0) & (index < until)
    for back in tl.static_range(PREFIX):
        wanted = tl.load(rule + 4 + back)
        holds = holds & ((wanted < 0) | (wanted == tl.load(history + slot * PREFIX + back)))
    target = adjusted + row * V + token
    biased = holds & (kind == BIAS)
    tl.store(target, tl.load(target, mask=biased, other=0.0) + value, mask=biased)
    tl.debug_barrier()
    tl.store(target, float("-inf"), mask=holds & (kind == BARRED))


@triton.jit
def _ordered(values):
    """fp32 -> int32 in the same order."""
    bits = values.to(tl.int32, bitcast=True)
    return tl.where(bits < 0, bits ^ 0x7FFFFFFF, bits)


@triton.jit
def _unordered(keys):
    bits = tl.where(keys < 0, keys ^ 0x7FFFFFFF, keys)
    return bits.to(tl.float32, bitcast=True)


@triton.jit
def _middle(low, high):
    """The mean of two int32, rounded down, without overflow."""
    return (low & high) + ((low ^ high) >> 1)


@triton.jit
def threshold_kernel(
    adjusted, thresholds, floats, slots, V: tl.constexpr, COLUMNS: tl.constexpr, BLOCK: tl.constexpr
):
    """Program r: the least logit of row r that top-k, top-p and min-p leave, by bisection.

    A token stays when fewer than k are likelier, and when what is likelier than it has less than the share p
    of all that top-k leaves.
    """
    row = tl.program_id(0).to(tl.int64)
    settings = floats + tl.load(slots + row) * COLUMNS
    temperature, top_p, min_p = tl.load(settings), tl.load(settings + 2), tl.load(settings + 3)
    top_k = tl.load(settings + 1).to(tl.int32)
    threshold = tl.full([], float("-inf"), tl.float32)
    if temperature > 0:
        place = tl.arange(0, BLOCK)
        largest = tl.full([BLOCK], float("-inf"), tl.float32)
        for first in range(0, V, BLOCK):
            token = first + place
            values = tl.load(adjusted + row * V + token, mask=token < V, other=float("-inf"))
            largest = tl.maximum(largest, values)
        highest = tl.max(largest, 0)
        top = _ordered(highest)
        if (top_k > 0) & (top_k < V):
            low, high = tl.full([], -0x7F800001, tl.int32), top
            while low < high:  # the least key of which at most k - 1 are above
                middle = _middle(low, high)
                above = tl.zeros([BLOCK], tl.int32)
                for first in range(0, V, BLOCK):
                    token = first + place
                    values = tl.load(adjusted + row * V + token, mask=token < V, other=float("-inf"))
                    above += (_ordered(values) > middle).to(tl.int32)
                fits = tl.sum(above, 0) < top_k
                high = tl.where(fits, middle, high)
                low = tl.where(fits, low, middle + 1)
            threshold = _unordered(low)
        if top_p < 1.0:
            sums = tl.zeros([BLOCK], tl.float32)
            for first in range(0, V, BLOCK):
                token = first + place
                values = tl.load(adjusted + row * V + token, mask=token < V, other=float("-inf"))
                sums += tl.where(values >= threshold, tl.exp((values - highest) / temperature), 0.0)
            share = tl.sum(sums, 0) * top_p
            low, high = _ordered(threshold), top
            while low < high:  # the least key above which there is less than the share
                middle = _middle(low, high)
                above = tl.zeros([BLOCK], tl.float32)
                for first in range(0, V, BLOCK):
                    token = first + place
                    values = tl.load(adjusted + row * V + token, mask=token < V, other=float("-inf"))
                    above += tl.where(
                        _ordered(values) > middle, tl.exp((values - highest) / temperature), 0.0
                    )
                fits = tl.sum(above, 0) < share
                high = tl.where(fits, middle, high)
                low = tl.where(fits, low, middle + 1)
            threshold = _unordered(low)
        if min_p > 0:
            threshold = tl.maximum(threshold, highest + temperature * tl.log(min_p))
    tl.store(thresholds + row, threshold)


@triton.jit
def block_kernel(
    logits, thresholds, floats, slots, maxima, sums, places,
    V: tl.constexpr, COLUMNS: tl.constexpr, BLOCK: tl.constexpr, BLOCKS: tl.constexpr,
    FIRST_TOKEN: tl.constexpr, FIRST_BLOCK: tl.constexpr,
):  # fmt: skip
    """Program (row, block): of a block of logits the largest, where it stands, and the sum of exponentials
    relative to it, of the logits that reach the threshold of the row. V: of the logits here, which begin with
    FIRST_TOKEN of the vocabulary and FIRST_BLOCK of its BLOCKS blocks."""
    row, block = tl.program_id(0).to(tl.int64), tl.program_id(1)
    temperature = tl.load(floats + tl.load(slots + row) * COLUMNS)
    token = block * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(logits + row * V + token, mask=token < V, other=float("-inf")).to(tl.float32)
    if thresholds is not None:
        values = tl.where(values >= tl.load(thresholds + row), values, float("-inf"))
    largest, place = tl.max(values, 0, return_indices=True, return_indices_tie_break_left=True)
    weights = tl.exp((values - largest) / tl.where(temperature > 0, temperature, 1.0))
    total = tl.sum(tl.where(values > float("-inf"), weights, 0.0).to(tl.float64), 0)
    target = row * BLOCKS + FIRST_BLOCK + block
    tl.store(maxima + target, largest.to(maxima.dtype.element_ty))
    tl.store(sums + target, total)
    tl.store(places + target, FIRST_TOKEN + block * BLOCK + place)


@triton.jit
def choose_kernel(
    logits, thresholds, maxima, sums, places, floats, seeds, slots, indices, tokens, counts, history, out,
    V: tl.constexpr, COLUMNS: tl.constexpr, BLOCK: tl.constexpr, BLOCKS: tl.constexpr, ROOM: tl.constexpr,
    PREFIX: tl.constexpr, OUT: tl.constexpr, LEARNS: tl.constexpr, FIRST_TOKEN: tl.constexpr,
    FIRST_BLOCK: tl.constexpr, OWN_BLOCKS: tl.constexpr,
):  # fmt: skip
    """Program r: the token of row r, into `out` and the slot of the row, which learns it where LEARNS.

    Where logits are a part of the vocabulary (OWN_BLOCKS < BLOCKS, see `block_kernel`), `out` gets the token
    on one rank and 0 on the others, and nothing else is written."""
    row = tl.program_id(0).to(tl.int64)
    slot = tl.load(slots + row)
    temperature = tl.load(floats + slot * COLUMNS)
    block = tl.arange(0, ROOM)
    in_row = block < BLOCKS
    largest = tl.load(maxima + row * BLOCKS + block, mask=in_row, other=float("-inf")).to(tl.float32)
    highest, best = tl.max(largest, 0, return_indices=True, return_indices_tie_break_left=True)
    chosen = tl.load(places + row * BLOCKS + best).to(tl.int64)
    tells = tl.full([], FIRST_BLOCK == 0, tl.int1)
    if temperature > 0:
        weights = tl.load(sums + row * BLOCKS + block, mask=in_row, other=0.0)
        weights *= tl.exp((largest - highest) / temperature)
        ends = tl.cumsum(weights, 0)
        point = _uniform(tl.load(seeds + slot).to(tl.uint64, bitcast=True), tl.load(indices + row))
        point *= tl.sum(weights, 0)
        last = tl.max(tl.where(weights > 0, block, 0), 0)
        found = tl.minimum(tl.sum((ends <= point).to(tl.int32), 0), last)
        before = tl.sum(tl.where(block < found, weights, 0.0), 0)
        place = tl.arange(0, BLOCK)
        token = (found - FIRST_BLOCK) * BLOCK + place
        known = (token >= 0) & (token < V)
        values = tl.load(logits + row * V + token, mask=known, other=float("-inf")).to(tl.float32)
        if thresholds is not None:
            values = tl.where(values >= tl.load(thresholds + row), values, float("-inf"))
        parts = tl.where(values > float("-inf"), tl.exp((values - highest) / temperature), 0.0).to(tl.float64)
        ends = tl.cumsum(parts, 0)
        last = tl.max(tl.where(parts > 0, place, 0), 0)
        place_found = tl.minimum(tl.sum((ends <= point - before).to(tl.int32), 0), last)
        chosen = (FIRST_TOKEN + (found - FIRST_BLOCK) * BLOCK + place_found).to(tl.int64)
        tells = (found >= FIRST_BLOCK) & (found < FIRST_BLOCK + OWN_BLOCKS)
    if OWN_BLOCKS < BLOCKS:
        tl.store(out + row * OUT, tl.where(tells, chosen, 0))
        return
    tl.store(out + row * OUT, chosen)
    tl.store(tokens + slot, chosen)
    if LEARNS:
        counted = counts + slot * V + chosen
        tl.store(counted, tl.load(counted) + 1)
        for back in tl.static_range(PREFIX - 1):
            moved = history + slot * PREFIX + back
            tl.store(moved, tl.load(moved + 1))
        tl.store(history + slot * PREFIX + PREFIX - 1, chosen)
