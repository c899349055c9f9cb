"""Parts that a recorded computation has several times: recorded once, and right each time."""

from __future__ import annotations

import pytest
import torch

from engine.device import cuda_graphs
from engine.device.cuda_graphs import GraphRecorder
from engine.device.repeats import records_parts, repeated
from tests.gpu.device import CUDA, DEVICE, needs_gpu

pytestmark = [needs_gpu, pytest.mark.skipif(not CUDA, reason="there are no graphs without CUDA")]
TIMES = 9


class Loop:
    """Steps x = x / 2 + part(x), whose intermediate results take memory within the part and around it."""

    def __init__(self, size: int) -> None:
        self.x, self.result = (torch.zeros(size, device=DEVICE) for _ in range(2))
        self.computed = 0

    def _part(self) -> torch.Tensor:
        self.computed += 1
        squares = self.x.double().square()
        return torch.stack([squares + place for place in range(20)]).sum(0).float().div_(1000)

    def __call__(self) -> None:
        part = repeated(self._part)
        for _ in range(TIMES):
            halves = torch.stack([self.x / 2 for _ in range(20)])
            self.x.copy_(halves.mean(0) + part())
        self.result.copy_(self.x)


@pytest.mark.skipif(not (torch.version.cuda or "").startswith("13."), reason="for torch's builds of CUDA 13")
def test_a_part_is_recorded_once_and_computed_each_time() -> None:
    assert records_parts()
    recorder, loops = GraphRecorder(DEVICE, first=True), [Loop(size) for size in (100_000, 1_000)]
    launches = [recorder.record(loop, loop._part) for loop in loops]
    assert [loop.computed for loop in loops] == [2, 2]  # rehearsed and recorded
    start = torch.linspace(-3, 3, 1_000, device=DEVICE)
    for launch, loop in zip(launches * 2, loops * 2, strict=True):
        loop.x.copy_(start.repeat(len(loop.x) // len(start)))
        launch()
        found = loop.result.clone()
        loop.x.copy_(start.repeat(len(loop.x) // len(start)))
        loop()
        assert torch.equal(found, loop.result)
        assert not torch.equal(found, start.repeat(len(loop.x) // len(start)))
    recorder.forget()


def test_without_bindings_every_part_is_recorded_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_graphs, "records_parts", lambda: False)
    recorder, loop = GraphRecorder(DEVICE), Loop(1_000)
    launch = recorder.record(loop, lambda: None)
    assert loop.computed == TIMES
    loop.x.fill_(1)
    launch()
    found = loop.result.clone()
    loop.x.fill_(1)
    loop()
    assert torch.equal(found, loop.result)
    recorder.forget()
