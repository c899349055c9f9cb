"""Encodes all speech into latent patches once, for the language model's training.

Each utterance is padded with silence to whole patches plus one, so that its end is plain to hear and
the stop easy to learn.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor

from models.voxcpm.config import VoxCPMConfig
from models.voxcpm.training.lm.batches import LatentCorpus
from models.voxcpm.training.speech.dataset import SpeechStore, SpokenText
from models.voxcpm.training.speech.hearing import Hearing


def patches_of(utterance: SpokenText, patch_samples: int) -> int:
    """Patches an utterance takes: enough for its samples, and one of silence."""
    return -(-utterance.samples // patch_samples) + 1


@torch.no_grad()
def encode_speech(
    encode: Callable[[Tensor], Tensor],
    store: SpeechStore,
    config: VoxCPMConfig,
    samples_per_call: int = 16_000_000,
) -> tuple[Tensor, list[SpokenText]]:
    """Latents of every utterance, shortest first: fp16 [patches, patch_size, D] on the store's device.

    `encode` is AudioVAE.encode, compiled or not.
    """
    patch_size, hearing = config.patch_size, Hearing().to(store.audio.device)
    patch_samples = patch_size * config.audio_vae_config.output_hop_length
    ordered = sorted(store.utterances, key=lambda u: u.samples)
    counts = [patches_of(u, patch_samples) for u in ordered]
    latents = torch.empty(
        sum(counts), patch_size, config.feat_dim, dtype=torch.float16, device=store.audio.device
    )
    done = first = 0
    while first < len(ordered):
        last = first
        while last < len(ordered) and (last - first + 1) * counts[last] * patch_samples <= samples_per_call:
            last += 1
        last = max(last, first + 1)
        group, group_counts = ordered[first:last], counts[first:last]
        starts = torch.tensor([[u.start] for u in group], device=store.audio.device)
        lengths = torch.tensor([[u.samples] for u in group], device=store.audio.device)
        offsets = torch.arange(group_counts[-1] * patch_samples, device=store.audio.device)
        index = (starts + offsets).clamp_max(len(store.audio) - 1)
        audio = torch.where(offsets < lengths, store.audio[index], 0).float() / 32768
        encoded = encode(hearing(audio[:, None])).transpose(1, 2).unflatten(1, (-1, patch_size))
        real = (
            torch.arange(group_counts[-1], device=encoded.device)
            < torch.tensor(group_counts, device=encoded.device)[:, None]
        )
        chosen = encoded[real]
        latents[done : done + len(chosen)] = chosen
        done, first = done + len(chosen), last
    return latents, ordered


def build_corpus(utterances: list[SpokenText], patch_samples: int, tokenizer: Tokenizer) -> LatentCorpus:
    """Ranges of patches and tokens of utterances in the order `encode_speech` returned them."""
    names = sorted({u.voice for u in utterances})
    index = {name: i for i, name in enumerate(names)}
    patches = np.array([patches_of(u, patch_samples) for u in utterances], np.int64)
    encoded = [e.ids for e in tokenizer.encode_batch([u.text for u in utterances], add_special_tokens=False)]
    lengths = np.array([len(ids) for ids in encoded], np.int64)
    return LatentCorpus(
        first_patch=np.cumsum(patches) - patches,
        num_patches=patches,
        first_token=np.cumsum(lengths) - lengths,
        num_tokens=lengths,
        voice=np.array([index[u.voice] for u in utterances], np.int64),
        is_sentence=np.array([u.kind == "sentence" for u in utterances]),
        tokens=np.concatenate([np.array(ids, np.int64) for ids in encoded]),
        voices=tuple(names),
    )
