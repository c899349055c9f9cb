"""Triton kernels of causal convolutions that go on from call to call, on frames [B, T, C] in fp32.

What a convolution saw last of a stream, `CONTEXT` frames, is its state, and stands in that stream's row of a
storage. A call first copies the rows of its streams to `old` (`gather_kernel`); every kernel then reads the
frames before its input from `old` and leaves the new state in the storage. So no program reads what another
one writes, and nothing is concatenated or cut into windows.

Rows of a tile are frames of all streams in turn: row m is frame m % frames of stream m // frames. Kernels
whose layer has a state run some programs more than they have tiles; those move the state on (`_advance`).

The product kernels end in the elementwise steps that follow: bias, residual, a factor and an offset per
channel, snake. `PRECISION` is "tf32" or "ieee"; with `ROUND` a result is rounded to the nearest TF32, since
the tensor cores just drop the bits that TF32 lacks.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _begin(PDL: tl.constexpr):
    """Let the next kernel start, and wait for the one before."""
    if PDL:
        tl.extra.cuda.gdc_launch_dependents()
        tl.extra.cuda.gdc_wait()


@triton.jit
def _snake(x, alpha, reciprocal):
    """x + sin(alpha x)^2 / alpha; the sine's square has period pi and is a polynomial within half of it.

    Absolute error 2e-7 for |alpha x| up to 10^4: pi is subtracted in two parts, of which the first has so
    few bits that its multiples are exact. The polynomial interpolates sin^2(sqrt p) / p at Chebyshev nodes.
    """
    angle = x * alpha
    turns = tl.floor(angle * 0.3183098861837907 + 0.5)
    rest = (angle - turns * 3.140625) - turns * 9.676535897932e-4
    p = rest * rest
    square = 1.3934870366938412e-4 - 3.6309752431407105e-6 * p
    square = -3.1723969150334597e-3 + square * p
    square = 4.4443175196647644e-2 + square * p
    square = -0.3333330750465393 + square * p
    return x + (p + square * p * p) * reciprocal


@triton.jit
def _round_to_tf32(x):
    """Ten bits of mantissa, ties away from zero."""
    return ((x.to(tl.int32, bitcast=True) + 0x1000) & -0x2000).to(tl.float32, bitcast=True)


@triton.jit
def _frames_at(x, old, stream, frame, frames, stride, context, C: tl.constexpr):
    """Where `frame` of `stream` begins; negative ones were seen before this call."""
    now = x + (stream * frames + frame) * C
    return tl.where(frame >= 0, now, old + stream * stride + (context + frame) * C)


@triton.jit
def _advance(x, old, storage, slots, share, frames, stride, context, C: tl.constexpr, BLOCK: tl.constexpr):
    """Store one block of one stream's new state: the last `context` frames of old and x together."""
    blocks = tl.cdiv(context * C, BLOCK)
    stream = (share // blocks).to(tl.int64)
    element = (share % blocks) * BLOCK + tl.arange(0, BLOCK)
    mask = element < context * C
    frame = element // C + frames - context
    source = _frames_at(x, old, stream, frame, frames, stride, context, C) + element % C
    slot = tl.load(slots + stream)
    tl.store(storage + slot * stride + element, tl.load(source, mask=mask), mask=mask)


@triton.jit
def _finish(
    value, m, n, rows, bias, residual, kept, out, scale, shift, alpha, reciprocal,
    N: tl.constexpr, CHANNELS: tl.constexpr, ROUND: tl.constexpr,
):  # fmt: skip
    """The end of a product: value [BM, BN] of output [rows, N], whose column n is of channel n % CHANNELS.

    `kept` takes the value with bias and residual, `out` what the following steps make of it. Absent: None.
    """
    in_row, channel = n < N, n % CHANNELS
    mask = (m < rows)[:, None] & in_row[None, :]
    at = m.to(tl.int64)[:, None] * N + n[None, :]
    value += tl.load(bias + channel, mask=in_row, other=0.0)[None, :]
    if residual is not None:
        value += tl.load(residual + at, mask=mask, other=0.0)
    if kept is not None:
        tl.store(kept + at, value, mask=mask)
    if scale is not None:
        value = value * tl.load(scale + channel, mask=in_row, other=0.0)[None, :]
        value += tl.load(shift + channel, mask=in_row, other=0.0)[None, :]
    if alpha is not None:
        alphas = tl.load(alpha + channel, mask=in_row, other=0.0)[None, :]
        value = _snake(value, alphas, tl.load(reciprocal + channel, mask=in_row, other=0.0)[None, :])
    if ROUND:
        value = _round_to_tf32(value)
    tl.store(out + at, value, mask=mask)


@triton.jit
def _depthwise(
    x, old, m, c, rows, frames, stride, dilation, taps, bias,
    C: tl.constexpr, TAPS: tl.constexpr, BM: tl.constexpr, BC: tl.constexpr,
):  # fmt: skip
    """Rows m and channels c of a convolution that mixes no channels; taps [TAPS, C]."""
    stream, frame = (m // frames).to(tl.int64), m % frames
    in_frame = c < C
    mask = (m < rows)[:, None] & in_frame[None, :]
    value = tl.zeros([BM, BC], tl.float32) + tl.load(bias + c, mask=in_frame, other=0.0)[None, :]
    for tap in tl.static_range(TAPS):
        earlier = frame - (TAPS - 1 - tap) * dilation
        source = _frames_at(x, old, stream, earlier, frames, stride, (TAPS - 1) * dilation, C)
        weight = tl.load(taps + tap * C + c, mask=in_frame, other=0.0)[None, :]
        value += tl.load(source[:, None] + c[None, :], mask=mask, other=0.0) * weight
    return value


@triton.jit
def gather_kernel(storage, slots, old, stride, SIZE: tl.constexpr, BLOCK: tl.constexpr, PDL: tl.constexpr):
    """Program (block, stream) copies one block of the stream's row, SIZE values, to `old`."""
    _begin(PDL)
    stream = tl.program_id(1).to(tl.int64)
    element = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = element < SIZE
    values = tl.load(storage + tl.load(slots + stream) * stride + element, mask=mask)
    tl.store(old + stream * stride + element, values, mask=mask)


@triton.jit(do_not_specialize=["rows", "frames", "dilation"])
def conv_kernel(
    x, old, storage, slots, weight, bias, residual, kept, out, scale, shift, alpha, reciprocal,
    rows, frames, stride, dilation,
    C: tl.constexpr, N: tl.constexpr, CHANNELS: tl.constexpr, TAPS: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr, BLOCK: tl.constexpr,
    PRECISION: tl.constexpr, ROUND: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    """Program (m, n) multiplies the windows of BM frames with BN rows of weight [N, TAPS * C].

    GROUP tiles of rows take turns at the same rows of weight, so that the second-level cache serves both.
    """
    _begin(PDL)
    pid = tl.program_id(0)
    tiles_m, tiles_n = tl.cdiv(rows, BM), tl.cdiv(N, BN)
    if TAPS > 1:  # noqa: SIM102, a condition known when compiling stands alone
        if pid >= tiles_m * tiles_n:
            share = pid - tiles_m * tiles_n
            _advance(x, old, storage, slots, share, frames, stride, (TAPS - 1) * dilation, C, BLOCK)
            return
    first = pid // (GROUP * tiles_n) * GROUP
    within, height = pid % (GROUP * tiles_n), tl.minimum(tiles_m - first, GROUP)
    m = (first + within % height) * BM + tl.arange(0, BM)
    n = within // height * BN + tl.arange(0, BN)
    stream, frame = (m // frames).to(tl.int64), m % frames
    k = tl.arange(0, BK)
    CHUNKS: tl.constexpr = (C + BK - 1) // BK
    total = tl.zeros([BM, BN], tl.float32)
    for step in range(TAPS * CHUNKS):
        tap, c = step // CHUNKS, step % CHUNKS * BK + k
        earlier = frame - (TAPS - 1 - tap) * dilation
        source = _frames_at(x, old, stream, earlier, frames, stride, (TAPS - 1) * dilation, C)
        valid_m, valid_n = (m < rows)[:, None], (n < N)[None, :]
        if C % BK != 0:
            valid_m, valid_n = valid_m & (c < C)[None, :], valid_n & (c < C)[:, None]
        windows = tl.load(source[:, None] + c[None, :], mask=valid_m, other=0.0)
        weights = weight + n[None, :] * (TAPS * C) + tap * C + c[:, None]
        columns = tl.load(weights, mask=valid_n, other=0.0)
        total = tl.dot(windows, columns, total, input_precision=PRECISION)
    _finish(total, m, n, rows, bias, residual, kept, out, scale, shift, alpha, reciprocal, N, CHANNELS, ROUND)


@triton.jit(do_not_specialize=["rows", "frames", "dilation"])
def depthwise_kernel(
    x, old, storage, slots, taps, bias, alpha, reciprocal, out, rows, frames, stride, dilation,
    C: tl.constexpr, TAPS: tl.constexpr,
    BM: tl.constexpr, BC: tl.constexpr, BLOCK: tl.constexpr, ROUND: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    """Program (m, c) convolves BM frames of BC channels, each channel for itself; then snake, if any."""
    _begin(PDL)
    pid = tl.program_id(0)
    tiles_c: tl.constexpr = (C + BC - 1) // BC
    tiles = tl.cdiv(rows, BM) * tiles_c
    if pid >= tiles:
        _advance(x, old, storage, slots, pid - tiles, frames, stride, (TAPS - 1) * dilation, C, BLOCK)
        return
    m, c = pid // tiles_c * BM + tl.arange(0, BM), pid % tiles_c * BC + tl.arange(0, BC)
    value = _depthwise(x, old, m, c, rows, frames, stride, dilation, taps, bias, C, TAPS, BM, BC)
    if alpha is not None:
        alphas = tl.load(alpha + c, mask=c < C, other=0.0)[None, :]
        value = _snake(value, alphas, tl.load(reciprocal + c, mask=c < C, other=0.0)[None, :])
    if ROUND:
        value = _round_to_tf32(value)
    mask = (m < rows)[:, None] & (c < C)[None, :]
    tl.store(out + m.to(tl.int64)[:, None] * C + c[None, :], value, mask=mask)


@triton.jit(do_not_specialize=["rows", "frames", "dilation"])
def separable_kernel(
    x, old, storage, slots, taps, tap_bias, inner_alpha, inner_reciprocal,
    weight, bias, residual, kept, out, scale, shift, alpha, reciprocal, rows, frames, stride, dilation,
    C: tl.constexpr, N: tl.constexpr, TAPS: tl.constexpr,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, BLOCK: tl.constexpr,
    PRECISION: tl.constexpr, ROUND: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    """depthwise_kernel and the product of its result with weight [N, C], which never leaves the program."""
    _begin(PDL)
    pid = tl.program_id(0)
    tiles_n: tl.constexpr = (N + BN - 1) // BN
    tiles = tl.cdiv(rows, BM) * tiles_n
    if pid >= tiles:
        _advance(x, old, storage, slots, pid - tiles, frames, stride, (TAPS - 1) * dilation, C, BLOCK)
        return
    m, n = pid // tiles_n * BM + tl.arange(0, BM), pid % tiles_n * BN + tl.arange(0, BN)
    total = tl.zeros([BM, BN], tl.float32)
    for first in range(0, C, BK):
        c = first + tl.arange(0, BK)
        valid = (c < C)[:, None] & (n < N)[None, :]
        columns = tl.load(weight + n[None, :] * C + c[:, None], mask=valid, other=0.0)
        value = _depthwise(x, old, m, c, rows, frames, stride, dilation, taps, tap_bias, C, TAPS, BM, BK)
        if inner_alpha is not None:
            alphas = tl.load(inner_alpha + c, mask=c < C, other=0.0)[None, :]
            value = _snake(value, alphas, tl.load(inner_reciprocal + c, mask=c < C, other=0.0)[None, :])
        if PRECISION == "tf32":
            value = _round_to_tf32(value)
        total = tl.dot(value, columns, total, input_precision=PRECISION)
    _finish(total, m, n, rows, bias, residual, kept, out, scale, shift, alpha, reciprocal, N, N, ROUND)


@triton.jit(do_not_specialize=["rows", "frames"])
def output_kernel(
    x, old, storage, slots, weight, bias, audio, rows, frames, stride,
    C: tl.constexpr, TAPS: tl.constexpr,
    BM: tl.constexpr, BC: tl.constexpr, BLOCK: tl.constexpr, PDL: tl.constexpr,
):  # fmt: skip
    """Program m convolves BM frames to one channel, weight [TAPS, C], and bounds it with tanh."""
    _begin(PDL)
    pid = tl.program_id(0)
    tiles = tl.cdiv(rows, BM)
    if pid >= tiles:
        _advance(x, old, storage, slots, pid - tiles, frames, stride, TAPS - 1, C, BLOCK)
        return
    m, c = pid * BM + tl.arange(0, BM), tl.arange(0, BC)
    stream, frame = (m // frames).to(tl.int64), m % frames
    mask = (m < rows)[:, None] & (c < C)[None, :]
    products = tl.zeros([BM, BC], tl.float32)
    for tap in tl.static_range(TAPS):
        source = _frames_at(x, old, stream, frame - (TAPS - 1 - tap), frames, stride, TAPS - 1, C)
        values = tl.load(source[:, None] + c[None, :], mask=mask, other=0.0)
        products += values * tl.load(weight + tap * C + c, mask=c < C, other=0.0)[None, :]
    total = tl.sum(products, 1) + tl.load(bias)
    tl.store(audio + m, 1 - 2 / (tl.exp(2 * total) + 1), mask=m < rows)
