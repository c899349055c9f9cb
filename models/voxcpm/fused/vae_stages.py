"""The layers of the streaming VAE decoder as stages of one kernel each, for CUDA.

A stage is a convolution or product together with the elementwise steps behind it. It takes and returns a
`Signal`: the residual path where there is one, and the activation that the next stage multiplies. The
kernels are those of `engine.kernels.streaming_conv`, their tiles those of `models.voxcpm.fused.vae_tiles`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import torch
import triton
from torch import Tensor

from engine.kernels import streaming_conv as kernels
from engine.kernels.launch import kernel_on, launch_options
from models.voxcpm.fused.vae_tiles import conv_tile, depthwise_tile, runs, separable_tile, step_of
from models.voxcpm.vae.audio_vae import CausalConv1d, CausalUpsample1d, Snake
from models.voxcpm.vae.streaming_layers import WindowState, pair_weight, window_weight

ROW_GROUP = 8
COPY_BLOCK = 1024
PAIR_TAPS = 2


@dataclass
class Signal:
    """What runs between stages: fp32 [B, T, C] each."""

    residual: Tensor | None
    activation: Tensor


@dataclass(frozen=True)
class Call:
    """What a decode's stages share: the slot of each stream, int64 [B], the states as they were before, [B,
    values per stream], and where streams have weights of their own: so many elements after a stage's, int64
    [B]; None where they have not.
    """

    slots: Tensor
    old: Tensor
    own: Tensor | None = None


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


class Stage(ABC):
    """A layer and its `epilogue`, which the builder completes as it meets the following layers."""

    def __init__(self, arithmetic: Arithmetic, context: int, channels: int) -> None:
        self.arithmetic = arithmetic
        self.state = WindowState(context, channels)
        self.epilogue = Epilogue()

    @abstractmethod
    def __call__(self, signal: Signal, call: Call) -> Signal:
        """What the layer makes of a signal, with the states of the call's slots."""

    @property
    def weighted(self) -> tuple[ProductStage | OutputStage, ...]:
        """What of it has a `weight` and a `bias` that streams may have of their own."""
        return ()

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

    @property
    def weighted(self) -> tuple[ProductStage]:
        """See `Stage.weighted`."""
        return (self,)

    def __call__(self, signal: Signal, call: Call) -> Signal:
        x = signal.activation
        batch, frames, inputs = x.shape
        outputs, groups = len(self.weight), 1 if call.own is None else batch
        channels = outputs // self._repeats
        kept, out = self._outputs(x, frames * self._repeats, channels)
        tile = conv_tile(batch // groups * frames, outputs, self.arithmetic.processors, groups)
        tiles = groups * triton.cdiv(batch // groups * frames, tile.m) * triton.cdiv(outputs, tile.n)
        kernel_on(x.device, kernels.conv_kernel)[(tiles + self._copies(batch),)](
            *self._stateful(x, call), call.own, self.weight, self.bias,
            signal.residual if self.epilogue.residual else None, kept, out, *self.epilogue.steps(),
            batch * frames, frames, call.old.stride(0), self._dilation,
            C=inputs, N=outputs, CHANNELS=channels, TAPS=self._taps,
            BM=tile.m, BN=tile.n, BK=step_of(inputs, tile.k), GROUP=ROW_GROUP, BLOCK=COPY_BLOCK,
            PRECISION=self.arithmetic.precision, ROUND=self.epilogue.rounded,
            **tile.options(), **launch_options(x.device),
        )  # fmt: skip
        passed = signal.residual if not self.epilogue.residual else None
        return Signal(kept if self.epilogue.keep else passed, out)


class DepthwiseStage(Stage):
    """Snake, where there is one, and a convolution that mixes no channels; its input passes as residual."""

    def __init__(self, arithmetic: Arithmetic, conv: CausalConv1d, snake: Snake | None) -> None:
        super().__init__(arithmetic, conv.context, conv.in_channels)
        self.dilation = conv.dilation[0]
        steps = (None, None) if snake is None else snake_steps(snake.alpha.flatten())
        self.weights = (conv.weight[:, 0].T.contiguous(), conv.bias, *steps)

    @property
    def taps(self) -> int:
        return len(self.weights[0])

    def __call__(self, signal: Signal, call: Call) -> Signal:
        x = signal.activation
        batch, frames, channels = x.shape
        out = torch.empty_like(x)
        tile = depthwise_tile(batch, frames, channels, self.dilation, self.arithmetic.processors)
        per_stream = runs(frames, self.dilation, tile.steps)
        rows = batch * per_stream
        programs = triton.cdiv(rows, tile.m) * triton.cdiv(channels, tile.n) + self._copies(batch)
        kernel_on(x.device, kernels.depthwise_kernel)[(programs,)](
            *self._stateful(x, call), *self.weights, self.epilogue.alpha, self.epilogue.reciprocal, out,
            rows, per_stream, frames, call.old.stride(0), self.dilation,
            C=channels, TAPS=self.taps, STEPS=tile.steps, BM=tile.m, BC=tile.n, BLOCK=COPY_BLOCK,
            PRECISION=self.arithmetic.precision, ROUND=self.epilogue.rounded,
            **tile.options(), **launch_options(x.device),
        )  # fmt: skip
        return Signal(x, out)


class SeparableStage(Stage):
    """A depthwise stage and the product behind it: one kernel where `separable_tile` has a tile, else two."""

    def __init__(self, depthwise: DepthwiseStage, product: ProductStage) -> None:
        super().__init__(depthwise.arithmetic, depthwise.state.length, depthwise.state.channels)
        self._depthwise, self._product = depthwise, product
        self.state, self.epilogue = depthwise.state, product.epilogue
        depthwise.epilogue.rounded = self.arithmetic.precision == "tf32"

    @property
    def weighted(self) -> tuple[ProductStage]:
        """See `Stage.weighted`."""
        return (self._product,)

    def __call__(self, signal: Signal, call: Call) -> Signal:
        x, first, product = signal.activation, self._depthwise, self._product
        batch, frames, inputs = x.shape
        outputs, between = len(product.weight), (first.epilogue.alpha, first.epilogue.reciprocal)
        tile = separable_tile(batch, frames, inputs, outputs, first.dilation, self.arithmetic.processors)
        if tile is None:
            return product(first(signal, call), call)
        out, groups = x.new_empty(batch, frames, outputs), 1 if call.own is None else batch
        per_stream = runs(frames, first.dilation, tile.steps)
        rows = batch * per_stream
        tiles = groups * triton.cdiv(rows // groups, tile.m) * triton.cdiv(outputs, tile.n)
        kernel_on(x.device, kernels.separable_kernel)[(tiles + self._copies(batch),)](
            *self._stateful(x, call), call.own, *first.weights, *between,
            product.weight, product.bias, x if self.epilogue.residual else None, out, *self.epilogue.steps(),
            rows, per_stream, frames, call.old.stride(0), first.dilation,
            C=inputs, N=outputs, TAPS=first.taps, STEPS=tile.steps,
            BM=tile.m, BN=tile.n, BK=step_of(inputs, tile.k), BLOCK=COPY_BLOCK,
            PRECISION=self.arithmetic.precision, ROUND=self.epilogue.rounded,
            **tile.options(), **launch_options(x.device),
        )  # fmt: skip
        return Signal(None, out)


class OutputStage(Stage):
    """The last convolution, to one channel, and tanh: the activation it returns is the audio [B, T]."""

    def __init__(self, arithmetic: Arithmetic, conv: CausalConv1d) -> None:
        super().__init__(arithmetic, conv.context, conv.in_channels)
        self.weight, self.bias = conv.weight[0].T.contiguous(), conv.bias

    @property
    def weighted(self) -> tuple[OutputStage]:
        """See `Stage.weighted`."""
        return (self,)

    def __call__(self, signal: Signal, call: Call) -> Signal:
        x = signal.activation
        batch, frames, channels = x.shape
        audio = x.new_empty(batch, frames)
        tile = depthwise_tile(batch, frames, channels, 1, self.arithmetic.processors)
        per_stream, groups = runs(frames, 1, tile.steps), 1 if call.own is None else batch
        tiles = groups * triton.cdiv(batch // groups * per_stream, tile.m)
        kernel_on(x.device, kernels.output_kernel)[(tiles + self._copies(batch),)](
            *self._stateful(x, call), call.own, self.weight, self.bias, audio,
            batch * per_stream, per_stream, frames, call.old.stride(0),
            C=channels, TAPS=len(self.weight), STEPS=tile.steps, BM=tile.m,
            BC=triton.next_power_of_2(channels), BLOCK=COPY_BLOCK,
            **tile.options(), **launch_options(x.device),
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
    kernel_on(storage.device, kernels.gather_kernel)[(triton.cdiv(size, COPY_BLOCK), len(slots))](
        storage, slots, old, size, SIZE=size, BLOCK=COPY_BLOCK, num_warps=4, **launch_options(storage.device)
    )
    return old


def snake_steps(alpha: Tensor) -> tuple[Tensor, Tensor]:
    """Alpha and its reciprocal as kernels take them."""
    return alpha.contiguous(), (alpha + 1e-9).reciprocal()


def _operand(weight: Tensor, arithmetic: Arithmetic) -> Tensor:
    """The weight as products take it: to the nearest TF32, ties away from zero."""
    if arithmetic.precision != "tf32":
        return weight
    return ((weight.view(torch.int32) + 0x1000) & -0x2000).view(torch.float32)
