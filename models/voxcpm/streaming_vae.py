"""The audio VAE's decoder as a stream: patches in, waveform out, exactly as a decode of the whole.

The state of every causal layer is one tensor [slots, channels, context]; a batch names the slots of
its rows. So streams of different ages decode together, and the state can be captured in a graph.

    decoder = StreamingDecoder(vae, num_slots=8)
    decoder.start(slot, history)                    # prompt context, or patches decoded earlier
    audio = decoder.decode(latents, slots)          # [B, P, D] -> [B, P * output_hop_length]
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from models.voxcpm.audio_vae import AudioVAE, CausalConv1d, CausalUpsample1d, receptive_field_frames


class StreamContext:
    """Left context of each causal layer, per slot; see `audio_vae.Context`."""

    def __init__(self, states: dict[nn.Module, Tensor], slots: Tensor | slice) -> None:
        self._states = states
        self._slots = slots

    def extend(self, layer: nn.Module, x: Tensor, length: int) -> Tensor:
        state = self._states[layer]
        extended = torch.cat([state[self._slots], x], dim=-1)
        state[self._slots] = extended[..., -length:]
        return extended


class StreamingDecoder:
    """Decodes many streams; each owns a slot. The caller assigns slots."""

    def __init__(self, vae: AudioVAE, num_slots: int) -> None:
        self._vae = vae
        self.num_slots = num_slots
        parameter = next(vae.decoder.parameters())
        self._states = {
            layer: parameter.new_zeros(num_slots, layer.in_channels, layer.context)
            for layer in vae.decoder.modules()
            if isinstance(layer, (CausalConv1d, CausalUpsample1d)) and layer.context
        }
        self._receptive_field_frames = receptive_field_frames(vae.config)

    def replay_patches(self, patch_size: int) -> int:
        """How many last patches determine the state of a stream, whatever came before them."""
        return math.ceil(self._receptive_field_frames / patch_size)

    @torch.inference_mode()
    def start(self, slot: int, history: Tensor) -> None:
        """Begin a stream in `slot` as if it had decoded `history` [n, P, D] (n may be 0) before."""
        for state in self._states.values():
            state[slot].zero_()
        if len(history):
            self._decode(history.flatten(0, 1)[None], slice(slot, slot + 1))

    @torch.inference_mode()
    def decode(self, patches: Tensor, slots: Tensor) -> Tensor:
        """One patch of each stream: patches [B, P, D], slots [B] int64, all different -> audio [B, samples]."""
        return self._decode(patches, slots)

    def _decode(self, latents: Tensor, slots: Tensor | slice) -> Tensor:
        """latents [B, frames, D] -> audio [B, frames * output_hop_length]."""
        return self._vae.decode(latents.transpose(1, 2), StreamContext(self._states, slots))[:, 0]
