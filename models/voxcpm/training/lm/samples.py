"""Held-out sentences spoken by a model in training, in its commonest voices: `samples.npz`.

Arrays are named `VOICE_NNN_stopped`, or `_cut` where the clip did not end by itself; int16 at 24 kHz.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor

from models.voxcpm.model import VoxCPMModel
from models.voxcpm.training.lm.batches import LatentCorpus
from models.voxcpm.training.lm.generation import generate, waveforms
from models.voxcpm.training.recipe import DEFAULT_VOICE
from models.voxcpm.vae.audio_vae import AudioVAE

REFERENCE_PATCHES = 30
SAMPLED_VOICES = 4


def commonest_voices(corpus: LatentCorpus) -> list[int]:
    """The voices with most utterances, at most SAMPLED_VOICES."""
    counts = np.bincount(corpus.voice, minlength=len(corpus.voices))
    return np.argsort(-counts, kind="stable")[:SAMPLED_VOICES].tolist()


def references(latents: Tensor, corpus: LatentCorpus, voices: list[int]) -> list[Tensor | None]:
    """A stretch of speech per voice [REFERENCE_PATCHES, P, D]; None for the default voice."""
    found = []
    for index in voices:
        voice = corpus.voices[index]
        members = np.flatnonzero((corpus.voice == index) & (corpus.num_patches >= REFERENCE_PATCHES))
        first = None if voice == DEFAULT_VOICE or not len(members) else int(corpus.first_patch[members[0]])
        found.append(None if first is None else latents[first : first + REFERENCE_PATCHES].float())
    return found


def write_samples(
    path: Path,
    model: VoxCPMModel,
    vae: AudioVAE,
    tokenizer: Tokenizer,
    latents: Tensor,
    corpus: LatentCorpus,
    texts: list[str],
    most_patches: int,
) -> dict[str, int]:
    """Speak every text in the commonest voices, decode and write; returns counts of clips and stops."""
    ids = [e.ids for e in tokenizer.encode_batch(texts, add_special_tokens=False)]
    chosen = commonest_voices(corpus)
    by_voice = references(latents, corpus, chosen)
    torch.manual_seed(0)
    spoken = generate(model, ids * len(by_voice), [r for r in by_voice for _ in ids], most_patches)
    arrays = {}
    for index, (one, audio) in enumerate(zip(spoken, waveforms(vae, spoken), strict=True)):
        voice, ending = corpus.voices[chosen[index // len(ids)]], "stopped" if one.stopped else "cut"
        samples = (audio.clamp(-1, 1) * 32767).numpy().astype(np.int16)
        arrays[f"{voice}_{index % len(ids):03d}_{ending}"] = samples
    np.savez_compressed(path, **arrays)
    return {"utterances": len(spoken), "stopped": sum(one.stopped for one in spoken)}
