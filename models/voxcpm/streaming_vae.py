"""The audio VAE's decoder as a stream: patches in, waveform out, exactly as a decode of the whole.

The state of every causal layer is one tensor [slots, context, channels]; a batch names the slots of
its rows. So streams of different ages decode together, and the state can be captured in a graph.

    decoder = StreamingDecoder(vae, num_slots=8)
    decoder.start(slot, history)                    # prompt context, or patches decoded earlier
    audio = decoder.decode(latents, slots)          # [B, P, D] -> [B, P * output_hop_length]

Layers run channels-last, [B, T, C]: a causal convolution is then one matrix product over its window,
and upsampling by a transposed convolution is a product whose output needs no rearrangement. At a few
frames per call that is several times faster than convolution kernels made for long inputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine.layers.packed import packed_linear
from models.voxcpm.audio_vae import (
    AudioVAE,
    CausalConv1d,
    CausalUpsample1d,
    DecoderBlock,
    ResidualUnit,
    SampleRateCondition,
    Snake,
    receptive_field_frames,
)

MIN_PACKED_WEIGHT = 1 << 18
"""Elements. Narrower layers run at higher frame rates, where the plain product is as fast."""

Slots = Tensor | slice
Layer = Callable[[Tensor, Slots], Tensor]
"""x [B, T, C] and the slots of its rows -> [B, T * upsampling, C']."""


class WindowState:
    """The last `length` input frames of each stream in front of one layer, in the decoder's storage."""

    def __init__(self, length: int, channels: int) -> None:
        self.length, self.channels = length, channels
        self.frames: Tensor
        """[slots, length, channels], once `bind` was called."""

    @property
    def size(self) -> int:
        """Values per stream."""
        return self.length * self.channels

    def bind(self, storage: Tensor) -> None:
        """Live in `storage` [slots, size]."""
        self.frames = storage.unflatten(1, (self.length, self.channels))

    def extend(self, x: Tensor, slots: Slots) -> Tensor:
        """Prepend the state to x [B, T, C] and remember the new last frames: [B, length + T, C]."""
        if not self.length:
            return x
        extended = torch.cat([self.frames[slots], x], dim=1)
        self.frames[slots] = extended[:, -self.length :]
        return extended


def window_weight(conv: CausalConv1d) -> Tensor:
    """The convolution as a matrix [outputs, taps * inputs] on windows of frames."""
    return conv.weight.permute(0, 2, 1).flatten(1).contiguous()


def pair_weight(conv: CausalUpsample1d) -> Tensor:
    """The transposed convolution as a matrix [stride * outputs, 2 * inputs] on pairs of frames."""
    stride = conv.stride[0]
    now, before = conv.weight[..., :stride], conv.weight[..., stride:]
    return torch.cat([before, now]).permute(2, 1, 0).flatten(0, 1).contiguous()


def windows(x: Tensor, taps: int, dilation: int) -> Tensor:
    """Sliding windows of x [B, T, C]: [B, T - (taps - 1) * dilation, taps, C], a view."""
    batch, length, channels = x.shape
    strides = (x.stride(0), channels, dilation * channels, 1)
    return x.as_strided((batch, length - (taps - 1) * dilation, taps, channels), strides)


class StreamingConv:
    """A causal convolution as one matrix product per call."""

    def __init__(self, conv: CausalConv1d) -> None:
        self.taps, self.dilation = conv.kernel_size[0], conv.dilation[0]
        self.product = _product(window_weight(conv), conv.bias)
        self.state = WindowState(conv.context, conv.in_channels)

    def __call__(self, x: Tensor, slots: Slots) -> Tensor:
        x = self.state.extend(x, slots)
        return self.product(windows(x, self.taps, self.dilation).flatten(2) if self.taps > 1 else x)


class StreamingDepthwiseConv:
    """A causal convolution that mixes no channels: one multiply-add per tap."""

    def __init__(self, conv: CausalConv1d) -> None:
        self.dilation = conv.dilation[0]
        self.taps = conv.weight[:, 0].T.contiguous().unbind(0)
        self.bias = conv.bias
        self.state = WindowState(conv.context, conv.in_channels)

    def __call__(self, x: Tensor, slots: Slots) -> Tensor:
        length = x.shape[1]
        x = self.state.extend(x, slots)
        out = torch.addcmul(self.bias, x[:, :length], self.taps[0])
        for i, tap in enumerate(self.taps[1:], start=1):
            out.addcmul_(x[:, i * self.dilation : i * self.dilation + length], tap)
        return out


class StreamingUpsample:
    """A causal transposed convolution: each pair of neighbouring frames gives `stride` output frames."""

    def __init__(self, conv: CausalUpsample1d) -> None:
        self.stride, self.channels = conv.stride[0], conv.out_channels
        self.product = _product(pair_weight(conv), conv.bias.repeat(self.stride))
        self.state = WindowState(1, conv.in_channels)

    def __call__(self, x: Tensor, slots: Slots) -> Tensor:
        pairs = windows(self.state.extend(x, slots), 2, 1).flatten(2)
        return self.product(pairs).view(x.shape[0], -1, self.channels)


def _product(weight: Tensor, bias: Tensor) -> Callable[[Tensor], Tensor]:
    """x -> x weight^T + bias, packed where the weight, not the input, is what must be fetched."""
    packed = packed_linear(weight, bias) if weight.numel() >= MIN_PACKED_WEIGHT else None
    return packed or partial(F.linear, weight=weight, bias=bias)


def snake_layer(snake: Snake) -> Layer:
    alpha = snake.alpha.flatten()
    reciprocal = (alpha + 1e-9).reciprocal()

    def apply(x: Tensor, slots: Slots) -> Tensor:
        return torch.addcmul(x, torch.mul(x, alpha).sin_().square_(), reciprocal)

    return apply


def residual_layer(body: list[Layer]) -> Layer:
    def apply(x: Tensor, slots: Slots) -> Tensor:
        return x + run_layers(body, x, slots)

    return apply


def run_layers(layers: list[Layer], x: Tensor, slots: Slots) -> Tensor:
    for layer in layers:
        x = layer(x, slots)
    return x


class StreamingDecoder:
    """Decodes many streams; each owns a slot. The caller assigns slots."""

    def __init__(self, vae: AudioVAE, num_slots: int) -> None:
        self.num_slots = num_slots
        self._receptive_field_frames = receptive_field_frames(vae.config)
        states = self._build_layers(vae)
        sizes = [state.size for state in states]
        like = next(vae.decoder.parameters())
        self._storage = torch.zeros(num_slots, sum(sizes), dtype=like.dtype, device=like.device)
        for state, part in zip(states, self._storage.split(sizes, dim=1), strict=True):
            state.bind(part)

    def replay_patches(self, patch_size: int) -> int:
        """How many last patches determine the state of a stream, whatever came before them."""
        return math.ceil(self._receptive_field_frames / patch_size)

    @torch.inference_mode()
    def start(self, slot: int, history: Tensor) -> None:
        """Begin a stream in `slot` as if it had decoded `history` [n, P, D] (n may be 0) before."""
        self._storage[slot].zero_()
        if len(history):
            run_layers(self._layers, history.flatten(0, 1)[None], slice(slot, slot + 1))

    @torch.inference_mode()
    def reset(self, slots: Tensor) -> None:
        """Begin streams that have decoded nothing in `slots` [N] int64, which may repeat; capturable."""
        self._storage.index_fill_(0, slots, 0.0)

    @torch.inference_mode()
    def decode(self, patches: Tensor, slots: Tensor) -> Tensor:
        """One patch of each stream: patches [B, P, D], slots [B] int64 -> audio [B, samples].

        The slots must all be different.
        """
        return run_layers(self._layers, patches, slots)[..., 0].tanh_()

    @torch.inference_mode()
    def _build_layers(self, vae: AudioVAE) -> list[WindowState]:
        """The layers, for the device at hand; returns their states, which then get their storage."""
        decoder = vae.decoder
        conditions = getattr(decoder, "sr_cond_model", {})
        self._states: list[WindowState] = []
        self._layers: list[Layer] = []
        for i, module in enumerate(decoder.model):
            if str(i) in conditions:
                self._layers += self._build_condition(conditions[str(i)], decoder.sample_rate_bucket)
            self._layers += self._build(module)
        return self._states

    def _build(self, module: nn.Module) -> list[Layer]:
        if isinstance(module, Snake):
            return [snake_layer(module)]
        if isinstance(module, ResidualUnit):
            return [residual_layer([layer for child in module.block for layer in self._build(child)])]
        if isinstance(module, DecoderBlock):
            return [layer for child in module.block for layer in self._build(child)]
        layer: StreamingConv | StreamingDepthwiseConv | StreamingUpsample
        if isinstance(module, CausalUpsample1d):
            layer = StreamingUpsample(module)
        elif isinstance(module, CausalConv1d) and module.groups == 1:
            layer = StreamingConv(module)
        elif isinstance(module, CausalConv1d) and module.groups == module.in_channels == module.out_channels:
            layer = StreamingDepthwiseConv(module)
        else:
            raise TypeError(f"no streaming form of {module}")
        self._states.append(layer.state)
        return [layer]

    def _build_condition(self, condition: SampleRateCondition, bucket: Tensor) -> list[Layer]:
        def apply(x: Tensor, slots: Slots) -> Tensor:
            return condition.apply_embedding(x.transpose(1, 2), bucket).transpose(1, 2).contiguous()

        return [apply, *(layer for child in condition.out_layer for layer in self._build(child))]
