"""What the tests of making voices share: the sheet opened, a voice made from a file, requests held back."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from playwright.sync_api import Page, Route, expect

from tests.e2e.processes import Server


def names(edge: Server) -> list[str]:
    return [voice["name"] for voice in edge.get_json("/api/voices")["voices"]]


def open_sheet(page: Page, edge: Server) -> None:
    page.goto(edge.url)
    page.click("#new-voice")
    expect(page.locator("#consent-statement")).not_to_be_empty()


def make_from_file(page: Page, edge: Server, recording: Path, name: str) -> None:
    open_sheet(page, edge)
    page.set_input_files("#voice-file", recording)
    page.fill("#voice-name", name)
    page.click("#voice-save")


@contextlib.contextmanager
def held(page: Page, pattern: str) -> Iterator[None]:
    """Requests are not sent before the end of the block."""
    routes: list[Route] = []
    keep: Callable[[Route], None] = routes.append

    def on_request(route: Route) -> None:
        keep(route)

    page.route(pattern, on_request)
    yield
    keep = Route.continue_
    for route in routes:
        route.continue_()
