"""What is repeated is computed each time where nothing is recorded."""

from __future__ import annotations

import torch

from engine.device.cuda_graphs import GraphRecorder
from engine.device.repeats import repeated


def test_nothing_is_recorded_where_nobody_records() -> None:
    value = torch.zeros(1)
    add = repeated(lambda: value.add_(1))
    add()
    add()
    assert value.item() == 2


def test_a_device_without_graphs_computes_each_time() -> None:
    value = torch.zeros(1)

    def compute() -> None:
        add = repeated(lambda: value.add_(1))
        add()
        add()

    launch = GraphRecorder(torch.device("cpu")).record(compute)
    launch()
    assert value.item() == 2
