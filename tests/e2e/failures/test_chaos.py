"""A short run of the chaos benchmark with a fixed seed: whatever is done to the fleet, no clip suffers."""

from __future__ import annotations

import pytest

from benchmarks.chaos.faults import SCENARIOS, Size
from benchmarks.shared import fleet
from tests import forks


@pytest.fixture(autouse=True)
def _forks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet, "start", forks.start_for_benchmarks)


SHORT = {
    "kill": Size(60, clients=12, fault_every_seconds=1.5),
    "stop": Size(40, clients=12, fault_every_seconds=2.5, pause_seconds=1.5),
    "refuse": Size(60),
    "network": Size(60, clients=12, fault_every_seconds=0.7),
    "rolling": Size(60, clients=12),
    "gateways": Size(60, clients=12, fault_every_seconds=1.5),
}


@pytest.mark.parametrize("name", SHORT)
async def test_nothing_is_lost_and_every_byte_is_right(name: str) -> None:
    scenario, _ = SCENARIOS[name]
    result = await scenario(SHORT[name], seed=3)
    assert (result["lost"], result["wrong"], result["errors"]) == (0, 0, {}), result
    assert result["requests"] == SHORT[name].requests
    if name in ("kill", "stop", "network"):
        assert result["migrations"] > 0, result
    if name == "gateways":
        assert result["resumed"] > 0, result


async def test_a_lost_device_ends_its_worker_and_no_clip() -> None:
    """With the real engine, on a CPU that is told to be lost; `tests/gpu` loses a GPU."""
    scenario, _ = SCENARIOS["lost"]
    result = await scenario(Size(1), seed=3)
    assert (result["migrations"], result["exit_statuses"]) == (1, [1])
    assert result["same_length"]
    assert result["latents_max_relative_difference"] < 1e-3


async def test_the_bundled_voice_goes_on_as_if_nothing_had_happened() -> None:
    scenario, _ = SCENARIOS["bundled"]
    result = await scenario(Size(1), seed=3)
    assert result["migrations"] == 1
    assert result["same_length"]
    assert result["latents_max_relative_difference"] < 1e-3
    assert result["seam_jump_over_percentile_99_9"] <= 1.0
