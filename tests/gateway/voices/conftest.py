"""A gateway with a synthetic worker, and two clients who make voices."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.gateway.callers.owners import API_KEYS, owner
from tests.gateway.stages.processes import GatewayProcess, started_fleets
from tests.gateway.voices.uploads import ADMIN


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="module")
def gateway(data_dir: Path) -> Iterator[GatewayProcess]:
    with started_fleets() as start:
        settings = {
            "api_keys": API_KEYS,
            "admin_token": ADMIN,
            "data_dir": data_dir,
            "max_voices_per_owner": 5,
            "max_voice_bytes": 2 << 20,
        }
        running, _ = start(1, step_ms=1, gateway=settings)
        yield running
        assert not running.defects()


@pytest.fixture
def ann(gateway: GatewayProcess) -> Iterator[httpx.Client]:
    with owner(gateway, "ann", "voices") as opened:
        yield opened


@pytest.fixture
def bob(gateway: GatewayProcess) -> Iterator[httpx.Client]:
    with owner(gateway, "bob", "voices") as opened:
        yield opened
