"""Pages that were opened while the gateway was away: what they lack is there once it is back."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.browser import WatchedPage, watched_page
from tests.e2e.processes import Server
from tests.e2e.studio import fleet_with_data


@pytest.fixture(scope="module")
def fleet() -> Iterator[Server]:
    with fleet_with_data() as edge:
        yield edge


@pytest.fixture(scope="module")
def recorded(fleet: Server) -> str:
    """The id of a recording, beside a book and a long text."""
    with httpx.Client(base_url=fleet.url, timeout=60) as http:
        http.post("/api/books", json={"title": "A book", "blocks": []}).raise_for_status()
        http.post("/api/jobs", json={"text": "Once."}).raise_for_status()
        return http.post("/tts", json={"text": "Once.", "record": True}).headers["x-session-id"]


@pytest.mark.parametrize(
    ("path", "told", "shown"),
    [
        ("/book", "#problem", ".book-link"),
        ("/sessions", "#problem", ".session-row[data-session]"),
        ("/sessions", "#job-problem", ".job-row"),
        ("/sessions/{recorded}", "#problem", "#title h1"),
        ("/train", "#problem", "#unavailable"),
        ("/chat", "#error", "#unserved"),
        ("/docs", ".notice-danger", "#post_tts"),
    ],
)
def test_what_could_not_be_had_is_there_once_the_gateway_is_back(
    watched: WatchedPage, fleet: Server, recorded: str, path: str, told: str, shown: str
) -> None:
    page, away = watched.page, ("**/api/**", "**/ready", "**/openapi.json")
    page.clock.install()
    for pattern in away:
        page.route(pattern, lambda route: route.abort())
    page.goto(fleet.url + path.format(recorded=recorded))
    expect(page.locator(told)).to_be_visible()
    expect(page.locator(".lamp")).to_have_attribute("data-state", "down")
    for pattern in away:
        page.unroute(pattern)
    page.clock.run_for(6_000)
    expect(page.locator(shown).first).to_be_visible()
    expect(page.locator(told)).to_be_hidden()
    watched.complaints.clear()


@pytest.mark.parametrize(
    ("locale", "told", "reload"),
    [("en-GB", "could not be loaded", "Reload the page"), ("zh-CN", "未能完整加载", "重新加载页面")],
)
def test_a_page_whose_script_does_not_come_says_so(
    browser: Browser, fleet: Server, locale: str, told: str, reload: str
) -> None:
    with watched_page(browser, locale=locale) as watched:  # the browser complains of the refused script
        page, script = watched.page, "**/pages/sessions.js"
        page.route(script, lambda route: route.abort())
        page.goto(f"{fleet.url}/sessions")
        expect(page.get_by_role("alert")).to_contain_text(told)
        page.unroute(script)
        page.get_by_role("button", name=reload).click()
        expect(page.locator(".lamp")).to_have_attribute("data-state", "ready")
        expect(page.get_by_role("alert")).to_have_count(0)
