"""Alerts hear of a database that takes nothing, and that it is back."""

from __future__ import annotations

from pathlib import Path

from gateway.service import Gateway
from tests.gateway.jobs.stage import running


async def told(gateway: Gateway) -> float | None:
    """After the gateway has written, as it does every ten seconds."""
    await gateway.operations.history.write()
    return gateway.metrics.registry.get_sample_value("voxfleet_database_up")


async def test_a_database_that_takes_nothing_is_told_until_it_is_back(tmp_path: Path) -> None:
    async with running(tmp_path, working=False) as service:
        gateway = service.gateway
        assert await told(gateway) == 1
        await gateway.database.close()
        assert await told(gateway) == 0
        await gateway.database.open()
        assert await told(gateway) == 1
