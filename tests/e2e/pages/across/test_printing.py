"""Books, recordings and the pages of the API on paper: what is written, in dark letters, nothing to press."""

from __future__ import annotations

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.browser import DESKTOP, watched_page
from tests.e2e.processes import Server

_PRESSED = "a, button, input, select, summary:not(.op-head)"
_LIGHTNESS = """(element) => {
  const canvas = new OffscreenCanvas(1, 1).getContext("2d");
  canvas.fillStyle = getComputedStyle(element).color;
  canvas.fillRect(0, 0, 1, 1);
  return Math.max(...canvas.getImageData(0, 0, 1, 1).data.slice(0, 3));
}"""


def seen(page: Page, selector: str) -> list[str]:
    """What of it would be printed."""
    return [
        each.evaluate("(one) => one.outerHTML") for each in page.locator(selector).all() if each.is_visible()
    ]


@pytest.fixture
def book(fleet: Server) -> str:
    blocks = [{"kind": "chapter", "text": "One"}, *[{"kind": "paragraph", "text": "A walk."}] * 60]
    made = httpx.post(f"{fleet.url}/api/books", json={"title": "The Walk", "blocks": blocks}, timeout=60)
    return str(made.raise_for_status().json()["id"])


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_book_is_its_title_and_its_text(browser: Browser, fleet: Server, book: str, theme: str) -> None:
    with watched_page(browser, viewport=DESKTOP) as watched:
        page = watched.page
        page.add_init_script(f"localStorage.setItem('voxfleet.theme', '{theme}')")
        page.goto(f"{fleet.url}/book/{book}")
        expect(page.locator(".block")).to_have_count(61)
        page.get_by_role("button", name="Voice, pause and takes: One").click()
        page.get_by_role("checkbox", name="Select: One").check()
        page.emulate_media(media="print")
        expect(page.get_by_role("heading", name="The Walk")).to_be_in_viewport(ratio=1)
        text = page.locator(".block-text").last
        assert text.inner_text() == "A walk."
        assert text.evaluate(_LIGHTNESS) < 80
        assert seen(page, _PRESSED) == []
        assert seen(page, ".block-foot, .block-tools, .bulk, .lamp") == []
        assert watched.complaints == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_recorded_session_is_all_that_was_said(browser: Browser, fleet: Server, theme: str) -> None:
    said = {"text": "\n\n".join(["The fog lifted a little after six."] * 30), "record": True}
    recorded = httpx.post(f"{fleet.url}/tts", json=said, timeout=60).headers["x-session-id"]
    with watched_page(browser, viewport=DESKTOP, color_scheme=theme) as watched:
        page = watched.page
        page.goto(f"{fleet.url}/sessions/{recorded}")
        words = page.locator("#transcript .word")
        expect(words).to_have_count(30 * 7)
        page.emulate_media(media="print")
        assert page.locator("#transcript").evaluate("(box) => box.scrollHeight <= box.clientHeight")
        assert words.last.evaluate(_LIGHTNESS) < 80
        assert seen(page, ".lane, #transport, #word-files, #back, #comment-section, .button") == []
        expect(page.locator("#timeline")).to_be_visible()
        assert watched.complaints == []


def test_a_route_that_is_open_is_there_with_its_example(browser: Browser, fleet: Server) -> None:
    with watched_page(browser, viewport=DESKTOP, color_scheme="dark") as watched:
        page = watched.page
        page.goto(f"{fleet.url}/docs#post_tts")
        code = page.locator("#post_tts .code").first
        expect(code).to_be_visible()
        page.emulate_media(media="print")
        expect(code).to_be_visible()
        assert code.locator("pre").evaluate(_LIGHTNESS) < 80
        assert seen(page, ".nav, .docs-side, .docs-search, .try, .button") == []
        expect(page.locator("#post_tts .tab:visible")).to_have_count(page.locator("#post_tts .tabs").count())
        assert watched.complaints == []
