"""The slots of a worker: how many are used, and by requests that stand still."""

from __future__ import annotations

import asyncio

from worker.gateways.turns import Hold


class Slot:
    """The right to one running request. Released once; releasing again does nothing."""

    def __init__(self, slots: Slots, hold: Hold) -> None:
        self._slots: Slots | None = slots
        self._hold = hold
        self._paused = False

    def set_paused(self, paused: bool) -> None:
        """Say that the request in it stands still, or goes on."""
        if self._slots is not None and paused != self._paused:
            self._paused = paused
            self._slots.paused += 1 if paused else -1

    def release(self) -> None:
        """Give the slot back."""
        self.set_paused(False)
        slots, self._slots = self._slots, None
        if slots is not None:
            slots.take_back()
            self._hold.release()


class Slots:
    """Which slot a gateway may have is for `worker.gateways.turns` to say."""

    def __init__(self) -> None:
        self.used = 0
        self.paused = 0
        self.all_free = asyncio.Event()
        self.all_free.set()

    def use(self, hold: Hold) -> Slot:
        """One more is used, by the request that has `hold`."""
        self.used += 1
        self.all_free.clear()
        return Slot(self, hold)

    def take_back(self) -> None:
        """For `Slot.release`."""
        self.used -= 1
        if self.used == 0:
            self.all_free.set()
