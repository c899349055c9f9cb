"""What the kernels of `engine.kernels.streaming_conv` consist of; its docstring has the conventions."""

from __future__ import annotations

import triton
import triton.language as tl
from triton.language.extra import libdevice

from engine.kernels.launch import INTERPRETED


@triton.jit
def begin(PDL: tl.constexpr):
    """Let the next kernel start, and wait for the one before."""
    if PDL:
        tl.extra.cuda.gdc_launch_dependents()
        tl.extra.cuda.gdc_wait()


@triton.jit
def squared_sine(angle):
    """sin^2, of period pi, as a polynomial within half of it, to 2e-7 for |angle| up to 10^4.

    Pi is subtracted in two parts, of which the first has so few bits that its multiples are exact. The
    polynomial interpolates sin^2(sqrt p) / p at Chebyshev nodes.
    """
    turns = tl.floor(angle * 0.3183098861837907 + 0.5)
    rest = (angle - turns * 3.140625) - turns * 9.676535897932e-4
    p = rest * rest
    square = 1.3934870366938412e-4 - 3.6309752431407105e-6 * p
    square = -3.1723969150334597e-3 + square * p
    square = 4.4443175196647644e-2 + square * p
    square = -0.3333330750465393 + square * p
    return p + square * p * p


@triton.jit
def fast_squared_sine(angle):
    """sin^2 by the processor's sine, whose absolute error is 2^-20.9 within half a turn and then that of the
    angle, fp32.
    """
    sine = libdevice.fast_sinf(angle)
    return sine * sine


# A name and not a constant: where functions that a kernel calls read constants, Triton 3.6 and 3.7 give
# the kernel another key in their cache with every order in which kernels are met (pull request 10494).
rough_squared_sine = squared_sine if INTERPRETED else fast_squared_sine


@triton.jit
def snake(x, alpha, reciprocal, PRECISION: tl.constexpr):
    """x + sin(alpha x)^2 / alpha; where products are of TF32 the sine is as rough as they are."""
    if PRECISION == "tf32":
        return x + rough_squared_sine(x * alpha) * reciprocal
    return x + squared_sine(x * alpha) * reciprocal


@triton.jit
def snake_of(x, alpha, reciprocal, channel, CHANNELS: tl.constexpr, PRECISION: tl.constexpr):
    """Snake of x [BM, BC] whose columns are channels `channel`; x itself where alpha is None."""
    if alpha is not None:
        alphas = tl.load(alpha + channel, mask=channel < CHANNELS, other=0.0)[None, :]
        reciprocals = tl.load(reciprocal + channel, mask=channel < CHANNELS, other=0.0)[None, :]
        x = snake(x, alphas, reciprocals, PRECISION)
    return x


@triton.jit
def round_to_tf32(x):
    """Ten bits of mantissa, ties away from zero."""
    return ((x.to(tl.int32, bitcast=True) + 0x1000) & -0x2000).to(tl.float32, bitcast=True)


@triton.jit
def frames_at(x, old, stream, frame, frames, stride, context, C: tl.constexpr):
    """Where `frame` of `stream` begins; negative ones were seen before this call."""
    now = x + (stream * frames + frame) * C
    return tl.where(frame >= 0, now, old + stream * stride + (context + frame) * C)


@triton.jit
def advance(
    x, old, storage, slots, share, frames, stride, context, alpha, reciprocal,
    C: tl.constexpr, BLOCK: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Store one block of one stream's new state: the last `context` frames of old and snake of x together."""
    blocks = tl.cdiv(context * C, BLOCK)
    stream = (share // blocks).to(tl.int64)
    element = (share % blocks) * BLOCK + tl.arange(0, BLOCK)
    mask = element < context * C
    frame, c = element // C + frames - context, element % C
    source = frames_at(x, old, stream, frame, frames, stride, context, C) + c
    value = tl.load(source, mask=mask)
    if alpha is not None:
        heard = snake(value, tl.load(alpha + c), tl.load(reciprocal + c), PRECISION)
        value = tl.where(frame >= 0, heard, value)
    slot = tl.load(slots + stream)
    tl.store(storage + slot * stride + element, value, mask=mask)


@triton.jit
def finish(
    value, m, in_rows, n, bias, residual, kept, out, scale, shift, alpha, reciprocal,
    N: tl.constexpr, CHANNELS: tl.constexpr, PRECISION: tl.constexpr, ROUND: tl.constexpr,
):  # fmt: skip
    """The end of a product: value [BM, BN] of output [rows, N], whose column n is of channel n % CHANNELS.

    `kept` takes the value with bias and residual, `out` what the following steps make of it. Absent: None.
    """
    in_row, channel = n < N, n % CHANNELS
    mask = in_rows[:, None] & in_row[None, :]
    at = m.to(tl.int64)[:, None] * N + n[None, :]
    value += tl.load(bias + channel, mask=in_row, other=0.0)[None, :]
    if residual is not None:
        value += tl.load(residual + at, mask=mask, other=0.0)
    if kept is not None:
        tl.store(kept + at, value, mask=mask)
    if scale is not None:
        value = value * tl.load(scale + channel, mask=in_row, other=0.0)[None, :]
        value += tl.load(shift + channel, mask=in_row, other=0.0)[None, :]
    value = snake_of(value, alpha, reciprocal, channel, CHANNELS, PRECISION)
    if ROUND:
        value = round_to_tf32(value)
    tl.store(out + at, value, mask=mask)


@triton.jit
def tiles_of(rows, per_stream, own, BM: tl.constexpr):
    """How many tiles of BM rows there are; of one stream each where streams have weights of their own."""
    if own is None:
        tiles = tl.cdiv(rows, BM)
    else:
        tiles = rows // per_stream * tl.cdiv(per_stream, BM)
    return tiles


@triton.jit
def rows_of_tile(tile, rows, per_stream, own, BM: tl.constexpr):
    """The rows of a tile, [BM], and whether they exist."""
    if own is None:
        row = tile * BM + tl.arange(0, BM)
        valid = row < rows
    else:
        tiles = tl.cdiv(per_stream, BM)
        place = tile % tiles * BM + tl.arange(0, BM)
        row, valid = tile // tiles * per_stream + place, place < per_stream
    return row, valid


@triton.jit
def weights_of_tile(weight, bias, tile, per_stream, own, BM: tl.constexpr):
    """`weight` and `bias`, or those of the tile's stream, see `streaming_conv`."""
    if own is not None:
        way = tl.multiple_of(tl.load(own + tile // tl.cdiv(per_stream, BM)), 16)
        weight += way
        bias += way
    return weight, bias


@triton.jit
def runs(tile, rows, per_stream, dilation, own, BM: tl.constexpr, STEPS: tl.constexpr):
    """Runs of `STEPS` frames, `dilation` apart, of a tile: whether it is one, its stream, first frame."""
    row, valid = rows_of_tile(tile, rows, per_stream, own, BM)
    stream, run = (row // per_stream).to(tl.int64), row % per_stream
    if STEPS > 1:
        run = run // dilation * (dilation * STEPS) + run % dilation
    return valid, stream, run


@triton.jit
def inputs(
    x, old, valid, stream, first, c, frames, stride, dilation, alpha, reciprocal,
    C: tl.constexpr, TAPS: tl.constexpr, STEPS: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Snake of all frames that a run of `STEPS` outputs sees, TAPS - 1 + STEPS tensors [BM, BC].

    All are fetched before the first is used. Frames of earlier calls went through snake then.
    """
    BEFORE: tl.constexpr = TAPS - 1
    found = ()
    for step in tl.static_range(BEFORE + STEPS):
        frame = first + (step - BEFORE) * dilation
        mask = (valid & (frame < frames))[:, None] & (c < C)[None, :]
        if step < BEFORE:
            source = frames_at(x, old, stream, frame, frames, stride, BEFORE * dilation, C)
        else:
            source = x + (stream * frames + frame) * C
        found += (tl.load(source[:, None] + c[None, :], mask=mask, other=0.0),)
    heard = ()
    for step in tl.static_range(BEFORE + STEPS):
        value = snake_of(found[step], alpha, reciprocal, c, C, PRECISION)
        if step < BEFORE:
            value = tl.where((first + (step - BEFORE) * dilation >= 0)[:, None], value, found[step])
        heard += (value,)
    return heard


@triton.jit
def tap_weights(taps, c, C: tl.constexpr, TAPS: tl.constexpr):
    """Rows of taps [TAPS, C] at channels c."""
    found = ()
    for tap in tl.static_range(TAPS):
        found += (tl.load(taps + tap * C + c, mask=c < C, other=0.0)[None, :],)
    return found
