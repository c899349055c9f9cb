"""What the device remembers of each sequence between its steps: the last patch, and the decoder's state.

Sequences whose adapters change the audio VAE's decoder have decoders of their own, in the same slots.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from engine.device.devices import on_device, runs_triton
from engine.device.side_stream import SideStream
from engine.device.staging import upload
from engine.errors import RequestError
from engine.layers.low_rank import LowRank
from engine.programs.slots import Slots
from engine.sequence import Sequence
from models.voxcpm.requests.prompt import key_patches, trailing_patches
from models.voxcpm.vae.adapted_decoder import vae_with
from models.voxcpm.vae.audio_vae import AudioVAE
from models.voxcpm.vae.streaming_vae import StreamingDecoder


class LastPatches(Slots):
    """Slots for streams, and the last patch of each.

    Attributes:
        latents: [slots + 1, P, D] fp32; zeros where the stream ends in text. Read and written in order with
            the language models.
    """

    def __init__(self, num_slots: int, patch: tuple[int, int], device: torch.device) -> None:
        super().__init__(num_slots)
        self._device, self._patch = device, patch
        self.latents = torch.zeros(num_slots + 1, *patch, device=device)

    @torch.inference_mode()
    def put(self, slots: np.ndarray, patches: np.ndarray) -> None:
        """Let patches float32 [N, P, D] be the last ones of `slots` int64 [N]."""
        self.latents[upload(slots, self._device)] = upload(patches, self._device)

    def put_last(self, slot: int, key: bytes) -> None:
        """Let a patch be the last one of `slot`, for the language models' sake alone."""
        self.put(np.array([slot]), key_patches([key], *self._patch))


class WaveformStreams(LastPatches):
    """Slots for streams that are heard; the state of one that had to give way is computed again from its last
    patches should it come back.

    Everything of `decoder` is read and written in order with `side`, which may be behind the language models.
    So a slot can be taken by another sequence at once: on either stream whatever was launched for the former
    owner, a patch computed in vain included, comes before the beginning of the new one and its patches.

    Attributes:
        decoder: the streaming decoder of all slots, for sequences that have none of their own.
        side: where decoders run, and their memory belongs.
    """

    def __init__(self, vae: AudioVAE, num_slots: int, patch_size: int, context_patches: int) -> None:
        device = next(vae.parameters()).device
        super().__init__(num_slots, (patch_size, vae.config.latent_dim), device)
        self.side = SideStream(self._device, "audio")
        self.side.follow()
        with self.side.on():
            self.decoder = streaming_decoder(vae, num_slots + 1)
        self._vae, self._uploads = vae, SideStream(self._device, "decoders")
        self._context_patches = context_patches
        self._replay_patches = self.decoder.replay_patches(patch_size)

    def decode(self, sequences: list[Sequence], patches: Tensor) -> Tensor:
        """The audio of one new patch of each sequence: patches [N, P, D] -> [N, patch_samples]."""
        slots = upload(np.array(self.slots(sequences)), self._device)
        patches = patches.float()
        self.latents[slots] = patches
        self.side.follow()
        with self.side.on():
            decoders = [decoder_of(sequence) or self.decoder for sequence in sequences]
            audio = self.decoder.decode_each(decoders, patches, slots)
        self.side.join(audio)
        return audio

    def decoder_with(self, layers: Mapping[str, LowRank]) -> StreamingDecoder:
        """The decoder with what an adapter adds to it, for streams in the same slots; from any thread.

        Its matrices travel beside all streams. The weights are made of them in order with the decodes before
        which this returns. Raises RequestError where the device has no room for them.
        """
        try:
            with on_device(self._device):
                with self._uploads.on():
                    moved = {
                        name: LowRank(*(tensor.to(self._device) for tensor in layer))
                        for name, layer in layers.items()
                    }
                for tensor in (tensor for layer in moved.values() for tensor in layer):
                    self.side.borrow(tensor)
                with self.side.on():
                    return self.decoder.of(vae_with(self._vae, moved))
        except torch.OutOfMemoryError as error:
            raise RequestError(
                f"an audio decoder of its own takes {self.decoder.num_bytes >> 20} MiB of {self._device}, "
                "which has not so much left; a smaller cache (kv_blocks) makes room",
                param="adapter",
                code="adapter_too_large",
            ) from error

    def slots(self, sequences: list[Sequence]) -> list[int]:
        """The slot of each sequence, ready for its next patch."""
        slots, fresh = self.places(sequences)
        if fresh:
            self._begin(np.array(fresh))
        return slots

    def places(self, sequences: list[Sequence]) -> tuple[list[int], list[int]]:
        """The slot of each sequence, and which of them must be cleared to be ready for its next patch."""
        slots, new = self.find(sequences)
        fresh = []
        for index in new:
            if isinstance(sequences[index].token_ids[-1], bytes):
                self._start(slots[index], sequences[index])
            else:
                fresh.append(slots[index])
        return slots, fresh

    @torch.inference_mode()
    def _begin(self, slots: np.ndarray) -> None:
        """Begin streams without history in `slots` int64 [N]."""
        self.put(slots, np.zeros((len(slots), *self._patch), np.float32))
        cleared = upload(slots, self._device)
        self.side.follow()
        self.side.borrow(cleared)
        with self.side.on():
            self.decoder.reset(cleared)

    @torch.inference_mode()
    def warm_up(self) -> None:
        """Launch what a stream that begins after patches may launch, whatever their number."""
        with self.side.on():
            for count in range(1, self._replay_patches + 1):
                self.decoder.start(self.spare_slot, torch.zeros(count, *self._patch, device=self._device))

    def _start(self, slot: int, sequence: Sequence) -> None:
        """Rebuild from the patches before the new one that its waveform depends on, prompt included."""
        limit = min(sequence.payload.index + self._context_patches, self._replay_patches)
        history = key_patches(trailing_patches(sequence.token_ids, limit), *self._patch)
        decoder = decoder_of(sequence) or self.decoder
        with self.side.on():
            decoder.start(slot, upload(history, self._device))
        self.put_last(slot, sequence.token_ids[-1])


def decoder_of(sequence: Sequence) -> StreamingDecoder | None:
    """The decoder of a sequence's adapter; None where the model's own serves it."""
    adapter = sequence.payload.adapter
    return None if adapter is None else adapter.decoder


def streaming_decoder(vae: AudioVAE, num_slots: int) -> StreamingDecoder:
    """The form of the decoder that is fast on the device of `vae`."""
    if not runs_triton(next(vae.parameters()).device):
        return StreamingDecoder(vae, num_slots)
    from models.voxcpm.fused.vae import FusedDecoder

    return FusedDecoder(vae, num_slots)
