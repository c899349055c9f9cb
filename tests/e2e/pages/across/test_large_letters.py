"""The pages where a browser is told to show letters half as large again as usual, or twice as large."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.browser import chromium
from tests.e2e.chats import answer_with as answer_with_text
from tests.e2e.processes import Server
from tests.e2e.trainings import EVERY_STATE, answer_with
from tests.gateway.callers.administration import ADMIN_PAGE

PAGES = ["/", "/live", "/chat", "/book", "/train", "/sessions", ADMIN_PAGE, "/docs"]


@pytest.fixture(scope="module", params=[24, 32])
def size(request: pytest.FixtureRequest) -> int:
    """Pixels of the root's letters, which are 16 elsewhere."""
    return int(request.param)


@pytest.fixture(scope="module")
def browser(size: int) -> Iterator[Browser]:
    with chromium(f"--blink-settings=defaultFontSize={size}", shell=True) as launched:
        yield launched


@pytest.mark.parametrize("width", [360, 800, 1280])
def test_pages_are_no_wider_than_their_window(page: Page, fleet: Server, size: int, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    for path in PAGES:
        page.goto(fleet.url + path)
        expect(page.locator(".lamp")).to_have_attribute("data-state", "ready")
        assert page.evaluate("parseFloat(getComputedStyle(document.documentElement).fontSize)") == size
        assert page.evaluate("document.documentElement.scrollWidth") == width, path


SPILT = """() => [...document.querySelectorAll(
  "button, .button, .segments, summary, dt, dd, output, select, .stacked input"
)]
  .filter((one) => one.checkVisibility() && !one.closest(".samples")) // which scroll sideways
  .filter((one) => {
    const { left, right } = one.getBoundingClientRect();
    const around = one.parentElement.getBoundingClientRect();
    const floats = getComputedStyle(one).position === "fixed";
    const [from, to] = floats ? [0, innerWidth] : [around.left - 16, around.right + 16]; // bleeds, not spills
    const inside = one.matches("input, select") || one.scrollWidth <= one.clientWidth + 1;
    return left < from || right > to || (!inside && getComputedStyle(one).overflowX === "visible");
  })
  .map((one) => `${one.tagName} ${one.id} ${one.className} ${one.textContent.trim().slice(0, 30)}`)"""


def test_nothing_spills_out_of_its_box_on_the_narrowest_window(page: Page, fleet: Server) -> None:
    answer_with_text(page)
    answer_with(page, EVERY_STATE)
    page.set_viewport_size({"width": 320, "height": 640})
    for path in PAGES:
        page.goto(fleet.url + path)
        expect(page.locator(".lamp")).to_have_attribute("data-state", "ready")
        expect(page.locator("main [aria-busy=true]")).to_have_count(0)
        page.evaluate("document.querySelectorAll('details').forEach((fold) => (fold.open = true))")
        assert page.evaluate(SPILT) == [], path
        assert page.evaluate("document.documentElement.scrollWidth") == 320, path


OVERFLOW = "(sheet) => sheet.scrollWidth - sheet.clientWidth"


def test_sheets_are_no_wider_than_themselves(page: Page, fleet: Server) -> None:
    page.set_viewport_size({"width": 360, "height": 800})
    made = httpx.post(f"{fleet.url}/api/books", json={"title": "The Harbour", "blocks": [{"text": "Fog."}]})
    opened_by = {"/": ["#new-voice", "#lexicon"], f"/book/{made.json()['id']}": ["#cast", "#export"]}
    for path, openers in opened_by.items():
        page.goto(fleet.url + path)
        page.evaluate("document.querySelectorAll('details').forEach((fold) => (fold.open = true))")
        for opener in openers:
            page.click(opener)
            assert page.locator("dialog[open]").evaluate(OVERFLOW) <= 0, opener
            page.keyboard.press("Escape")
            expect(page.locator("dialog[open]")).to_have_count(0)


def test_a_window_for_two_columns_has_one_where_letters_are_large(page: Page, fleet: Server) -> None:
    page.set_viewport_size({"width": 1000, "height": 800})
    page.goto(fleet.url)
    expect(page.locator("input[name=voice]").first).to_be_attached()
    text, voices = page.locator("#text").bounding_box(), page.locator("#voices").bounding_box()
    assert text and voices
    assert voices["y"] >= text["y"] + text["height"]
