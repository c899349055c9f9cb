"""Filling a device tensor from the host, step after step, with one copy each.

    staging = Staging(device_tensor)
    host = staging.hosts[staging.take()]     # waits only while an earlier copy still reads it
    host[...] = ...
    staging.send()                           # in order with the kernels of the current stream

On the CPU the device tensor is its own host copy, and nothing is copied.
"""

from __future__ import annotations

import torch
from torch import Tensor


class Staging:
    """Pinned host copies of a device tensor, used in turn: one is written while another is on its way."""

    def __init__(self, target: Tensor, count: int = 2) -> None:
        self._target, self._next = target, 0
        self.hosts, self._sent = [target], []
        if target.is_cuda:
            self.hosts = [
                torch.zeros(target.shape, dtype=target.dtype, pin_memory=True) for _ in range(count)
            ]
            self._sent = [torch.cuda.Event() for _ in range(count)]

    def take(self) -> int:
        """The index of the next host copy, once nothing reads it any more."""
        if self._sent:
            self._sent[self._next].synchronize()
        return self._next

    def send(self) -> None:
        """Copy what was taken to the device."""
        if self._sent:
            self._target.copy_(self.hosts[self._next], non_blocking=True)
            self._sent[self._next].record()
            self._next = (self._next + 1) % len(self.hosts)
