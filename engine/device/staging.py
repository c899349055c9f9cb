"""What goes to the device and what comes back, beside the kernels, one copy each way.

    staging = Staging(device_tensor)
    host = staging.hosts[staging.take()]     # waits only while an earlier copy still reads it
    host[...] = ...
    staging.send()                           # the tensor changes in order with the kernels

    readback = Readback(device_tensor)
    copy = readback.take(rows)               # of the tensor as it is now, in order with the kernels
    values = copy.wait()
    copy.give_back()                         # another `take` may overwrite `values`

Copies between host and device travel on streams of their own. What a step needs is brought while the step
before it computes, what it yields is fetched while the next one computes; in between both rest in buffers of
the device, which the kernels' stream reads and writes in a few microseconds. Copies of a direction share a
stream as they share the wires. On the CPU a tensor is its own staging.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from engine.device.side_stream import cuda_stream


class Staging:
    """Pinned host copies of a device tensor, used in turn: one is written while another is on its way.

    Args:
        count: of host copies. With one, for a tensor that is written once, the copy is in order with the
            kernels of the current stream, and there is no buffer in between.
    """

    def __init__(self, target: Tensor, count: int = 2) -> None:
        self._target, self._next = target, 0
        self.hosts, self._sent = [target], []
        self._arrivals: list[tuple[Tensor, torch.cuda.Event]] = []
        """Buffers of the device, and when they were read last."""
        if target.is_cuda:
            self.hosts = [_pinned(target) for _ in range(count)]
            self._sent = [torch.cuda.Event() for _ in range(count)]
        if target.is_cuda and count > 1:
            current = torch.cuda.current_stream(target.device)
            self._arrivals = [(torch.empty_like(target), current.record_event()) for _ in range(count)]

    @property
    def last(self) -> np.ndarray:
        """The bytes that were sent last; another copy may overwrite them once it is taken."""
        return _bytes(self.hosts[(self._next - 1) % len(self.hosts)])

    def receive(self, data: bytes) -> None:
        """Send what `last` was on another rank."""
        _bytes(self.hosts[self.take()])[:] = np.frombuffer(data, np.uint8)
        self.send()

    def take(self) -> int:
        """The index of the next host copy, once nothing reads it any more."""
        if self._sent:
            self._sent[self._next].synchronize()
        return self._next

    def send(self) -> None:
        """Copy what was taken to the device."""
        if not self._sent:
            return
        host, sent = self.hosts[self._next], self._sent[self._next]
        if self._arrivals:
            arrival, read = self._arrivals[self._next]
            upward = cuda_stream(self._target.device, "up")
            upward.wait_event(read)
            with torch.cuda.stream(upward):
                arrival.copy_(host, non_blocking=True)
            sent.record(upward)
            current = torch.cuda.current_stream(self._target.device)
            current.wait_event(sent)
            self._target.copy_(arrival)
            read.record(current)
        else:
            self._target.copy_(host, non_blocking=True)
            sent.record(torch.cuda.current_stream(self._target.device))
        self._next = (self._next + 1) % len(self.hosts)


@dataclass(eq=False)
class HostCopy:
    """The first `rows` rows of a tensor as they were at one moment, on their way to the host or there."""

    host: Tensor
    ready: list[HostCopy]
    snapshot: Tensor | None = None
    done: torch.cuda.Event | None = None
    rows: int = 0

    def wait(self) -> np.ndarray:
        """[rows, ...], once they are there; valid until `give_back`."""
        if self.done is not None:
            self.done.synchronize()
        return self.host[: self.rows].numpy()

    def give_back(self) -> None:
        """Nobody needs the values any more."""
        self.ready.append(self)


class Readback:
    """Fetches a tensor of the device time and again. Its buffers are made once, `count` of them at first."""

    def __init__(self, source: Tensor, count: int = 3) -> None:
        self.source = source
        self._ready: list[HostCopy] = []
        self._ready += [self._make() for _ in range(count)]

    def take(self, rows: int) -> HostCopy:
        """The first `rows` rows as the kernels launched so far on the current stream leave them."""
        copy = self._ready.pop() if self._ready else self._make()
        copy.rows = rows
        if copy.snapshot is None or copy.done is None:
            copy.host[:rows].copy_(self.source[:rows])
            return copy
        copy.snapshot[:rows].copy_(self.source[:rows])
        downward = cuda_stream(self.source.device, "down")
        downward.wait_stream(torch.cuda.current_stream(self.source.device))
        with torch.cuda.stream(downward):
            copy.host[:rows].copy_(copy.snapshot[:rows], non_blocking=True)
        copy.done.record(downward)
        return copy

    def _make(self) -> HostCopy:
        if not self.source.is_cuda:
            return HostCopy(torch.empty_like(self.source), self._ready)
        return HostCopy(_pinned(self.source), self._ready, torch.empty_like(self.source), torch.cuda.Event())


def upload(values: np.ndarray, device: torch.device) -> Tensor:
    """A tensor of `values` on `device`, in order with the kernels of the current stream.

    On CUDA the host does not wait: `values` are copied to pinned memory first. A copy from pageable memory
    waits until all that was launched before is done.
    """
    host = torch.tensor(values)
    if device.type != "cuda":
        return host.to(device)
    return host.pin_memory().to(device, non_blocking=True)


def _bytes(host: Tensor) -> np.ndarray:
    return host.numpy().reshape(-1).view(np.uint8)


def _pinned(like: Tensor) -> Tensor:
    return torch.zeros(like.shape, dtype=like.dtype, pin_memory=True)


class Mark:
    """A moment in the order of the kernels: what was launched on the current stream up to here.

    It has no results, and is waited for as what has some.
    """

    def __init__(self, device: torch.device) -> None:
        stream = torch.cuda.current_stream(device) if device.type == "cuda" else None
        self._reached = None if stream is None else stream.record_event()

    def results(self) -> list[Any]:
        """None; waits for the device to be there."""
        if self._reached is not None:
            self._reached.synchronize()
        return []
