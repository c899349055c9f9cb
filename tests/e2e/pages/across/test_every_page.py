"""What holds for every page: it fits, it complains of nothing, it is themed, named and strict."""

from __future__ import annotations

import re

import httpx
import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.e2e.browser import DESKTOP, PHONE, watched_page
from tests.e2e.chats import answer_with
from tests.e2e.pages.sessions.recordings import record
from tests.e2e.processes import Server, eventually
from tests.gateway.callers.administration import ADMIN_PAGE

PAGES = ["/", "/live", "/chat", "/book", "/train", "/sessions", ADMIN_PAGE, "/docs", "/docs/livekit"]
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


def test_the_bar_fits_every_width_and_every_bare_icon_has_a_tooltip(page: Page, fleet: Server) -> None:
    page.goto(fleet.url)
    expect(page.locator(".lamp")).to_have_text("Ready")
    for width in (320, 390, 414, 430, 440, 600, 641, 700, 750, 781, 860, 906, 1024):
        page.set_viewport_size({"width": width, "height": 700})
        overflow = page.evaluate("document.getElementById('nav').scrollWidth - document.body.clientWidth")
        assert overflow <= 0, width
        assert page.locator(".lamp span").is_visible(), width
        tops = page.locator(".nav-pages a:visible").evaluate_all("(all) => all.map((one) => one.offsetTop)")
        assert len(set(tops)) == 1, (width, tops)
    assert page.locator("button.button-icon:not([title]), button.button-play:not([title])").count() == 0


def test_the_bar_has_room_for_a_worker_that_loads_and_every_page(page: Page, fleet: Server) -> None:
    answer_with(page)
    page.goto(f"{fleet.url}/chat")
    expect(page.locator(".nav-pages a:visible")).to_have_count(7)
    expect(page.locator(".lamp")).to_have_text("Ready")
    page.evaluate("document.querySelector('.lamp span').textContent = 'Loading: warm-up, 95 %'")
    for width in (320, 366, 901, 940, 1025, 1060):
        page.set_viewport_size({"width": width, "height": 700})
        assert page.evaluate("document.documentElement.scrollWidth") == width, width
        tops = page.locator(".nav-pages a:visible").evaluate_all("(all) => all.map((one) => one.offsetTop)")
        assert len(set(tops)) == 1, (width, tops)


@pytest.mark.parametrize("width", [360, 390, 700])
def test_the_bar_is_as_high_whatever_the_lamp_says(page: Page, fleet: Server, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 700})
    page.goto(fleet.url)
    expect(page.locator(".lamp")).to_have_text("Ready")
    height = page.locator("#nav").bounding_box()["height"]  # type: ignore[index]
    for words in ("No connection", "Loading: warm-up, 95 %"):
        page.evaluate("(words) => (document.querySelector('.lamp span').textContent = words)", words)
        assert page.locator("#nav").bounding_box()["height"] == height, words  # type: ignore[index]


def test_a_window_is_named_in_the_page_s_language(browser: Browser, fleet: Server) -> None:
    with watched_page(browser, locale="zh-CN") as watched:
        for path in PAGES:
            watched.page.goto(fleet.url + path)
            expect(watched.page).to_have_title(re.compile(r"^VoxFleet [\u4e00-\u9fff]+$"))
        watched.page.locator("#language").click()
        expect(watched.page).to_have_title("VoxFleet API")


def test_an_unknown_address_is_a_page_that_leads_home(browser: Browser, fleet: Server) -> None:
    with watched_page(browser) as watched:  # the browser complains of the 404
        watched.page.goto(f"{fleet.url}/no/such/page")
        expect(watched.page.get_by_role("heading", name="There is no such page")).to_be_visible()
        expect(watched.page.locator(".lamp")).to_have_text("Ready")
        watched.page.get_by_role("link", name="Go to the studio").click()
        expect(watched.page).to_have_url(f"{fleet.url}/")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_what_is_chosen_can_be_read(page: Page, fleet: Server, theme: str) -> None:
    page.emulate_media(color_scheme=theme)
    page.goto(fleet.url)
    expect(page.locator("input[name=voice]").first).to_be_attached()
    page.click("#generate")
    expect(page.locator(".clip[data-shown]")).to_be_visible(timeout=30_000)
    expect(page.locator("#generate")).to_have_attribute("data-state", "idle")
    eventually(lambda: page.evaluate(_NOTHING_CHANGES))
    for selector in ("#generate kbd", ".clip[data-shown] .clip-facts", ".clip[data-shown] .side-button"):
        assert page.evaluate(_CONTRAST, selector) >= 4.5, selector


def test_a_browser_that_keeps_nothing_shows_the_pages_all_the_same(page: Page, fleet: Server) -> None:
    page.add_init_script(_REFUSE_STORAGE)
    page.goto(fleet.url)
    expect(page.locator(".lamp")).to_have_text("Ready")
    page.get_by_role("button", name="Switch to dark").click()
    expect(page.locator("html")).to_have_attribute("data-theme", "dark")
    expect(page.locator("input[name=voice]:checked")).to_be_attached()


_REFUSE_STORAGE = """for (const name of ["localStorage", "sessionStorage", "indexedDB"]) {
  Object.defineProperty(window, name, { get() { throw new DOMException("denied", "SecurityError"); } });
}"""


def test_forced_colours_show_what_is_chosen(page: Page, fleet: Server) -> None:
    """They take backgrounds and shadows away."""
    page.emulate_media(forced_colors="active")
    page.goto(f"{fleet.url}/live")
    expect(page.locator("input[name=voice]:checked")).to_be_attached()
    for chosen in (".voice-card:has(:checked)", ".segments label:has(:checked)", "a[aria-current]"):
        outline = page.locator(chosen).first.evaluate("it => getComputedStyle(it).outlineStyle")
        assert outline == "solid", chosen
    page.goto(f"{fleet.url}/train")
    notice = page.locator("#unavailable")
    expect(notice).to_be_visible()
    assert notice.evaluate("it => getComputedStyle(it).borderStyle") == "solid"


@pytest.mark.parametrize("path", ["/train", ADMIN_PAGE])
def test_no_bar_of_progress_is_drawn_by_the_browser(page: Page, fleet: Server, path: str) -> None:
    """Firefox draws those on a white ground in a dark page: one that is empty looks full."""
    page.goto(fleet.url + path)
    bars = page.locator("progress")
    expect(bars.first).to_be_attached()
    drawn = bars.evaluate_all("(all) => all.map((one) => getComputedStyle(one).appearance)")
    assert set(drawn) == {"none"}


def test_forced_colours_show_which_block_is_heard(page: Page, fleet: Server) -> None:
    book = {"title": "Heard", "blocks": [{"text": "The fog lifted a little after six."}]}
    made = httpx.post(f"{fleet.url}/api/books", json=book).json()
    page.emulate_media(forced_colors="active")
    page.goto(f"{fleet.url}/book/{made['id']}")
    page.locator("#hear").click()
    heard = page.locator(".block[data-now]")
    expect(heard).to_be_visible(timeout=30_000)
    assert heard.evaluate("it => getComputedStyle(it).outlineStyle") == "solid"


def test_buttons_of_a_live_session_stand_side_by_side_on_the_narrowest_window(
    page: Page, fleet: Server
) -> None:
    page.set_viewport_size({"width": 320, "height": 640})
    page.goto(f"{fleet.url}/live")
    start, interrupt = page.locator("#start").bounding_box(), page.locator("#interrupt").bounding_box()
    assert start is not None
    assert interrupt is not None
    assert start["x"] + start["width"] <= interrupt["x"]


def test_a_book_is_no_wider_than_the_narrowest_window(page: Page, fleet: Server) -> None:
    book = {"title": "Long " * 30, "blocks": [{"kind": "paragraph", "text": "Long" * 100}]}
    made = httpx.post(f"{fleet.url}/api/books", json=book).raise_for_status().json()
    page.set_viewport_size({"width": 320, "height": 640})
    page.goto(f"{fleet.url}/book/{made['id']}")
    expect(page.locator("#make")).to_be_enabled()
    assert page.evaluate("document.documentElement.scrollWidth") == 320


def test_the_player_leaves_most_of_a_magnified_page_to_the_text(page: Page, fleet: Server) -> None:
    book = {"title": "Heard", "blocks": [{"text": "The fog lifted a little after six. " * 4}]}
    made = httpx.post(f"{fleet.url}/api/books", json=book).json()
    page.set_viewport_size({"width": 320, "height": 256})  # four times as large as in 1280 by 1024
    page.goto(f"{fleet.url}/book/{made['id']}")
    page.locator("#hear").click()
    player = page.locator("#reader")
    expect(player.locator(".word.heard").first).to_be_visible(timeout=30_000)
    box = player.bounding_box()
    assert box is not None
    assert box["height"] <= 128


def test_small_controls_can_be_pressed_with_a_finger(page: Page, fleet: Server) -> None:
    made = httpx.post(f"{fleet.url}/api/books", json={"title": "Small", "blocks": [{"text": "One."}]}).json()
    said = {
        "text": "Sixteen words of a title that is far too long for the line of a phone. " * 3,
        "record": True,
    }
    recorded = httpx.post(f"{fleet.url}/tts", json=said, timeout=60).headers["x-session-id"]
    page.set_viewport_size({"width": 360, "height": 640})
    for path, control, least in (
        (f"/book/{made['id']}", ".block-select", 24),
        (f"/sessions/{recorded}", "#edit-title", 44),
    ):
        page.goto(fleet.url + path)
        expect(page.locator(control)).to_be_visible()
        box = page.locator(control).bounding_box()
        assert box is not None
        assert min(box["width"], box["height"]) >= least, path


@pytest.mark.parametrize("path", ["/book/b_none", "/sessions/s_none"])
def test_a_page_of_what_is_gone_says_so_and_nothing_else(browser: Browser, fleet: Server, path: str) -> None:
    with watched_page(browser, viewport=SIZES["desktop"]) as watched:  # a browser complains of a 404
        page = watched.page
        page.goto(fleet.url + path)
        expect(page.locator("#problem")).to_be_visible()
        expect(page.locator("h1")).to_have_count(1)
        expect(page.locator("button:visible:not(#nav *)")).to_have_count(1)
        page.set_viewport_size({"width": 320, "height": 640})
        assert page.evaluate("document.querySelector('#problem p').clientWidth") >= 12 * 16
        skip = page.locator("a.skip").get_attribute("href")
        assert page.locator(skip or "").count() == 1 or page.locator("a.skip").is_hidden()


@pytest.mark.parametrize("kind", ["book", "session"])
def test_what_a_page_is_for_has_its_place_while_it_is_awaited(page: Page, fleet: Server, kind: str) -> None:
    if kind == "book":
        made = httpx.post(f"{fleet.url}/api/books", json={"title": "Sea", "blocks": [{"text": "Hello."}]})
        path, asked = f"/book/{made.json()['id']}", "**/api/books/*"
    else:
        path, asked = f"/sessions/{record(fleet, 'Hello.')}", "**/api/sessions/*"
    held: list[Route] = []
    page.route(asked, lambda route: held.append(route))
    page.goto(fleet.url + path)
    waiting = page.locator(".waiting")
    expect(waiting).to_be_visible()
    for route in held:
        route.continue_()
    page.unroute(asked)
    expect(page.get_by_text("Hello.").first).to_be_visible()
    expect(waiting).to_be_hidden()


_NOTHING_CHANGES = "() => document.getAnimations().every((each) => !(each instanceof CSSTransition))"
_CONTRAST = """(selector) => {
  const context = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const layers = [];
  for (let at = document.querySelector(selector); at; at = at.parentElement) {
    layers.unshift(getComputedStyle(at).backgroundColor);
  }
  const painted = (colours) => {
    for (const colour of ["#fff", ...colours]) {
      context.fillStyle = colour;
      context.fillRect(0, 0, 1, 1);
    }
    const [r, g, b] = [...context.getImageData(0, 0, 1, 1).data].map((value) => {
      const part = value / 255;
      return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05;
  };
  const ground = painted(layers);
  const ink = painted([...layers, getComputedStyle(document.querySelector(selector)).color]);
  return Math.max(ground, ink) / Math.min(ground, ink);
}"""


@pytest.mark.parametrize("path", PAGES)
class TestEveryPage:
    @pytest.mark.parametrize(
        ("size", "themes"), [("desktop", ("light", "dark")), ("phone", ("dark", "light"))]
    )
    def test_fits_its_window_and_complains_of_nothing(
        self, browser: Browser, fleet: Server, path: str, size: str, themes: tuple[str, str]
    ) -> None:
        """In the theme in which it was opened, and in the other one."""
        with watched_page(browser, viewport=SIZES[size], color_scheme=themes[0]) as watched:
            watched.page.goto(fleet.url + path)
            expect(watched.page.locator(".lamp")).to_have_attribute("data-state", "ready")
            watched.page.wait_for_load_state("load")
            for theme in themes:
                watched.page.emulate_media(color_scheme=theme)
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
