"""API keys: given in one tab, refused while a page is open, mistyped."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, Request, Route, expect

from tests.e2e.browser import DESKTOP
from tests.e2e.processes import Server
from tests.e2e.studio import fleet_with_data

KEYS = {"ann": {"key": "ann-secret-0123456789"}, "bob": {"key": "bob-secret-0123456789"}}
TITLES = {name: f"{name.title()} was here." for name in KEYS}
REFUSAL = {"error": {"message": "there is no such API key", "code": "invalid_api_key"}}
AGAIN_MS = 4000


@pytest.fixture(scope="module")
def fleet() -> Iterator[Server]:
    """A gateway with a recording of each client."""
    with fleet_with_data(VOXFLEET_API_KEYS=json.dumps(KEYS), VOXFLEET_ANONYMOUS="false") as edge:
        for name, client in KEYS.items():
            headers = {"x-api-key": client["key"]}
            said = {"text": TITLES[name], "record": True}
            httpx.post(f"{edge.url}/tts", json=said, headers=headers, timeout=60).raise_for_status()
        yield edge


@pytest.fixture
def context(browser: Browser) -> Iterator[BrowserContext]:
    """A browser's window: its tabs share what is remembered. The console tells of each 401."""
    with browser.new_context(viewport=DESKTOP, service_workers="block") as opened:
        yield opened


def give(page: Page, key: str) -> None:
    """A key that is remembered, as the sheet takes it."""
    page.fill("#api-key", key)
    page.check("#api-key-remember")
    page.locator("#key-sheet .button-primary").click()


def test_what_one_tab_remembers_the_others_use_at_once(context: BrowserContext, fleet: Server) -> None:
    one, two = context.new_page(), context.new_page()
    for page in (one, two):
        page.goto(f"{fleet.url}/sessions")
        expect(page.locator("#key-sheet")).to_be_visible()
    give(one, KEYS["ann"]["key"])
    for page in (one, two):
        expect(page.locator("#key-sheet")).to_be_hidden()
        expect(page.locator("#problem")).to_be_hidden()
        expect(page.locator(".session-title-text")).to_have_text(TITLES["ann"])
    one.click("#key")
    give(one, KEYS["bob"]["key"])
    for page in (one, two):
        expect(page.locator(".session-title-text")).to_have_text(TITLES["bob"])


def test_a_tab_with_a_key_of_its_own_keeps_it(context: BrowserContext, fleet: Server) -> None:
    one, two = context.new_page(), context.new_page()
    two.add_init_script(f"sessionStorage.setItem('voxfleet.apiKey', '{KEYS['ann']['key']}')")
    two.goto(f"{fleet.url}/sessions")
    expect(two.locator(".session-title-text")).to_have_text(TITLES["ann"])
    one.goto(f"{fleet.url}/sessions")
    give(one, KEYS["bob"]["key"])
    expect(one.locator(".session-title-text")).to_have_text(TITLES["bob"])
    two.reload()
    expect(two.locator(".session-title-text")).to_have_text(TITLES["ann"])


def test_a_mistyped_key_is_tried_alone_and_the_right_one_takes_the_notice_away(
    context: BrowserContext, fleet: Server
) -> None:
    page = context.new_page()
    wrong: list[str] = []

    def note(request: Request) -> None:
        if request.headers.get("authorization") == "Bearer mistyped":
            wrong.append(request.url)

    page.on("request", note)
    page.goto(fleet.url)
    page.click("#generate")
    expect(page.locator("#error")).to_be_visible()
    give(page, "mistyped")
    expect(page.locator("#key-sheet [role=alert]")).to_have_text("There is no such API key.")
    assert wrong == [f"{fleet.url}/api/jobs?limit=1"]
    give(page, KEYS["ann"]["key"])
    expect(page.locator("#key-sheet")).to_be_hidden()
    expect(page.locator("#error")).to_be_hidden()


def test_a_key_that_is_revoked_is_asked_for_once(context: BrowserContext, fleet: Server) -> None:
    page = context.new_page()
    page.clock.install()
    page.add_init_script(f"sessionStorage.setItem('voxfleet.apiKey', '{KEYS['ann']['key']}')")
    revoked = False

    def answer(route: Route) -> None:
        if revoked:
            route.fulfill(status=401, json=REFUSAL)
            return
        listed = route.fetch().json()
        listed["sessions"][0]["state"] = "active"  # so it is asked for again and again
        route.fulfill(json=listed)

    page.route("**/api/sessions?*", answer)
    page.goto(f"{fleet.url}/sessions")
    expect(page.locator(".session-title-text")).to_have_text(TITLES["ann"])
    revoked = True
    page.clock.run_for(AGAIN_MS)
    sheet, notice = page.locator("#key-sheet"), page.locator("#problem")
    expect(sheet).to_be_visible()
    page.keyboard.press("Escape")
    for _ in range(3):  # each is asked once the one before has been refused
        with page.expect_response("**/api/sessions?*"):
            page.clock.run_for(AGAIN_MS)
    expect(notice).to_contain_text("There is no such API key.")
    assert sheet.is_hidden()
    notice.get_by_role("button", name="Enter a key").click()
    expect(sheet).to_be_visible()
    expect(notice).to_be_visible()
