"""How long kernels take, as they run in production: in a CUDA graph, or launched one after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import torch

from engine.attention.measure import captured, cuda_seconds
from engine.kernels import launch

CUDA = torch.device("cuda")


def seconds(run: Callable[[], Any], repeats: int = 7, runs: int = 6, device: torch.device = CUDA) -> float:
    """Of one run within a CUDA graph: the median of `repeats` times over so many `runs`."""
    return cuda_seconds(captured(run, device), device, repeats, runs)


def launched_plainly() -> Any:
    """Without programmatic dependent launch, for as long as the block lasts."""
    return mock.patch.object(launch, "pdl", lambda device: False)
