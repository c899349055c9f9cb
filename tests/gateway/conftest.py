"""Requests that wait in a pool, and leave with the test."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator

import pytest

from tests.gateway.fleet import Counterpart, Fleet, check_queue


@pytest.fixture
def open_tickets() -> Iterator[contextlib.ExitStack]:
    with contextlib.ExitStack() as stack:
        yield stack


@pytest.fixture
async def one_slot() -> AsyncIterator[Counterpart]:
    counterpart = Counterpart(Fleet(1, ageing_seconds=30))
    counterpart.admit("x")
    yield counterpart
    for stack in counterpart.admissions.values():
        stack.close()
    check_queue(counterpart.fleet.pool.queue)
