"""The audio VAE's decoder as a stream: patches in, waveform out, exactly as a decode of the whole.

The states of all causal layers are one tensor [slots, size]; a batch names the slots of its rows. So streams
of different ages decode together, and the state can be captured in a graph.

    decoder = StreamingDecoder(vae, num_slots=8)
    decoder.start(slot, history)                    # prompt context, or patches decoded earlier
    audio = decoder.decode(latents, slots)          # [B, P, D] -> [B, P * output_hop_length]
    other = decoder.of(vae_with(vae, layers))       # for other streams in the same slots
    audio = decoder.decode_each([decoder, other], latents, slots)

Layers (`streaming_layers.py`) run channels-last, [B, T, C]: a causal convolution is then one matrix product
over its window, and upsampling by a transposed convolution is a product whose output needs no rearrangement.
At a few frames per call that is several times faster than convolution kernels made for long inputs.
"""

from __future__ import annotations

import math
import weakref
from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor, nn

from engine.cpu.scripting import scripted, scripted_as
from engine.device.staging import upload
from models.voxcpm.vae.audio_vae import (
    AudioVAE,
    CausalConv1d,
    CausalUpsample1d,
    DecoderBlock,
    ResidualUnit,
    SampleRateCondition,
    Snake,
    receptive_field_frames,
)
from models.voxcpm.vae.streaming_layers import (
    Chain,
    RateAddition,
    RateScale,
    Residual,
    StreamingConv,
    StreamingDepthwiseConv,
    StreamingLayer,
    StreamingSnake,
    StreamingUpsample,
    WindowState,
)


class StreamingDecoder:
    """Decodes many streams; each owns a slot. The caller assigns slots.

    Attributes:
        num_bytes: of its weights.
    """

    def __init__(self, vae: AudioVAE, num_slots: int, like: StreamingDecoder | None = None) -> None:
        """like: a decoder of the same shape whose states are shared."""
        self.num_slots, self._like = num_slots, like
        self._others: weakref.WeakValueDictionary[int, StreamingDecoder] = weakref.WeakValueDictionary()
        self._receptive_field_frames = receptive_field_frames(vae.config)
        self.num_bytes = sum(tensor.nbytes for tensor in vae.decoder.parameters())
        states = self._build_layers(vae)
        sizes = [state.size for state in states]
        weight = next(vae.decoder.parameters())
        if like is None:
            self._storage = torch.zeros(num_slots, sum(sizes), dtype=weight.dtype, device=weight.device)
        else:
            self._storage = like._storage
        for state, part in zip(states, self._storage.split(sizes, dim=1), strict=True):
            state.bind(part)

    def of(self, vae: AudioVAE) -> StreamingDecoder:
        """One with other weights, for other streams in the same slots; what a slot holds is of its stream."""
        return StreamingDecoder(vae, self.num_slots, self)

    def replay_patches(self, patch_size: int) -> int:
        """How many last patches determine the state of a stream, whatever came before them."""
        return math.ceil(self._receptive_field_frames / patch_size)

    @torch.inference_mode()
    def start(self, slot: int, history: Tensor) -> None:
        """Begin a stream in `slot` as if it had decoded `history` [n, P, D] (n may be 0) before."""
        self._storage[slot].zero_()
        if len(history):
            self._chain(history.flatten(0, 1)[None], self._storage[slot : slot + 1])

    @torch.inference_mode()
    def reset(self, slots: Tensor) -> None:
        """Begin streams that have decoded nothing in `slots` [N] int64, which may repeat; capturable."""
        self._storage.index_fill_(0, slots, 0.0)

    @torch.inference_mode()
    def decode(self, patches: Tensor, slots: Tensor, own: Tensor | None = None) -> Tensor:
        """One patch of each stream: patches [B, P, D], slots [B] int64 -> audio [B, samples].

        The slots must all be different. own: int64 [B], the `way_to` the decoder of each stream.
        """
        if own is not None:
            return self._decode_in_groups(patches, slots, own)
        states = self._storage[slots]
        audio = self._chain(patches, states)
        self._storage[slots] = states
        return audio[..., 0].tanh_()

    def way_to(self, other: StreamingDecoder) -> int:
        """What tells `decode` of another decoder of its slots; 0 of itself."""
        if other is self:
            return 0
        self._others[id(other)] = other
        return id(other)

    @torch.inference_mode()
    def decode_each(self, decoders: Sequence[StreamingDecoder], patches: Tensor, slots: Tensor) -> Tensor:
        """`decode` of streams that have different decoders. This one's give what they give alone, in every
        bit.
        """
        ways = np.array([self.way_to(decoder) for decoder in decoders])
        if not ways.any():
            return self.decode(patches, slots)
        own = upload(ways, slots.device)
        if ways.all():
            return self.decode(patches, slots, own)
        plain, others = (upload(np.flatnonzero(part), slots.device) for part in (ways == 0, ways != 0))
        return _in_order(
            (plain, self.decode(patches[plain], slots[plain])),
            (others, self.decode(patches[others], slots[others], own[others])),
        )

    def _decode_in_groups(self, patches: Tensor, slots: Tensor, own: Tensor) -> Tensor:
        groups = {way: (own == way).nonzero()[:, 0] for way in own.unique().tolist()}
        return _in_order(
            *(
                (rows, (self._others[way] if way else self).decode(patches[rows], slots[rows]))
                for way, rows in groups.items()
            )
        )

    @torch.inference_mode()
    def _build_layers(self, vae: AudioVAE) -> list[WindowState]:
        """The layers, for the device at hand; returns their states, which then get their storage."""
        decoder = vae.decoder
        conditions = getattr(decoder, "sr_cond_model", {})
        layers: list[nn.Module] = []
        for i, module in enumerate(decoder.model):
            if str(i) in conditions:
                layers += _condition_layers(conditions[str(i)], decoder.sample_rate_bucket)
            layers += _layers_of(module)
        self._chain = Chain(layers)
        remembering = [layer for layer in self._chain.modules() if isinstance(layer, StreamingLayer)]
        offset = 0
        for layer in remembering:
            layer.offset = offset
            offset += layer.state.size
        if next(decoder.parameters()).device.type == "cpu":
            like = self._like
            self._chain = scripted(self._chain) if like is None else scripted_as(like._chain, self._chain)
        return [layer.state for layer in remembering]


def _in_order(*parts: tuple[Tensor, Tensor]) -> Tensor:
    """The values of parts, each beside its places int64 in the result."""
    places, values = zip(*parts, strict=True)
    return torch.cat(values)[torch.cat(places).argsort()]


def _layers_of(module: nn.Module) -> list[nn.Module]:
    if isinstance(module, Snake):
        return [StreamingSnake(module)]
    if isinstance(module, ResidualUnit):
        return [Residual([layer for child in module.block for layer in _layers_of(child)])]
    if isinstance(module, DecoderBlock):
        return [layer for child in module.block for layer in _layers_of(child)]
    if isinstance(module, CausalUpsample1d):
        return [StreamingUpsample(module)]
    if isinstance(module, CausalConv1d) and module.groups == 1:
        return [StreamingConv(module)]
    if isinstance(module, CausalConv1d) and module.groups == module.in_channels == module.out_channels:
        return [StreamingDepthwiseConv(module)]
    raise TypeError(f"no streaming form of {module}")


def _condition_layers(condition: SampleRateCondition, bucket: Tensor) -> list[nn.Module]:
    scales = condition.cond_type.startswith("scale_bias")
    layer = RateScale(condition, bucket) if scales else RateAddition(condition, bucket)
    return [layer, *(layer for child in condition.out_layer for layer in _layers_of(child))]
