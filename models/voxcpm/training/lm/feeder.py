"""Batches for the language model, made ahead by threads and copied to the device without waiting."""

from __future__ import annotations

import queue
import threading
from dataclasses import fields

import numpy as np
import torch

from models.voxcpm.training.lm.batches import Batch, BatchMaker, LatentCorpus
from models.voxcpm.training.lm.loss import DeviceBatch
from models.voxcpm.training.recipe import LMRecipe

AHEAD = 8
FIELDS = tuple(field.name for field in fields(DeviceBatch))


def tensors_of(batch: Batch) -> dict[str, torch.Tensor]:
    """The fields of a `DeviceBatch`, on the CPU."""
    return {name: torch.from_numpy(np.ascontiguousarray(getattr(batch, name))) for name in FIELDS}


class BatchFeeder:
    """Threads that keep a few batches ready. `sentence_share` may change while they work."""

    def __init__(
        self, corpus: LatentCorpus, recipe: LMRecipe, device: torch.device, seed: int, threads: int = 3
    ) -> None:
        self.sentence_share = recipe.sentence_share
        self._device, self._ready = device, queue.Queue(AHEAD)
        self._stopping = threading.Event()
        makers = [BatchMaker(corpus, recipe, seed * 100 + index) for index in range(threads)]
        self._threads = [threading.Thread(target=self._feed, args=(m,), daemon=True) for m in makers]
        for thread in self._threads:
            thread.start()

    def _feed(self, maker: BatchMaker) -> None:
        while not self._stopping.is_set():
            batch = maker.make(self.sentence_share)
            tensors = tensors_of(batch)
            if self._device.type == "cuda":
                tensors = {name: tensor.pin_memory() for name, tensor in tensors.items()}
            self._put((tensors, batch.target_patches))

    def _put(self, item: tuple[dict[str, torch.Tensor], int]) -> None:
        while not self._stopping.is_set():
            try:
                self._ready.put(item, timeout=0.5)
                return
            except queue.Full:
                continue

    def next(self) -> tuple[DeviceBatch, int]:
        """The next batch on the device, and how many patches it aims at."""
        tensors, patches = self._ready.get()
        return DeviceBatch(**{k: v.to(self._device, non_blocking=True) for k, v in tensors.items()}), patches

    def close(self) -> None:
        self._stopping.set()
        for thread in self._threads:
            thread.join()


def invented_corpus(patches: int) -> LatentCorpus:
    """Utterances over `patches` patches that nobody spoke, to warm up with."""
    random, count = np.random.default_rng(0), 64
    lengths = random.integers(20, 60, count)
    return LatentCorpus(
        first_patch=random.integers(0, patches - 60, count),
        num_patches=lengths,
        first_token=np.zeros(count, np.int64),
        num_tokens=lengths,
        voice=np.arange(count) % 4,
        is_sentence=np.ones(count, bool),
        tokens=random.integers(3, 60, 64),
        voices=tuple("abcd"),
    )
