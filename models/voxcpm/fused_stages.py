"""The layers of the streaming VAE decoder as stages of one kernel each, for CUDA.

A stage is a convolution or product together with the elementwise steps behind it. It takes and returns a
`Signal`: the residual path where there is one, and the activation that the next stage multiplies. The
kernels are those of `engine.kernels.streaming_conv`; here it is decided with which tiles they run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
import triton
from torch import Tensor

from engine.kernels import streaming_conv as kernels
from engine.kernels.launch import launch_options
from models.voxcpm.audio_vae import CausalConv1d, CausalUpsample1d
from models.voxcpm.streaming_vae import WindowState, pair_weight, window_weight

MIN_TILE = 16
"""Rows and columns of the smallest tile that tensor cores multiply."""
MAX_COLUMNS = 256
ROW_GROUP = 8
COPY_BLOCK = 1024
PAIR_TAPS = 2


class Tile(NamedTuple):
    """Rows and columns of a program's output, inputs per step of its loop, warps, loads in flight, and the
    most registers a thread may take (None: as the compiler likes).
    """

    m: int
    n: int
    k: int
    warps: int
    stages: int
    registers: int | None = None

    def options(self) -> dict[str, int | None]:
        return {"num_warps": self.warps, "num_stages": self.stages, "maxnreg": self.registers}


CONV_TILES = (
    Tile(128, 128, 32, 8, 3, 128),
    Tile(128, 64, 32, 4, 3),
    Tile(64, 64, 32, 4, 4),
    Tile(32, 32, 64, 4, 4),
    Tile(16, 32, 128, 4, 4),
    Tile(16, 16, 128, 4, 4),
)
"""From the largest to the smallest: the largest that gives every processor a program is taken."""


@dataclass
class Signal:
    """What runs between stages: fp32 [B, T, C] each."""

    residual: Tensor | None
    activation: Tensor


@dataclass(frozen=True)
class Call:
    """What a decode's stages share: the slot of each stream, int64 [B], and the states as they were before,
    [B, values per stream].
    """

    slots: Tensor
    old: Tensor


@dataclass(frozen=True)
class Arithmetic:
    """`precision` of products, "tf32" or "ieee", and how many programs fill the device."""

    precision: str
    processors: int


@dataclass
class Epilogue:
    """What follows a product, all fp32 [channels]. `rounded`: the result is an operand of TF32."""

    residual: bool = False
    keep: bool = False
    scale: Tensor | None = None
    shift: Tensor | None = None
    alpha: Tensor | None = None
    reciprocal: Tensor | None = None
    rounded: bool = False

    def steps(self) -> tuple[Tensor | None, ...]:
        return self.scale, self.shift, self.alpha, self.reciprocal


class Stage:
    """A layer and its `epilogue`, which the builder completes as it meets the following layers."""

    def __init__(self, arithmetic: Arithmetic, context: int, channels: int) -> None:
        self.arithmetic = arithmetic
        self.state = WindowState(context, channels)
        self.epilogue = Epilogue()

    def __call__(self, signal: Signal, call: Call) -> Signal:
        raise NotImplementedError

    def _stateful(self, x: Tensor, call: Call) -> tuple[Tensor, ...]:
        """x, the old states of this layer, where the new ones go, and the slots."""
        if not self.state.size:
            return x, x, x, call.slots
        frames = self.state.frames
        return x, call.old[:, frames.storage_offset() :], frames, call.slots

    def _copies(self, streams: int) -> int:
        """Programs that move the state on."""
        return streams * triton.cdiv(self.state.size, COPY_BLOCK)

    def _outputs(self, x: Tensor, frames: int, channels: int) -> tuple[Tensor | None, Tensor]:
        shape = (len(x), frames, channels)
        return x.new_empty(shape) if self.epilogue.keep else None, x.new_empty(shape)


class ProductStage(Stage):
    """A convolution that mixes channels, or a transposed one: its windows times a matrix."""

    def __init__(
        self, arithmetic: Arithmetic, weight: Tensor, bias: Tensor, taps: int, dilation: int, repeats: int
    ) -> None:
        """weight [repeats * channels, taps * inputs]: each input frame gives `repeats` of the output."""
        super().__init__(arithmetic, (taps - 1) * dilation, weight.shape[1] // taps)
        self.weight, self.bias = _operand(weight, arithmetic), bias
        self._taps, self._dilation, self._repeats = taps, dilation, repeats

    def __call__(self, signal: Signal, call: Call) -> Signal:
        x = signal.activation
        batch, frames, inputs = x.shape
        rows, outputs = batch * frames, len(self.weight)
        channels = outputs // self._repeats
        kept, out = self._outputs(x, frames * self._repeats, channels)
        tile = conv_tile(rows, outputs, self.arithmetic.processors)
        programs = triton.cdiv(rows, tile.m) * triton.cdiv(outputs, tile.n) + self._copies(batch)
        kernels.conv_kernel[(programs,)](
            *self._stateful(x, call), self.weight, self.bias,
            signal.residual if self.epilogue.residual else None, kept, out, *self.epilogue.steps(),
            rows, frames, call.old.stride(0), self._dilation,
            C=inputs, N=outputs, CHANNELS=channels, TAPS=self._taps,
            BM=tile.m, BN=tile.n, BK=_step(inputs, tile.k), GROUP=ROW_GROUP, BLOCK=COPY_BLOCK,
            PRECISION=self.arithmetic.precision, ROUND=self.epilogue.rounded,
            **tile.options(), **launch_options(x.device),
        )  # fmt: skip
        passed = signal.residual if not self.epilogue.residual else None
        return Signal(kept if self.epilogue.keep else passed, out)


class DepthwiseStage(Stage):
    """A convolution that mixes no channels; the residual path goes past it."""

    def __init__(self, arithmetic: Arithmetic, conv: CausalConv1d) -> None:
        super().__init__(arithmetic, conv.context, conv.in_channels)
        self.taps, self.bias = conv.weight[:, 0].T.contiguous(), conv.bias
        self.dilation = conv.dilation[0]

    def __call__(self, signal: Signal, call: Call) -> Signal:
        x = signal.activation
        batch, frames, channels = x.shape
        out, rows = torch.empty_like(x), batch * frames
        bm, bc = depthwise_tile(rows, channels, self.arithmetic.processors)
        programs = triton.cdiv(rows, bm) * triton.cdiv(channels, bc) + self._copies(batch)
        kernels.depthwise_kernel[(programs,)](
            *self._stateful(x, call), self.taps, self.bias, self.epilogue.alpha, self.epilogue.reciprocal,
            out, rows, frames, call.old.stride(0), self.dilation,
            C=channels, TAPS=len(self.taps), BM=bm, BC=bc, BLOCK=COPY_BLOCK,
            ROUND=self.epilogue.rounded, num_warps=4, **launch_options(x.device),
        )  # fmt: skip
        return Signal(signal.residual, out)


class SeparableStage(Stage):
    """A depthwise stage and the product behind it as one."""

    def __init__(self, depthwise: DepthwiseStage, product: ProductStage) -> None:
        super().__init__(depthwise.arithmetic, depthwise.state.length, depthwise.state.channels)
        self._depthwise, self._product = depthwise, product
        self.epilogue = product.epilogue

    def __call__(self, signal: Signal, call: Call) -> Signal:
        x, first, product = signal.activation, self._depthwise, self._product
        batch, frames, inputs = x.shape
        rows, outputs = batch * frames, len(product.weight)
        kept, out = self._outputs(x, frames, outputs)
        tile = separable_tile(rows, outputs, self.arithmetic.processors)
        programs = triton.cdiv(rows, tile.m) * triton.cdiv(outputs, tile.n) + self._copies(batch)
        kernels.separable_kernel[(programs,)](
            *self._stateful(x, call), first.taps, first.bias, first.epilogue.alpha, first.epilogue.reciprocal,
            product.weight, product.bias, signal.residual if self.epilogue.residual else None,
            kept, out, *self.epilogue.steps(), rows, frames, call.old.stride(0),
            first.dilation, C=inputs, N=outputs, TAPS=len(first.taps),
            BM=tile.m, BN=tile.n, BK=_step(inputs, tile.k), BLOCK=COPY_BLOCK,
            PRECISION=self.arithmetic.precision, ROUND=self.epilogue.rounded,
            **tile.options(), **launch_options(x.device),
        )  # fmt: skip
        return Signal(kept, out)


class OutputStage(Stage):
    """The last convolution, to one channel, and tanh: the activation it returns is the audio [B, T]."""

    def __init__(self, arithmetic: Arithmetic, conv: CausalConv1d) -> None:
        super().__init__(arithmetic, conv.context, conv.in_channels)
        self._weight, self._bias = conv.weight[0].T.contiguous(), conv.bias

    def __call__(self, signal: Signal, call: Call) -> Signal:
        x = signal.activation
        batch, frames, channels = x.shape
        audio, bc = x.new_empty(batch, frames), triton.next_power_of_2(channels)
        bm = max(1, 2048 // bc)
        kernels.output_kernel[(triton.cdiv(batch * frames, bm) + self._copies(batch),)](
            *self._stateful(x, call), self._weight, self._bias, audio,
            batch * frames, frames, call.old.stride(0),
            C=channels, TAPS=len(self._weight), BM=bm, BC=bc, BLOCK=COPY_BLOCK,
            num_warps=4, **launch_options(x.device),
        )  # fmt: skip
        return Signal(None, audio)


def product_stage(arithmetic: Arithmetic, conv: CausalConv1d) -> ProductStage:
    weight = window_weight(conv)
    return ProductStage(arithmetic, weight, conv.bias, conv.kernel_size[0], conv.dilation[0], 1)


def upsample_stage(arithmetic: Arithmetic, conv: CausalUpsample1d) -> ProductStage:
    return ProductStage(arithmetic, pair_weight(conv), conv.bias, PAIR_TAPS, 1, conv.stride[0])


def gather(storage: Tensor, slots: Tensor) -> Tensor:
    """The rows `slots` of storage [S, size]: [B, size]."""
    size = storage.shape[1]
    old = storage.new_empty(len(slots), size)
    kernels.gather_kernel[(triton.cdiv(size, COPY_BLOCK), len(slots))](
        storage, slots, old, size, SIZE=size, BLOCK=COPY_BLOCK, num_warps=4, **launch_options(storage.device)
    )
    return old


def conv_tile(rows: int, columns: int, processors: int) -> Tile:
    """The largest tile no larger than the output that leaves every processor a program."""
    for tile in CONV_TILES:
        fits = tile.m <= _padded(rows) and tile.n <= _padded(columns)
        if fits and triton.cdiv(rows, tile.m) * triton.cdiv(columns, tile.n) >= processors:
            return tile
    return CONV_TILES[-1]


def separable_tile(rows: int, columns: int, processors: int) -> Tile:
    """Tiles as wide as the output, since all of a row compute its convolution, unless these are too few."""
    n, m = min(_padded(columns), MAX_COLUMNS), 64
    while m > MIN_TILE and triton.cdiv(rows, m) * triton.cdiv(columns, n) < processors:
        m //= 2
    while n > 2 * MIN_TILE and triton.cdiv(rows, m) * triton.cdiv(columns, n) < processors:
        n //= 2
    return Tile(m, n, 32, 8 if m == 64 else 4, 1, 128 if m == 64 and n <= 128 else None)


def depthwise_tile(rows: int, channels: int, processors: int) -> tuple[int, int]:
    """Rows and channels of a program."""
    bm, bc = 32, min(64, triton.next_power_of_2(channels))
    while bm > 4 and triton.cdiv(rows, bm) * triton.cdiv(channels, bc) < 2 * processors:
        bm //= 2
    return bm, bc


def _operand(weight: Tensor, arithmetic: Arithmetic) -> Tensor:
    """The weight as products take it: to the nearest TF32, ties away from zero."""
    if arithmetic.precision != "tf32":
        return weight
    return ((weight.view(torch.int32) + 0x1000) & -0x2000).view(torch.float32)


def _step(inputs: int, largest: int) -> int:
    """Inputs per step of a product's loop: a power of two, and a divisor where there is one."""
    divisor = inputs & -inputs
    return min(divisor if divisor >= MIN_TILE else _padded(inputs), largest)


def _padded(size: int) -> int:
    return max(MIN_TILE, triton.next_power_of_2(size))
