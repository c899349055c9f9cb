"""What fails far down a page is told of in view, whatever the place of its notice."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.e2e.browser import PHONE, watched_page
from tests.e2e.processes import Server, eventually
from tests.gateway.callers.administration import ADMIN_PAGE

LOW = {"width": 1000, "height": 400}
BUSY = {"error": {"code": "busy", "message": "busy"}}


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    with watched_page(browser, viewport=LOW) as watched:
        yield watched.page
        assert [text for text in watched.complaints if "409" not in text] == []


def refuse_changes(page: Page, address: str) -> None:
    def answer(route: Route) -> None:
        if route.request.method == "GET":
            route.continue_()
        else:
            route.fulfill(status=409, json=BUSY)

    page.route(address, answer)


def expect_told(page: Page) -> None:
    notice = page.locator("#problem")
    expect(notice).to_contain_text("The gateway is busy")
    expect(notice).to_be_in_viewport(ratio=1)


def make_book(fleet: Server, blocks: int) -> str:
    paragraphs = [{"text": "Fog."}] * blocks
    made = httpx.post(f"{fleet.url}/api/books", json={"title": "The Harbour", "blocks": paragraphs})
    return str(made.raise_for_status().json()["id"])


def test_a_book_that_cannot_be_deleted(page: Page, fleet: Server) -> None:
    for _ in range(6):
        make_book(fleet, 1)
    page.goto(f"{fleet.url}/book")
    refuse_changes(page, "**/api/books/**")
    page.get_by_role("button", name="Delete The Harbour").last.click()
    page.locator("dialog[open]").get_by_role("button", name="Delete").click()
    expect_told(page)


def test_a_paragraph_that_cannot_be_made(page: Page, fleet: Server) -> None:
    """The text stays where it is: the notice is at its foot."""
    book = make_book(fleet, 12)
    page.goto(f"{fleet.url}/book/{book}")
    refuse_changes(page, "**/api/books/**")
    last = page.locator(".block").last
    last.locator("[data-do]").first.click()
    expect_told(page)
    expect(last).to_be_in_viewport()


def test_a_comment_that_cannot_be_kept(page: Page, fleet: Server) -> None:
    said = httpx.post(f"{fleet.url}/tts", json={"text": "Fog.", "record": True}, timeout=60)
    session = said.headers["x-session-id"]
    eventually(lambda: fleet.get_json(f"/api/sessions/{session}"))
    page.set_viewport_size(PHONE)
    page.goto(f"{fleet.url}/sessions/{session}")
    refuse_changes(page, "**/api/sessions/**")
    page.fill("#comment-box", "The pace is what we want.")
    page.get_by_role("button", name="Save").click()
    expect_told(page)


def test_a_worker_that_cannot_be_drained(page: Page, fleet: Server) -> None:
    page.goto(fleet.url + ADMIN_PAGE)
    refuse_changes(page, "**/api/workers/**")
    page.get_by_role("button", name="Drain w0").click()
    page.locator("dialog[open]").get_by_role("button", name="Drain").click()
    expect_told(page)
