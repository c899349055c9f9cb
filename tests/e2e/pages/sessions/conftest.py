"""A recording to look at."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest

from tests.e2e.pages.sessions.recordings import SENTENCE, record
from tests.e2e.processes import Server


@pytest.fixture
def recorded(fleet: Server) -> Iterator[str]:
    """A recording of one sentence, gone afterwards."""
    session_id = record(fleet, SENTENCE)
    yield session_id
    httpx.delete(f"{fleet.url}/api/sessions/{session_id}")
