"""Requests that wait in a pool, and leave with the test; processes; networks for the watermark."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator

import numpy as np
import pytest

from gateway.audio import perth
from tests.gateway.stages.fleet import Counterpart, one_taken_slot
from tests.gateway.stages.processes import StartFleet, started_fleets


@pytest.fixture
def open_tickets() -> Iterator[contextlib.ExitStack]:
    with contextlib.ExitStack() as stack:
        yield stack


@pytest.fixture
def start() -> Iterator[StartFleet]:
    """`start(2, step_ms=50)`: a gateway and workers of the test's own."""
    with started_fleets() as start_fleet:
        yield start_fleet


@pytest.fixture
async def one_slot() -> AsyncIterator[Counterpart]:
    with one_taken_slot(ageing_seconds=30) as counterpart:
        yield counterpart


@pytest.fixture
def any_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Layers in the form of Perth's encoder that depend on neighbours as it does."""
    generator = np.random.default_rng(0)

    def layer(inputs: int, outputs: int, width: int) -> tuple[np.ndarray, np.ndarray]:
        gain = 0.02 if outputs == perth.BANDS else 1.4  # a decibel or two in the end, as Perth's
        weight = generator.normal(0, gain * (inputs * width) ** -0.5, (inputs * width, outputs))
        return weight.astype(np.float32), np.zeros(outputs, np.float32)

    layers = [layer(perth.BANDS, 16, 1), *(layer(16, 16, 7) for _ in range(5)), layer(16, perth.BANDS, 1)]
    monkeypatch.setattr(perth, "networks", lambda: {"encoder.layers": layers})
