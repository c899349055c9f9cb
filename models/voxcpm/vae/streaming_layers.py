"""The layers of the streaming decoder: frames channels-last, what came before them in a tensor of states.

Each layer maps x [B, T, C] to [B, T * upsampling, C'] and takes `states` [B, size], the rows of all streams
at hand, of which it reads its own part and writes it again. All of them are TorchScript where they run on a
CPU (`engine/cpu/scripting.py`), so that a decode is one call.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine.layers.packed import packed_linear, packed_product
from models.voxcpm.vae.audio_vae import CausalConv1d, CausalUpsample1d, SampleRateCondition, Snake

MIN_PACKED_WEIGHT = 1 << 18
"""Elements. Narrower layers run at higher frame rates, where the plain product is as fast."""


class WindowState:
    """The last `length` input frames of each stream in front of one layer, in the decoder's storage."""

    def __init__(self, length: int, channels: int) -> None:
        self.length, self.channels = length, channels
        self.frames: Tensor
        """[slots, length, channels], once `bind` was called."""

    @property
    def size(self) -> int:
        """How many values the state of a stream has."""
        return self.length * self.channels

    def bind(self, storage: Tensor) -> None:
        """Live in `storage` [slots, size]."""
        self.frames = storage.unflatten(1, (self.length, self.channels))


def window_weight(conv: CausalConv1d) -> Tensor:
    """The convolution as a matrix [outputs, taps * inputs] on windows of frames."""
    return conv.weight.permute(0, 2, 1).flatten(1).contiguous()


def pair_weight(conv: CausalUpsample1d) -> Tensor:
    """The transposed convolution as a matrix [stride * outputs, 2 * inputs] on pairs of frames."""
    stride = conv.stride[0]
    now, before = conv.weight[..., :stride], conv.weight[..., stride:]
    return torch.cat([before, now]).permute(2, 1, 0).flatten(0, 1).contiguous()


def windows(x: Tensor, taps: int, dilation: int) -> Tensor:
    """Sliding windows of x [B, T, C]: [B, T - (taps - 1) * dilation, taps * C]."""
    batch, length, channels = x.shape
    strides = (x.stride(0), channels, dilation * channels, 1)
    view = x.as_strided((batch, length - (taps - 1) * dilation, taps, channels), strides)
    return view.flatten(2)


def extend(x: Tensor, states: Tensor, offset: int, length: int) -> Tensor:
    """Prepend the last `length` frames, `states` from `offset` on, to x [B, T, C], and remember the new last
    ones: [B, length + T, C]."""
    if length == 0:
        return x
    batch, _, channels = x.shape
    frames = states[:, offset : offset + length * channels].view(batch, length, channels)
    extended = torch.cat([frames, x], dim=1)
    frames.copy_(extended[:, -length:])
    return extended


class StreamingLayer(nn.Module):
    """One that remembers frames. `offset`: where in the states they are."""

    def __init__(self, length: int, channels: int) -> None:
        super().__init__()
        self.state = WindowState(length, channels)
        self.length, self.offset = length, 0


class Product(nn.Module):
    """x -> x weight^T + bias, packed where the weight, not the input, is what must be fetched."""

    __constants__ = ("packed",)

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        super().__init__()
        packed = packed_linear(weight, bias) if weight.numel() >= MIN_PACKED_WEIGHT else None
        self.packed = packed is not None
        self.weight = packed.packed if packed else weight.detach()
        self.bias = bias.detach()

    def forward(self, x: Tensor) -> Tensor:
        if self.packed:
            return packed_product(x, self.weight, self.bias)
        return F.linear(x, self.weight, self.bias)


class StreamingConv(StreamingLayer):
    """A causal convolution as one matrix product per call."""

    def __init__(self, conv: CausalConv1d) -> None:
        super().__init__(conv.context, conv.in_channels)
        self.taps, self.dilation = conv.kernel_size[0], conv.dilation[0]
        self.product = Product(window_weight(conv), conv.bias)

    def forward(self, x: Tensor, states: Tensor) -> Tensor:
        x = extend(x, states, self.offset, self.length)
        return self.product(windows(x, self.taps, self.dilation) if self.taps > 1 else x)


class StreamingDepthwiseConv(StreamingLayer):
    """A causal convolution that mixes no channels: one multiply-add per tap."""

    def __init__(self, conv: CausalConv1d) -> None:
        super().__init__(conv.context, conv.in_channels)
        self.dilation = conv.dilation[0]
        self.weight = conv.weight[:, 0].T.detach().contiguous()
        self.bias = conv.bias.detach()

    def forward(self, x: Tensor, states: Tensor) -> Tensor:
        length = x.shape[1]
        x = extend(x, states, self.offset, self.length)
        out = torch.addcmul(self.bias, x[:, :length], self.weight[0])
        for i in range(1, len(self.weight)):
            out.addcmul_(x[:, i * self.dilation : i * self.dilation + length], self.weight[i])
        return out


class StreamingUpsample(StreamingLayer):
    """A causal transposed convolution: each pair of neighbouring frames gives `stride` output frames."""

    def __init__(self, conv: CausalUpsample1d) -> None:
        super().__init__(1, conv.in_channels)
        self.channels = conv.out_channels
        self.product = Product(pair_weight(conv), conv.bias.repeat(conv.stride[0]))

    def forward(self, x: Tensor, states: Tensor) -> Tensor:
        pairs = windows(extend(x, states, self.offset, self.length), 2, 1)
        return self.product(pairs).view(x.shape[0], -1, self.channels)


class StreamingSnake(nn.Module):
    """See `audio_vae.Snake`."""

    def __init__(self, snake: Snake) -> None:
        super().__init__()
        self.alpha = snake.alpha.detach().flatten()
        self.reciprocal = (self.alpha + 1e-9).reciprocal()

    def forward(self, x: Tensor, states: Tensor) -> Tensor:
        return torch.addcmul(x, torch.mul(x, self.alpha).sin_().square_(), self.reciprocal)


class RateScale(nn.Module):
    """The sample rate's factor and offset per channel."""

    def __init__(self, condition: SampleRateCondition, bucket: Tensor) -> None:
        super().__init__()
        self.scale = condition.scale_embed(bucket)[0].detach()
        self.shift = condition.bias_embed(bucket)[0].detach()

    def forward(self, x: Tensor, states: Tensor) -> Tensor:
        return x * self.scale + self.shift


class RateAddition(nn.Module):
    """The sample rate's vector, added to each frame, or appended to it."""

    def __init__(self, condition: SampleRateCondition, bucket: Tensor) -> None:
        super().__init__()
        self.vector = condition.cond_embed(bucket).detach()
        self.appended = condition.cond_type == "concat"

    def forward(self, x: Tensor, states: Tensor) -> Tensor:
        if self.appended:
            return torch.cat([x, self.vector[None].expand(x.shape[0], x.shape[1], -1)], dim=2)
        return x + self.vector


class Chain(nn.Module):
    """Layers one after the other."""

    def __init__(self, layers: list[nn.Module]) -> None:
        super().__init__()
        self.layers = nn.ModuleList(layers)

    def forward(self, x: Tensor, states: Tensor) -> Tensor:
        for layer in self.layers:
            x = layer(x, states)
        return x


class Residual(nn.Module):
    """x + what a chain of layers makes of x."""

    def __init__(self, layers: list[nn.Module]) -> None:
        super().__init__()
        self.body = Chain(layers)

    def forward(self, x: Tensor, states: Tensor) -> Tensor:
        return x + self.body(x, states)
