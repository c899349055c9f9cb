"""A part of a recording that stands in it several times, and is recorded once.

The solver of a patch launches the same hundred kernels nine times, and recording them takes the host as long
as launching them. So what is repeated becomes a graph of its own. Each time that graph is put into the one
that is recorded, as a child:

    velocity = repeated(lambda: network(tokens))
    for size in sizes:
        tokens.sub_(velocity(), alpha=size)

Where nothing is recorded, `velocity()` computes it anew.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

import torch
from torch import Tensor

from engine.device.bindings import are_known, given, runtime

Part = Callable[[], Tensor]
_PER_CAPTURE = "thread_local"


class Repeats:
    """Records parts for the graphs of one `GraphRecorder`.

    They have a stream and a pool of memory of their own. A part computes between what stands before and after
    it in the graph around it, so its intermediate results must not lie where that graph keeps its own.

    Args:
        priority: of the stream that the graphs are recorded on.
    """

    def __init__(self, device: torch.device, priority: int) -> None:
        self._stream = torch.cuda.Stream(device, priority=priority)
        self._pool = torch.cuda.graph_pool_handle()
        self._parts: list[torch.cuda.CUDAGraph] = []
        """They keep the pool, which the graphs around them go on using."""

    @contextmanager
    def offered(self) -> Iterator[None]:
        """Within, `repeated` records by this."""
        token = _offered.set(self)
        try:
            yield
        finally:
            _offered.reset(token)

    def of(self, compute: Part) -> Part:
        """See `repeated`."""
        if not torch.cuda.is_current_stream_capturing():
            return lambda: self._rehearsed(compute)
        graph = torch.cuda.CUDAGraph(keep_graph=True)
        with torch.cuda.stream(self._stream):
            graph.capture_begin(pool=self._pool, capture_error_mode=_PER_CAPTURE)
            try:
                result = compute()
            finally:
                graph.capture_end()
        self._parts.append(graph)

        def launch() -> Tensor:
            add_child(graph, self._stream.device)
            return result

        return launch

    def _rehearsed(self, compute: Part) -> Tensor:
        """Computed on the stream of parts: libraries make their workspaces when a stream is first used, and
        they must not do so in a recording."""
        current = torch.cuda.current_stream(self._stream.device)
        self._stream.wait_stream(current)
        with torch.cuda.stream(self._stream):
            result = compute()
        current.wait_stream(self._stream)
        result.record_stream(current)
        return result

    def forget(self) -> None:
        """Free the parts, once the graphs around them are."""
        while self._parts:
            self._parts.pop().reset()


_offered: ContextVar[Repeats | None] = ContextVar("offered", default=None)


def repeated(compute: Part) -> Part:
    """What may be called several times in place of `compute`; each call gives the result in the same memory.

    `compute` must launch the same kernels with the same arguments each time.
    """
    repeats = _offered.get()
    return compute if repeats is None else repeats.of(compute)


def records_parts() -> bool:
    """Whether graphs can be put into others here."""
    return are_known()


def add_child(graph: torch.cuda.CUDAGraph, device: torch.device) -> None:
    """Put a graph into the one that is captured on the current stream of `device`, behind what is captured.

    Raises RuntimeError where CUDA refuses.
    """
    stream = torch.cuda.current_stream(device).cuda_stream
    _, _, around, before, _, count = given(runtime.cudaStreamGetCaptureInfo(stream))
    (child,) = given(runtime.cudaGraphAddChildGraphNode(around, before, count, graph.raw_cuda_graph()))
    behind = runtime.cudaStreamUpdateCaptureDependenciesFlags.cudaStreamSetCaptureDependencies
    given(runtime.cudaStreamUpdateCaptureDependencies(stream, [child], None, 1, behind))
