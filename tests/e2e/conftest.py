"""Fixtures of the end-to-end tests: a browser, a page that must not complain, a fast and a slow fleet.

The browser lives for one module: playwright's synchronous interface keeps an event loop of its own, which
must be gone before a module with asynchronous tests runs.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.e2e.browser import DESKTOP, WatchedPage, chromium, watched_page
from tests.e2e.processes import Server, end_requests, eventually, gateway, worker
from tests.gateway.stages.processes import StartFleet, started_fleets


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium(shell=True) as launched:
        yield launched


@pytest.fixture
def start() -> Iterator[StartFleet]:
    """`start(2, step_ms=50)`: a gateway and workers of the test's own."""
    with started_fleets() as start_fleet:
        yield start_fleet


@pytest.fixture(scope="module")
def fleet() -> Iterator[Server]:
    """A gateway with one fast worker of two slots."""
    with worker(slots=2, step_ms=10) as one, gateway([one.url]) as edge:
        yield edge


@pytest.fixture(scope="module")
def one_slow_slot() -> Iterator[Server]:
    with worker(slots=1, step_ms=60) as one, gateway([one.url]) as edge:
        yield edge


@pytest.fixture
def slow_fleet(one_slow_slot: Server) -> Server:
    """A gateway whose one slot a paragraph occupies for several seconds; no other test's request is left."""
    eventually(lambda: end_requests(one_slow_slot))
    return one_slow_slot


@pytest.fixture
def watched(browser: Browser) -> Iterator[WatchedPage]:
    """A page; that it complains of nothing is part of every test."""
    with watched_page(browser, viewport=DESKTOP, accept_downloads=True) as opened:
        yield opened
        assert opened.complaints == []


@pytest.fixture
def page(watched: WatchedPage) -> Page:
    return watched.page
