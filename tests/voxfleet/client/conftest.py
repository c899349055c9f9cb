"""A gateway that serves alice, and her client."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.gateway.stages.processes import GatewayProcess, started_fleets
from tests.voxfleet.client.alice import KEY, serves_alice
from voxfleet.client import Client


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    """She may have two requests at once."""
    settings = serves_alice(tmp_path_factory.mktemp("data"), max_streams=2)
    with started_fleets() as start:
        edge, _ = start(1, slots=2, step_ms=5, gateway=settings)
        yield edge


@pytest.fixture
def client(gateway: GatewayProcess) -> Iterator[Client]:
    with Client(gateway.url, api_key=KEY) as opened:
        yield opened
