"""Real gateways on the loopback."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.gateway.stages.processes import GatewayProcess, StartFleet, started_fleets
from tests.security.raw import NOWHERE


@pytest.fixture
def start() -> Iterator[StartFleet]:
    with started_fleets() as start_fleet:
        yield start_fleet


@pytest.fixture(scope="module")
def lonely() -> Iterator[GatewayProcess]:
    """A gateway whose worker is not there: enough for whatever never reaches one."""
    with started_fleets() as start_fleet:
        yield start_fleet.gateway(NOWHERE)
