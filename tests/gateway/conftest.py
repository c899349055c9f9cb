"""Requests that wait in a pool, and leave with the test."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest


@pytest.fixture
def open_tickets() -> Iterator[contextlib.ExitStack]:
    with contextlib.ExitStack() as stack:
        yield stack
