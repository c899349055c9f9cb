"""Adapters that begin their way to a slot when their request is taken, not when it is first computed.

    early = EarlyCopies(bank, scheduler)
    early.begin(sequence)                      # just queued, or resumed: beside the step that is under way
    early.go_on()                              # after a step: requests may have ended, and slots be free

Which adapters are needed is not counted but looked up, so that a request that ends in whatever way needs its
own no longer. One that is paused does not either; when it resumes, its adapter is fetched again.
"""

from __future__ import annotations

import logging

import torch

from engine.device.devices import on_device
from engine.scheduling.scheduler import Scheduler
from engine.sequence import Sequence, SequenceStatus
from models.lora.bank import AdapterBank

logger = logging.getLogger(__name__)


class EarlyCopies:
    """Of the sequences of one scheduler, whose payloads have an `adapter`; all in the engine's thread."""

    def __init__(self, bank: AdapterBank, scheduler: Scheduler) -> None:
        self._bank, self._scheduler = bank, scheduler
        bank.needed = self._needed
        self._left: list[Sequence] = []
        """Whose adapters found no slot, the longest waiting first."""

    @torch.inference_mode()
    def begin(self, sequence: Sequence) -> None:
        """Fetch the adapter of a sequence that waits for its turn, see `AdapterBank.fetch`.

        If that fails, the step that needs it meets the same error, and fails as steps do.
        """
        if len(self._scheduler.running) + len(self._scheduler.waiting) == 1:
            self._bank.begin_anew()
        if not self._fetch(sequence):
            self._left.append(sequence)

    @torch.inference_mode()
    def go_on(self) -> None:
        """Fetch what found no slot before, as far as there are some by now."""
        while self._left:
            first = self._left[0]
            if first.status is SequenceStatus.WAITING and not self._fetch(first):
                return
            self._left.pop(0)

    def _fetch(self, sequence: Sequence) -> bool:
        """False where there is no slot for its adapter."""
        adapter = sequence.payload.adapter
        if adapter is None:
            return True
        try:
            with on_device(self._bank.device):
                return self._bank.fetch(adapter)
        except Exception:
            logger.exception("fetching the adapter of %s failed", sequence.request_id)
            return True

    def _needed(self) -> set[str]:
        sequences = (*self._scheduler.running, *self._scheduler.waiting)
        adapters = (sequence.payload.adapter for sequence in sequences)
        return {adapter.digest for adapter in adapters if adapter is not None}
