"""The speech that the language model learns from: waited for, encoded, and encoded again as it grows."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch import Tensor

from models.voxcpm.training.lm.batches import LatentCorpus
from models.voxcpm.training.lm.latents import build_corpus, encode_speech
from models.voxcpm.training.recipe import Recipe
from models.voxcpm.training.speech.dataset import SpeechStore
from models.voxcpm.training.stages.common import (
    PATIENCE_SECONDS,
    compiled_if_it_works,
    load_checkpoint,
    wait_for,
)
from models.voxcpm.training.stages.progress import Progress
from models.voxcpm.vae.audio_vae import AudioVAE

FIRST_HOURS = 5.0  # of speech, with which training begins while the teachers go on
ENCODE_AT = 2.0  # times the speech that was encoded before


class EncodedSpeech:
    """What the teachers have written into the folder `work`, as latents of the VAE of stage 1."""

    def __init__(
        self, recipe: Recipe, work: Path, vae: AudioVAE, tokenizer: Tokenizer, progress: Progress
    ) -> None:
        self._recipe, self._config, self._work = recipe, recipe.config, work
        self._vae, self._tokenizer, self._progress = vae, tokenizer, progress
        self._device = next(vae.parameters()).device
        self._encode = vae.encode
        self.store = SpeechStore(work / "speech", self._device, recipe.hours)
        self.hours, self.is_whole = 0.0, False
        """How much is encoded, and whether no more will be."""

    def compile(self) -> None:
        """The encoder, where that works."""

        def trial(encode: Callable[[Tensor], Tensor]) -> None:
            with torch.no_grad():
                for rows, patches in ((24, 20), (40, 12), (7, 33)):
                    samples = patches * self._config.patch_size * self._config.audio_vae_config.hop_length
                    encode(torch.randn(rows, 1, samples, device=self._device))

        self._encode = compiled_if_it_works(
            self._vae.encode, trial, self._device, self._progress, dynamic=True
        )

    def wait_and_encode(self, deadline: float, speech_until: float) -> tuple[Tensor, LatentCorpus]:
        """Wait for the VAE, and for FIRST_HOURS of speech or until `speech_until`; encode what there is."""
        wait_for(self._work / "vae.pt", deadline + PATIENCE_SECONDS, meanwhile=self.store.refresh)
        first_hours = min(FIRST_HOURS, self._recipe.hours / 2)
        while time.time() < speech_until and self.store.hours < first_hours and not self.store.full:
            time.sleep(1)
            self.store.refresh()
        self._vae.load_state_dict(load_checkpoint(self._work / "vae.pt", self._device))
        return self.encode()

    def encode(self) -> tuple[Tensor, LatentCorpus]:
        """All speech that has been written so far."""
        self.store.refresh()
        began = time.time()
        with torch.no_grad():
            latents, ordered = encode_speech(self._encode, self.store, self._config)
        patch_samples = self._config.patch_size * self._config.audio_vae_config.output_hop_length
        corpus = build_corpus(ordered, patch_samples, self._tokenizer)
        some = latents[torch.randperm(len(latents), device=latents.device)[:20000]]
        self._progress.report(
            "encoded",
            utterances=len(ordered),
            hours=self.store.hours,
            deviation=some.float().std().item(),
            took=time.time() - began,
        )
        self.hours = self.store.hours
        return latents, corpus

    def has_grown(self, speech_until: float) -> bool:
        """True when there is several times what was encoded, and once when the last of it was written."""
        self.store.refresh()
        over = time.time() >= speech_until
        enough = self.hours * (1.0 if over or self.store.full else ENCODE_AT)
        wanted = not self.is_whole and self.store.hours > enough
        self.is_whole |= over or self.store.full
        return wanted
