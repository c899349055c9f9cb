"""Adapters that begin their way to a slot when their request is taken, not when it is first computed.

    early = EarlyCopies(bank, scheduler)
    early.begin(sequence)                      # just queued, or resumed: beside the step that is under way

Which adapters are needed is not counted but looked up, so that a request that ends in whatever way needs its
own no longer. One that is paused does not either; when it resumes, its adapter is fetched again.
"""

from __future__ import annotations

import logging

import torch

from engine.device.devices import on_device
from engine.scheduling.scheduler import Scheduler
from engine.sequence import Sequence
from models.lora.bank import AdapterBank

logger = logging.getLogger(__name__)


class EarlyCopies:
    """Of the sequences of one scheduler, whose payloads have an `adapter`; all in the engine's thread."""

    def __init__(self, bank: AdapterBank, scheduler: Scheduler) -> None:
        self._bank, self._scheduler = bank, scheduler
        bank.needed = self._needed

    @torch.inference_mode()
    def begin(self, sequence: Sequence) -> None:
        """Fetch the adapter of a sequence that waits for its turn, see `AdapterBank.fetch`.

        If that fails, the step that needs it meets the same error, and fails as steps do.
        """
        adapter = sequence.payload.adapter
        if adapter is None:
            return
        try:
            with on_device(self._bank.device):
                self._bank.fetch(adapter)
        except Exception:
            logger.exception("fetching the adapter of %s failed", sequence.request_id)

    def _needed(self) -> set[str]:
        sequences = (*self._scheduler.running, *self._scheduler.waiting)
        adapters = (sequence.payload.adapter for sequence in sequences)
        return {adapter.digest for adapter in adapters if adapter is not None}
