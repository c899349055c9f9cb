"""Work of the device beside the current stream, and how it gets its inputs.

    side = SideStream(device, "audio")
    handed = HandOver(tensor, side)
    produce(tensor)                          # on the current stream
    handed.send(rows)                        # from here on the current stream may write the tensor again
    with side.on():
        consume(handed.target[:rows])

Neither stream waits for the other, except that what is handed over is not consumed before it is there, and
that the current stream waits before it would write what is not consumed yet. The host never waits. On other
devices than CUDA everything runs in turn, and a tensor is its own hand-over.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import torch
from torch import Tensor

_MOST_HANDED_OVER = 2
"""Values that are on their way before the current stream waits."""


class SideStream:
    """Streams of one name and device are the same. priority: as of `torch.cuda.Stream`."""

    def __init__(self, device: torch.device, name: str, priority: int = 0) -> None:
        self._stream = cuda_stream(device, name, priority) if device.type == "cuda" else None

    @contextmanager
    def on(self) -> Iterator[None]:
        """What is launched within runs beside the stream that is current outside.

        Memory that is allocated within belongs to this stream: when it is given back, it is used again in
        order with this stream.
        """
        if self._stream is None:
            yield
            return
        with torch.cuda.stream(self._stream):
            yield

    def follow(self) -> None:
        """What is launched here from now on waits for what was launched on the current stream."""
        if self._stream is not None:
            self._stream.wait_stream(torch.cuda.current_stream(self._stream.device))

    def join(self, *tensors: Tensor) -> None:
        """What is launched on the current stream from now on waits for what was launched here.

        tensors: allocated here, and about to be read there.
        """
        if self._stream is not None:
            current = torch.cuda.current_stream(self._stream.device)
            current.wait_stream(self._stream)
            for tensor in tensors:
                tensor.record_stream(current)

    def hand_over(self, source: Tensor, buffer: Tensor, target: Tensor, read: torch.cuda.Event) -> None:
        """source -> buffer on the current stream, once `read` is past, then buffer -> target here."""
        assert self._stream is not None
        current = torch.cuda.current_stream(self._stream.device)
        current.wait_event(read)
        buffer.copy_(source)
        self._stream.wait_stream(current)
        with torch.cuda.stream(self._stream):
            target.copy_(buffer)
        read.record(self._stream)

    def moment(self) -> Moment:
        """The moment after all that was launched here up to now."""
        return Moment(self._stream)

    def outside(self) -> Moment:
        """The moment after all that was launched on the current stream up to now."""
        return Moment(None if self._stream is None else torch.cuda.current_stream(self._stream.device))

    def borrow(self, tensor: Tensor) -> None:
        """A tensor of the current stream is read here; its memory is not used again before that is done."""
        if self._stream is not None:
            tensor.record_stream(self._stream)


class Moment:
    """A point in the order of a stream; without a stream all is past that was called."""

    def __init__(self, stream: torch.cuda.Stream | None) -> None:
        self._event = None
        if stream is not None:
            self._event = torch.cuda.Event(enable_timing=True)
            self._event.record(stream)
            self._device = stream.device

    def past(self) -> bool:
        """Whether the device is there."""
        return self._event is None or self._event.query()

    def wait(self) -> None:
        """Until the device is there."""
        if self._event is not None:
            self._event.synchronize()

    def hold_up(self) -> None:
        """What is launched on the current stream from now on waits for it."""
        if self._event is not None:
            torch.cuda.current_stream(self._device).wait_event(self._event)

    def seconds_since(self, earlier: Moment) -> float:
        """Between two moments that are past, by the device's clock; 0 without a stream."""
        if self._event is None or earlier._event is None:
            return 0.0
        return earlier._event.elapsed_time(self._event) / 1000


class HandOver:
    """`source` [rows, ...] as it was when it was sent, for a side stream to read in `target`."""

    def __init__(self, source: Tensor, side: SideStream) -> None:
        self.source, self.target = source, source
        self._side, self._next = side, 0
        self._buffers: list[tuple[Tensor, torch.cuda.Event]] = []
        """Each with the moment it was read last."""
        if source.is_cuda:
            side.follow()
            with side.on():
                self.target = source.clone()
            side.borrow(source)
            self._buffers = [(torch.empty_like(source), torch.cuda.Event()) for _ in range(_MOST_HANDED_OVER)]
            for buffer, _ in self._buffers:
                side.borrow(buffer)

    def send(self, rows: int) -> None:
        """The first `rows` rows."""
        if not self._buffers:
            return
        buffer, read = self._buffers[self._next]
        self._side.hand_over(self.source[:rows], buffer[:rows], self.target[:rows], read)
        self._next = (self._next + 1) % len(self._buffers)


@cache
def cuda_stream(device: torch.device, name: str, priority: int = 0) -> torch.cuda.Stream:
    """The stream of this name; the device has few, so whoever does the same kind of work shares one."""
    return torch.cuda.Stream(device, priority=priority)
