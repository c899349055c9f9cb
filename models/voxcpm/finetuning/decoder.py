"""What the audio VAE's decoder learns of a speaker, beside the language models and the DiT.

Latents say what is spoken, the decoder how it sounds. The bundled one learnt from two voices, and another
speaker's own recordings come out of it as somebody half way between (docs/finetuning.md). A low-rank addition
to its convolutions brings it nearer to her. Latents stay what they are, so the models say the same words.

    decoder = DecoderLearner(checkpoint, material.heard, rank=32, seed=0)
    loss = decoder.step(number, share_of_the_run)
    decoder.layers()                             # {"audio_vae.decoder....": LowRank}, of scale 1

A step decodes crops of recordings' latents, some with noise as generated ones have it, and compares mel
spectra with those of what was recorded. Everything random follows from the seed and the step's number. What
is written is a moving average, since a run may end while its learning rate is still high.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.func import functional_call

from engine.device.staging import upload
from engine.layers.low_rank import LowRank
from models.lora.adapter import MAX_RANK
from models.voxcpm.checkpoint import Checkpoint
from models.voxcpm.finetuning.fresh import fresh_layers
from models.voxcpm.finetuning.recordings.corpus import Spoken
from models.voxcpm.training.recipe import VAERecipe
from models.voxcpm.training.stages.common import cosine, warmup
from models.voxcpm.training.stages.optimization import guarded_step, set_learning_rate
from models.voxcpm.training.vae.losses import MelLoss
from models.voxcpm.vae.adapted_decoder import adaptable_convolutions, added_weights
from models.voxcpm.vae.audio_encoding import read_audio

LEARNING_RATE, MOST_NORM = 3e-3, 1.0
RANKS = 2
"""Times the rank of the models' layers: with as low a one as theirs, more words were misheard."""
AVERAGE_DECAY = 0.98
CROPS = 3
BEFORE_FRAMES, CROP_FRAMES = 8, 20
"""Latent frames of a crop, 25 a second: the first ones warm the causal decoder up, the others are judged."""
MOST_SECONDS = 1800.0
"""The most seconds of recordings that the decoder learns from; they are held in memory."""
_PASSED = 0.95
"""Of the band that a recording's rate has room for, what resampling leaves as it is."""
Heard = tuple[Spoken, np.ndarray]
"""A recording, and its latents float32 [n, P, D]."""


class DecoderLearner:
    """See the module. Raises RequestError where a recording cannot be read any more.

    rank: of the adapter that it is part of; its own is higher.
    """

    def __init__(self, checkpoint: Checkpoint, heard: Sequence[Heard], rank: int, seed: int) -> None:
        config = checkpoint.config.audio_vae_config
        self._device, self._seed, self._hop = checkpoint.device, seed, config.output_hop_length
        self._decoder = checkpoint.vae.decoder
        self.rank = min(RANKS * rank, MAX_RANK)
        self._layers = fresh_layers(adaptable_convolutions(config), self.rank, seed, checkpoint.device)
        self.parameters = [tensor for layer in self._layers.values() for tensor in layer]
        self._average = [parameter.detach().clone() for parameter in self.parameters]
        heard, least_rate = _wide_ones(heard, config.output_sample_rate)
        recordings = _waveforms(heard, config.output_sample_rate, self._hop)
        longest = max(latents.shape[1] for latents, _ in recordings)
        self._frames = min(BEFORE_FRAMES + CROP_FRAMES, longest)
        self._recordings = [found for found in recordings if found[0].shape[1] >= self._frames]
        lengths = np.array([latents.shape[1] for latents, _ in self._recordings], np.float64)
        self._shares = lengths / lengths.sum()
        most_hz = _PASSED * least_rate / 2
        self._loss = MelLoss(sample_rate=config.output_sample_rate, most_hz=most_hz).to(self._device)
        self._optimizer = torch.optim.AdamW(
            self.parameters,
            torch.zeros((), device=self._device),
            betas=(0.9, 0.99),
            weight_decay=0.0,
            fused=True,
        )

    def layers(self) -> dict[str, LowRank]:
        """What was learnt so far."""
        pairs = zip(self._average[::2], self._average[1::2], strict=True)
        return {name: LowRank(*pair) for name, pair in zip(self._layers, pairs, strict=True)}

    def step(self, number: int, share: float) -> Tensor:
        """Learn from the crops of step `number`; `share` of the run is over. The mel loss, on the device."""
        latents, audio = self._crops(np.random.default_rng([self._seed, number]))
        set_learning_rate(self._optimizer, LEARNING_RATE * warmup(number, 20) * cosine(share, 0.05))
        weights = added_weights(self._decoder, self._layers)
        made = functional_call(self._decoder, weights, (latents,))
        loss = self._loss(made[..., self._hop * BEFORE_FRAMES :], audio)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.parameters, MOST_NORM, foreach=True)
        guarded_step(self._optimizer, norm)
        self._optimizer.zero_grad(set_to_none=True)
        share_of_newest = max(1 - AVERAGE_DECAY, 9 / (10 + number))
        torch._foreach_lerp_(self._average, [p.detach() for p in self.parameters], share_of_newest)
        return loss.detach()

    def state_dict(self) -> dict[str, Any]:
        """The state to go on from."""
        parameters = [parameter.detach() for parameter in self.parameters]
        return {"parameters": parameters, "average": self._average, "optimizer": self._optimizer.state_dict()}

    @torch.no_grad()
    def load_state_dict(self, state: dict[str, Any]) -> None:
        torch._foreach_copy_(self.parameters, state["parameters"])
        torch._foreach_copy_(self._average, state["average"])
        self._optimizer.load_state_dict(state["optimizer"])

    def _crops(self, random: np.random.Generator) -> tuple[Tensor, Tensor]:
        """Latents [CROPS, D, frames], some with noise, and the audio of the judged frames [CROPS, 1, T]."""
        latents, audio = [], []
        for place in random.choice(len(self._recordings), CROPS, p=self._shares):
            frames, samples = self._recordings[place]
            first = int(random.integers(0, frames.shape[1] - self._frames + 1))
            last = first + self._frames
            level = max(0.0, random.uniform(-1, 1)) * VAERecipe.most_latent_noise
            noise = random.standard_normal((len(frames), self._frames), np.float32)
            latents.append(frames[:, first:last] + np.float32(level) * noise)
            audio.append(samples[(first + BEFORE_FRAMES) * self._hop : last * self._hop])
        heard, wanted = (upload(np.stack(part), self._device) for part in (latents, audio))
        return heard, wanted[:, None]


def _wide_ones(heard: Sequence[Heard], rate: int) -> tuple[list[Heard], int]:
    """The half of the speech that was sampled most often, all of its like included, and how often that was;
    beyond `rate` all are alike. No band is judged that one of them lacks, and one from a telephone would
    take from the others what is above 4 kHz.
    """
    rates = np.array([min(spoken.speech.recorded_rate, rate) for spoken, _ in heard])
    seconds = np.array([spoken.speech.seconds for spoken, _ in heard])
    order = np.argsort(-rates, kind="stable")
    half = np.searchsorted(np.cumsum(seconds[order]), seconds.sum() / 2)
    least = int(rates[order][half])
    return [item for item, own in zip(heard, rates, strict=True) if own >= least], least


def _waveforms(heard: Sequence[Heard], rate: int, hop: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Latents [D, frames] and audio [frames * hop] of as many recordings as are held."""
    found, seconds = [], 0.0
    for spoken, patches in heard:
        frames = patches.reshape(-1, patches.shape[-1]).T
        samples = spoken.speech.at(read_audio(spoken.recording.audio)[0], rate)
        audio = np.zeros(frames.shape[1] * hop, np.float32)
        audio[: len(samples)] = samples[: len(audio)]
        found.append((np.ascontiguousarray(frames, np.float32), audio))
        seconds += spoken.speech.seconds
        if seconds > MOST_SECONDS:
            break
    return found
