"""One adapter on the devices of a pool, for as long as anybody in this process has to do with it."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol


class Holder(Protocol):
    """A device that keeps adapters, whatever their names mean by then."""

    lost: bool

    def forget_adapter(self, key: int) -> None:
        """Nobody will ask for it any more; never waits."""


class PooledAdapter:
    """See the module; the devices forget it where this is held no more.

    Attributes:
        key: what they know it by.
        devices: that have it, and those that did until they were lost.
    """

    def __init__(self, key: int, directory: Path, devices: Sequence[Holder]) -> None:
        self.key, self.directory, self.devices = key, str(directory.absolute()), list(devices)
        weakref.finalize(self, _forget, key, self.devices).atexit = False

    def join(self, device: Holder) -> None:
        """A device has it from now on."""
        self.devices[:] = [*(found for found in self.devices if not found.lost), device]


def _forget(key: int, devices: list[Holder]) -> None:
    for device in devices:
        device.forget_adapter(key)
