"""A gateway and a synthetic worker for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.gateway.protocols.deepgram.links import KEY
from tests.gateway.stages.processes import GatewayProcess, fleet_for


@pytest.fixture(scope="module")
def fleet() -> Iterator[GatewayProcess]:
    with fleet_for(KEY, live_text_characters=200) as gateway:
        yield gateway
