"""Clients of a gateway that records."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.gateway.sessions.clients import Clients, running


@pytest.fixture
async def clients(tmp_path: Path) -> AsyncIterator[Clients]:
    async with running(tmp_path) as started:
        yield started
