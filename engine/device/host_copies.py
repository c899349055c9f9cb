"""Large tensors of the host on their way to a GPU: one pinned buffer is filled while another travels.

A copy from a mapped file, which is not pinned, is one thread's work in the driver, and nothing travels while
it reads. Here all threads read, and convert where the types differ.

    copies = HostCopies(device)
    copies.copy(target, source)
    copies.finish()
"""

from __future__ import annotations

import torch
from torch import Tensor

from engine.device.devices import on_device

BUFFER_BYTES = 64 << 20


class HostCopies:
    """See the module; to other devices than GPUs a copy is a copy."""

    def __init__(self, device: torch.device | str, buffer_bytes: int = BUFFER_BYTES) -> None:
        self._buffers: list[Tensor] = []
        self._sent: list[torch.cuda.Event] = []
        self._turn = 0
        if torch.device(device).type == "cuda":
            self._buffers = [torch.empty(buffer_bytes, dtype=torch.uint8, pin_memory=True) for _ in range(2)]
            self._sent = [torch.cuda.Event() for _ in self._buffers]

    def copy(self, target: Tensor, source: Tensor) -> None:
        """Copy `source` to `target`, which has the same shape and holds the values after `finish`."""
        travels = bool(self._buffers) and target.is_cuda and not source.is_cuda
        if not travels or not (target.is_contiguous() and source.is_contiguous()):
            target.copy_(source)
            return
        to, of = target.view(-1), source.view(-1)
        room = self._buffers[0].nbytes // to.itemsize
        with on_device(target.device):
            for begin in range(0, len(to), room):
                self._send(to[begin : begin + room], of[begin : begin + room])

    def _send(self, target: Tensor, source: Tensor) -> None:
        self._sent[self._turn].synchronize()
        buffer = self._buffers[self._turn].view(target.dtype)[: len(source)]
        buffer.copy_(source)
        target.copy_(buffer, non_blocking=True)
        self._sent[self._turn].record(torch.cuda.current_stream(target.device))
        self._turn = 1 - self._turn

    def finish(self) -> None:
        """Wait for all that travels."""
        for sent in self._sent:
            sent.synchronize()
