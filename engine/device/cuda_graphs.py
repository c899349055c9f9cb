"""CUDA graphs: a step recorded once and launched as a whole.

At one stream a step is thousands of small kernels; launched one by one they cost more than they compute. A
graph is recorded for a batch size, so batches are padded to the next size there is:

    sizes = batch_sizes(64)                       # 1, 2, 4, 8, 12, 16, 20, 24, 28, 32, 40, ...
    recorder = GraphRecorder(device)
    replay = recorder.record(compute)             # a function of tensors that stay where they are
    replay()
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from contextlib import nullcontext

import torch

from engine.device.devices import on_device
from engine.device.repeats import Repeats, records_parts

Compute = Callable[[], None]
_STRIDES = ((4, 1), (32, 4), (128, 8), (256, 16))
"""(up to, stride): padding never wastes more than about an eighth of a large batch."""


def batch_sizes(largest: int) -> list[int]:
    """Batch sizes to record, rising, the last one `largest`."""
    sizes, size = [], 1
    while size < largest:
        sizes.append(size)
        stride = next((stride for limit, stride in _STRIDES if size < limit), 32)
        size = (size // stride + 1) * stride
    return [*sizes, largest]


class Recording:
    """What `compute` launches, captured on `stream`; it must have run there before.

    A call launches it on the stream of `device` that is current then. While it is captured, other threads may
    take memory of the device, as one that loads an adapter does.
    """

    def __init__(
        self,
        compute: Compute,
        device: torch.device,
        stream: torch.cuda.Stream,
        pool: tuple[int, int] | None = None,
    ) -> None:
        self._device = device
        with on_device(device):
            self._graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self._graph, pool=pool, stream=stream, capture_error_mode="thread_local"):
                compute()

    def __call__(self) -> None:
        with on_device(self._device):
            self._graph.replay()

    def forget(self) -> None:
        """Free the graph. It must not run any more, nor be called again."""
        with on_device(self._device):
            self._graph.reset()


class GraphRecorder:
    """Records graphs that share one pool of memory; on other devices than CUDA nothing is recorded.

    Graphs of one recorder must not run at the same time, those of two may: each recorder has a stream of its
    own, and with it workspaces of libraries of its own. Record the largest first, so that the others fit into
    its memory.

    Args:
        first: whether its kernels go before those of graphs that are not, wherever both could start. A kernel
            has the priority of the stream it was recorded on.
    """

    def __init__(self, device: torch.device, first: bool = False) -> None:
        gc.collect()  # graphs of engines that are gone would otherwise be freed in the middle of a recording
        self._device = device
        self._recordings: list[Recording] = []
        with on_device(device):
            self._pool = torch.cuda.graph_pool_handle() if device.type == "cuda" else None
        priority = -1 if first else 0
        self._stream = torch.cuda.Stream(device, priority=priority) if device.type == "cuda" else None
        self._repeats: Repeats | None = None
        if device.type == "cuda" and records_parts():
            with on_device(device):
                self._repeats = Repeats(device, priority)

    def record(self, compute: Compute, rehearse: Compute | None = None) -> Compute:
        """What launches all of `compute` at once, on the stream that is current then.

        Args:
            compute: must launch the same kernels whenever it is called.
            rehearse: launches each of them at least once, in the same shapes, and makes all constants; None:
                `compute`.
        """
        if self._stream is None:
            return compute
        with nullcontext() if self._repeats is None else self._repeats.offered():
            self._stream.wait_stream(torch.cuda.current_stream(self._device))
            with torch.cuda.stream(self._stream):
                (rehearse or compute)()  # compiles kernels and lets libraries make their workspaces
            torch.cuda.current_stream(self._device).wait_stream(self._stream)
            self._recordings.append(Recording(compute, self._device, self._stream, self._pool))
        return self._recordings[-1]

    def forget(self) -> None:
        """Free all graphs. What they exchange with other processes cannot be closed before."""
        while self._recordings:
            self._recordings.pop().forget()
        if self._repeats is not None:
            self._repeats.forget()


class Rehearsal(GraphRecorder):
    """Runs what it is given once, on the current stream, and records nothing."""

    def __init__(self, first: bool = False) -> None:
        super().__init__(torch.device("cpu"), first)

    def record(self, compute: Compute, rehearse: Compute | None = None) -> Compute:
        """See `GraphRecorder.record`."""
        (rehearse or compute)()
        return compute
