"""A gateway and a synthetic worker for the tests of a module."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.gateway.protocols.deepgram.links import KEY
from tests.gateway.stages.processes import GatewayProcess, started_fleets


@pytest.fixture(scope="module")
def fleet() -> Iterator[GatewayProcess]:
    with started_fleets() as start:
        settings = {"api_keys": json.dumps({"acme": {"key": KEY}}), "anonymous": False}
        settings["live_text_characters"] = 200
        gateway, _ = start(1, slots=4, step_ms=2, gateway=settings)
        yield gateway
        assert not gateway.defects()
