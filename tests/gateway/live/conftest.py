"""A live session without sockets and workers."""

from __future__ import annotations

import pytest

from tests.gateway.live.stage import Stage


@pytest.fixture
def stage() -> Stage:
    return Stage()
