"""Triton kernels of causal convolutions that go on from call to call, on frames [B, T, C] in fp32.

What a convolution saw last of a stream, `CONTEXT` frames, is its state, and stands in that stream's row of a
storage. A call first copies the rows of its streams to `old` (`gather_kernel`); every kernel then reads the
frames before its input from `old` and leaves the new state in the storage. So no program reads what another
one writes, and nothing is concatenated or cut into windows.

Rows of a tile are frames of all streams in turn: row m is frame m % frames of stream m // frames. Where
channels are convolved each for itself a row is a run of STEPS such frames, `dilation` apart, so that a frame
is fetched, and its snake computed, once for all outputs of the run and not once for each tap. Kernels
whose layer has a state run some programs more than they have tiles; those move the state on (`advance`).

Streams may have weights and biases of their own, `own` int64 [streams]: so many elements after the given
ones, in other memory, multiples of 16. A tile is then of one stream. Where `own` is None all have the given.

The product kernels end in the elementwise steps that follow: bias, residual, a factor and an offset per
channel, snake. `PRECISION` is "tf32" or "ieee"; with `ROUND` a result is rounded to the nearest TF32, since
the tensor cores just drop the bits that TF32 lacks.
"""

from __future__ import annotations

import triton
import triton.language as tl

from engine.kernels.streaming_parts import (
    advance,
    begin,
    finish,
    frames_at,
    inputs,
    round_to_tf32,
    rows_of_tile,
    runs,
    snake_of,
    tap_weights,
    tiles_of,
    weights_of_tile,
)


@triton.jit
def gather_kernel(storage, slots, old, stride, SIZE: tl.constexpr, BLOCK: tl.constexpr, PDL: tl.constexpr):
    """Program (block, stream) copies one block of the stream's row, SIZE values, to `old`."""
    begin(PDL)
    stream = tl.program_id(1).to(tl.int64)
    element = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = element < SIZE
    values = tl.load(storage + tl.load(slots + stream) * stride + element, mask=mask)
    tl.store(old + stream * stride + element, values, mask=mask)


@triton.jit(do_not_specialize=["rows", "frames", "dilation"])
def conv_kernel(
    x, old, storage, slots, own, weight, bias, residual, kept, out, scale, shift, alpha, reciprocal,
    rows, frames, stride, dilation,
    C: tl.constexpr, N: tl.constexpr, CHANNELS: tl.constexpr, TAPS: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr, BLOCK: tl.constexpr,
    PRECISION: tl.constexpr, ROUND: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    """Program (m, n) multiplies the windows of BM frames with BN rows of weight [N, TAPS * C].

    GROUP tiles of rows take turns at the same rows of weight, so that the second-level cache serves both.
    """
    begin(PDL)
    pid = tl.program_id(0)
    tiles_m, tiles_n = tiles_of(rows, frames, own, BM), tl.cdiv(N, BN)
    if TAPS > 1:  # noqa: SIM102, a condition known when compiling stands alone
        if pid >= tiles_m * tiles_n:
            share = pid - tiles_m * tiles_n
            context = (TAPS - 1) * dilation
            advance(x, old, storage, slots, share, frames, stride, context, None, None, C, BLOCK, PRECISION)
            return
    first = pid // (GROUP * tiles_n) * GROUP
    within, height = pid % (GROUP * tiles_n), tl.minimum(tiles_m - first, GROUP)
    tile = first + within % height
    m, there = rows_of_tile(tile, rows, frames, own, BM)
    weight, bias = weights_of_tile(weight, bias, tile, frames, own, BM)
    n = within // height * BN + tl.arange(0, BN)
    stream, frame = (m // frames).to(tl.int64), m % frames
    k = tl.arange(0, BK)
    CHUNKS: tl.constexpr = (C + BK - 1) // BK
    now = frames_at(x, old, stream, frame, frames, stride, 0, C)
    before = frames_at(x, old, stream, frame - dilation, frames, stride, dilation, C)
    total = tl.zeros([BM, BN], tl.float32)
    for step in range(TAPS * CHUNKS):
        tap, c = step // CHUNKS, step % CHUNKS * BK + k
        if TAPS == 1:
            source = now
        elif TAPS == 2:
            source = tl.where(tap == 0, before, now)
        else:
            earlier = frame - (TAPS - 1 - tap) * dilation
            source = frames_at(x, old, stream, earlier, frames, stride, (TAPS - 1) * dilation, C)
        valid_m, valid_n = there[:, None], (n < N)[None, :]
        if C % BK != 0:
            valid_m, valid_n = valid_m & (c < C)[None, :], valid_n & (c < C)[:, None]
        windows = tl.load(source[:, None] + c[None, :], mask=valid_m, other=0.0)
        weights = weight + n[None, :] * (TAPS * C) + tap * C + c[:, None]
        columns = tl.load(weights, mask=valid_n, other=0.0)
        total = tl.dot(windows, columns, total, input_precision=PRECISION)
    finish(
        total, m, there, n, bias, residual, kept, out, scale, shift, alpha, reciprocal,
        N, CHANNELS, PRECISION, ROUND,
    )  # fmt: skip


@triton.jit(do_not_specialize=["rows", "per_stream", "frames", "dilation"])
def depthwise_kernel(
    x, old, storage, slots, taps, tap_bias, inner_alpha, inner_reciprocal, alpha, reciprocal, out,
    rows, per_stream, frames, stride, dilation,
    C: tl.constexpr, TAPS: tl.constexpr, STEPS: tl.constexpr, BM: tl.constexpr, BC: tl.constexpr,
    BLOCK: tl.constexpr, PRECISION: tl.constexpr, ROUND: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    """Program (m, c) convolves snake of BM runs of frames, BC channels, each for itself; then snake again."""
    begin(PDL)
    pid = tl.program_id(0)
    tiles_c: tl.constexpr = (C + BC - 1) // BC
    tiles = tl.cdiv(rows, BM) * tiles_c
    if pid >= tiles:
        advance(
            x, old, storage, slots, pid - tiles, frames, stride, (TAPS - 1) * dilation,
            inner_alpha, inner_reciprocal, C, BLOCK, PRECISION,
        )  # fmt: skip
        return
    valid, stream, first = runs(pid // tiles_c, rows, per_stream, dilation, None, BM, STEPS)
    c = pid % tiles_c * BC + tl.arange(0, BC)
    heard = inputs(
        x, old, valid, stream, first, c, frames, stride, dilation, inner_alpha, inner_reciprocal,
        C, TAPS, STEPS, PRECISION,
    )  # fmt: skip
    weights = tap_weights(taps, c, C, TAPS)
    offset = tl.load(tap_bias + c, mask=c < C, other=0.0)[None, :]
    for step in tl.static_range(STEPS):
        value = tl.zeros([BM, BC], tl.float32) + offset
        for tap in tl.static_range(TAPS):
            value += heard[step + tap] * weights[tap]
        value = snake_of(value, alpha, reciprocal, c, C, PRECISION)
        if ROUND:
            value = round_to_tf32(value)
        frame = first + step * dilation
        mask = (valid & (frame < frames))[:, None] & (c < C)[None, :]
        tl.store(out + ((stream * frames + frame) * C)[:, None] + c[None, :], value, mask=mask)


@triton.jit(do_not_specialize=["rows", "per_stream", "frames", "dilation"])
def separable_kernel(
    x, old, storage, slots, own, taps, tap_bias, inner_alpha, inner_reciprocal, between_alpha,
    between_reciprocal, weight, bias, residual, out, scale, shift, alpha, reciprocal,
    rows, per_stream, frames, stride, dilation,
    C: tl.constexpr, N: tl.constexpr, TAPS: tl.constexpr, STEPS: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, BLOCK: tl.constexpr,
    PRECISION: tl.constexpr, ROUND: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    """depthwise_kernel and the product of its result with weight [N, C], which never leaves the program."""
    begin(PDL)
    pid = tl.program_id(0)
    tiles_n: tl.constexpr = (N + BN - 1) // BN
    tiles = tiles_of(rows, per_stream, own, BM) * tiles_n
    if pid >= tiles:
        advance(
            x, old, storage, slots, pid - tiles, frames, stride, (TAPS - 1) * dilation,
            inner_alpha, inner_reciprocal, C, BLOCK, PRECISION,
        )  # fmt: skip
        return
    valid, stream, first = runs(pid // tiles_n, rows, per_stream, dilation, own, BM, STEPS)
    weight, bias = weights_of_tile(weight, bias, pid // tiles_n, per_stream, own, BM)
    n = pid % tiles_n * BN + tl.arange(0, BN)
    totals = ()
    for _ in tl.static_range(STEPS):
        totals += (tl.zeros([BM, BN], tl.float32),)
    for start in range(0, C, BK):
        c = start + tl.arange(0, BK)
        heard = inputs(
            x, old, valid, stream, first, c, frames, stride, dilation, inner_alpha, inner_reciprocal,
            C, TAPS, STEPS, PRECISION,
        )  # fmt: skip
        weights = tap_weights(taps, c, C, TAPS)
        offset = tl.load(tap_bias + c, mask=c < C, other=0.0)[None, :]
        in_weight = (c < C)[:, None] & (n < N)[None, :]
        columns = tl.load(weight + n[None, :] * C + c[:, None], mask=in_weight, other=0.0)
        for step in tl.static_range(STEPS):
            value = tl.zeros([BM, BK], tl.float32) + offset
            for tap in tl.static_range(TAPS):
                value += heard[step + tap] * weights[tap]
            value = snake_of(value, between_alpha, between_reciprocal, c, C, PRECISION)
            if PRECISION == "tf32":
                value = round_to_tf32(value)
            total = tl.dot(value, columns, totals[step], input_precision=PRECISION)
            totals = totals[:step] + (total,) + totals[step + 1 :]  # noqa: RUF005, unpacking is not compiled
    for step in tl.static_range(STEPS):
        frame = first + step * dilation
        finish(
            totals[step], stream * frames + frame, valid & (frame < frames), n, bias, residual, None, out,
            scale, shift, alpha, reciprocal, N, N, PRECISION, ROUND,
        )  # fmt: skip


@triton.jit(do_not_specialize=["rows", "per_stream", "frames"])
def output_kernel(
    x, old, storage, slots, own, weight, bias, audio, rows, per_stream, frames, stride,
    C: tl.constexpr, TAPS: tl.constexpr, STEPS: tl.constexpr,
    BM: tl.constexpr, BC: tl.constexpr, BLOCK: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    """Program m convolves BM runs of frames to one channel, weight [TAPS, C], and bounds it with tanh."""
    begin(PDL)
    pid = tl.program_id(0)
    tiles = tiles_of(rows, per_stream, own, BM)
    if pid >= tiles:
        advance(x, old, storage, slots, pid - tiles, frames, stride, TAPS - 1, None, None, C, BLOCK, "ieee")
        return
    valid, stream, first = runs(pid, rows, per_stream, 1, own, BM, STEPS)
    weight, bias = weights_of_tile(weight, bias, pid, per_stream, own, BM)
    c = tl.arange(0, BC)
    heard = inputs(x, old, valid, stream, first, c, frames, stride, 1, None, None, C, TAPS, STEPS, "ieee")
    weights = tap_weights(weight, c, C, TAPS)
    for step in tl.static_range(STEPS):
        products = tl.zeros([BM, BC], tl.float32)
        for tap in tl.static_range(TAPS):
            products += heard[step + tap] * weights[tap]
        total = tl.sum(products, 1) + tl.load(bias)
        frame = first + step
        value = 1 - 2 / (tl.exp(2 * total) + 1)
        tl.store(audio + stream * frames + frame, value, mask=valid & (frame < frames))
