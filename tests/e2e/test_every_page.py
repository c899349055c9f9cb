"""What holds for every page: it fits, it complains of nothing, it is themed, named and strict."""

from __future__ import annotations

import re

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.browser import DESKTOP, PHONE, watched_page
from tests.e2e.processes import Server
from tests.gateway.administration import ADMIN_PAGE

PAGES = ["/", "/live", "/sessions", ADMIN_PAGE]
SIZES = {"desktop": DESKTOP, "phone": PHONE}


def test_the_policy_stops_inline_script_and_the_watch_notices(browser: Browser, fleet: Server) -> None:
    with watched_page(browser) as watched:
        watched.page.goto(fleet.url)
        watched.page.evaluate(_ADD_INLINE_SCRIPT)
        assert watched.page.title() == "VoxFleet Studio"
        assert any("policy violated: script-src" in complaint for complaint in watched.complaints)


_ADD_INLINE_SCRIPT = """() => {
  const script = document.createElement("script");
  script.textContent = "document.title = 'owned'";
  document.body.append(script);
}"""


@pytest.mark.parametrize("path", PAGES)
class TestEveryPage:
    @pytest.mark.parametrize("size", SIZES)
    @pytest.mark.parametrize("theme", ["light", "dark"])
    def test_fits_its_window_and_complains_of_nothing(
        self, browser: Browser, fleet: Server, path: str, size: str, theme: str
    ) -> None:
        with watched_page(browser, viewport=SIZES[size], color_scheme=theme) as watched:
            watched.page.goto(fleet.url + path)
            expect(watched.page.locator(".lamp")).to_have_attribute("data-state", "ready")
            watched.page.wait_for_load_state("load")
            assert watched.page.evaluate("document.documentElement.scrollWidth") <= SIZES[size]["width"]
            assert watched.complaints == []

    def test_the_policy_allows_nothing_inline_and_nothing_from_elsewhere(
        self, fleet: Server, path: str
    ) -> None:
        response = httpx.get(fleet.url + path)
        policy = response.headers["content-security-policy"]
        assert "default-src 'self'" in policy
        assert "unsafe" not in policy
        assert not re.search(r"<style|\bstyle=|\bon\w+=|<script>|https?://", response.text)

    def test_the_chosen_theme_is_there_after_a_reload(self, page: Page, fleet: Server, path: str) -> None:
        page.emulate_media(color_scheme="light")
        page.goto(fleet.url + path)
        page.get_by_role("button", name="Switch to dark").click()
        background = "getComputedStyle(document.body).backgroundColor"
        dark = page.evaluate(background)
        page.reload()
        assert page.evaluate(background) == dark
        page.get_by_role("button", name="Switch to light").click()
        assert page.evaluate(background) != dark

    def test_every_control_has_a_name_and_shows_its_focus(self, page: Page, fleet: Server, path: str) -> None:
        page.goto(fleet.url + path)
        expect(page.locator(".lamp")).to_have_attribute("data-state", "ready")
        for _ in range(25):
            page.keyboard.press("Tab")
            focused = page.evaluate(_FOCUSED)
            if focused is None:
                break
            assert focused["name"], focused
            assert focused["visible"], focused


_FOCUSED = """() => {
  const element = document.activeElement;
  if (!element || element === document.body) return null;
  const label = element.labels?.[0]?.textContent;
  const name = element.getAttribute("aria-label") || label || element.textContent.trim();
  const rings = [element, element.closest(".voice-card"), element.closest(".desk")].filter(Boolean);
  const outlined = rings.some((ring) => {
    const style = getComputedStyle(ring);
    return style.outlineStyle !== "none" || (ring.matches(".desk") && style.boxShadow !== "none");
  });
  return { tag: element.tagName, id: element.id, name: (name || "").trim(), visible: outlined };
}"""
