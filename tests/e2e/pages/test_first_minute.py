"""The first minute with the pages: what a newcomer is told, what is in view, and what loading costs."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, expect

from benchmarks.pages.usable import WATCH
from tests.e2e.browser import DESKTOP, PHONE, watched_page
from tests.e2e.processes import Server
from tests.gateway.callers.administration import ADMIN_PAGE

LAPTOP = {"width": 1280, "height": 720}
LONG_TEXT = "The fog lifted a little after six, and one by one the boats lit their lamps. " * 20
RUSSIAN = "Доброе утро, чайник уже на плите."
MOST_REQUESTS, MOST_SHIFT = 18, 0.02


def expect_in_view(page: Page, *selectors: str) -> None:
    """The whole of each element is in the window."""
    size = page.viewport_size
    assert size
    for selector in selectors:
        box = page.locator(selector).bounding_box()
        assert box, selector
        assert box["y"] >= 0 and box["y"] + box["height"] <= size["height"], (selector, box)


class TestTheStrip:
    def test_says_what_runs_where_and_speaks_at_one_click(self, page: Page, fleet: Server) -> None:
        page.goto(fleet.url)
        expect(page.locator("#welcome-model")).to_have_text("synthetic runs on the CPU and speaks English.")
        page.click("#welcome-hear")
        expect(page.locator("#stage")).to_have_attribute("data-state", "done", timeout=30_000)
        page.click("#welcome-better")
        expect(page.locator("#models")).to_contain_text("./start_all.sh --model openbmb/VoxCPM2")

    def test_other_models_are_read_from_the_beginning_on_a_phone(self, page: Page, fleet: Server) -> None:
        page.set_viewport_size({"width": 320, "height": 568})
        page.goto(fleet.url)
        page.click("#welcome-better")
        expect(page.get_by_role("heading", name="Other models")).to_be_in_viewport()
        command = page.locator(".model-command").first
        code, copy = (command.locator(part).bounding_box() for part in ("code", "button"))
        assert code and copy and code["y"] + code["height"] <= copy["y"]  # beside it, words were broken
        page.get_by_role("button", name="Close").last.click()
        expect(page.locator("#models")).to_be_hidden()
        page.keyboard.press("?")
        expect(page.get_by_role("heading", name="Keyboard")).to_be_in_viewport()
        page.keyboard.press("Tab")
        expect(page.locator("#help").get_by_role("button", name="Close")).to_be_focused()

    def test_is_closed_once_for_ever(self, page: Page, fleet: Server) -> None:
        page.goto(fleet.url)
        page.click("#welcome-close")
        expect(page.locator("#welcome")).to_be_hidden()
        page.reload()
        expect(page.locator("input[name=voice]").first).to_be_attached()
        expect(page.locator("#welcome")).to_be_hidden()


@pytest.mark.parametrize(
    ("loading", "said"),
    [
        ({"stage": "warm-up", "progress": 0.95}, "Loading: warm-up, 95 %"),
        ({"stage": "<img src=x>", "progress": 0.5}, "Loading: model, 50 %"),
        (None, "No worker ready"),
    ],
)
def test_the_lamp_says_how_far_a_worker_is(
    browser: Browser, fleet: Server, loading: dict[str, object] | None, said: str
) -> None:
    with watched_page(browser) as watched:  # the browser itself complains of the 503
        config = {**fleet.get_json("/api/config"), "model": None, "loading": loading}
        watched.page.route("**/ready", lambda route: route.fulfill(status=503, json={}))
        watched.page.route("**/api/config", lambda route: route.fulfill(json=config))
        watched.page.goto(fleet.url)
        expect(watched.page.locator(".lamp")).to_have_text(said)


class TestALanguageThatTheModelDoesNotSpeak:
    def test_is_warned_of_before_it_is_made(self, page: Page, fleet: Server) -> None:
        page.goto(fleet.url)
        expect(page.locator("#welcome-model")).to_contain_text("English")
        page.fill("#text", RUSSIAN)
        expect(page.locator("#text-warning")).to_contain_text("synthetic speaks English")
        expect(page.locator("#text-warning")).to_contain_text("Cyrillic")
        page.click("#generate")
        expect(page.locator("#text-anyway")).to_be_focused()
        expect(page.locator("#stage")).to_have_attribute("data-state", "empty")
        page.click("#text-anyway")
        expect(page.locator("#stage")).to_have_attribute("data-state", "done", timeout=30_000)

    def test_is_made_at_the_first_press_of_generate_anyway(self, page: Page, fleet: Server) -> None:
        page.goto(fleet.url)
        expect(page.locator("#welcome-model")).to_contain_text("English")
        page.fill("#text", RUSSIAN)
        page.click("#text-anyway")
        expect(page.locator("#stage")).to_have_attribute("data-state", "done", timeout=30_000)

    def test_is_not_warned_of_for_a_name_in_it(self, page: Page, fleet: Server) -> None:
        page.goto(fleet.url)
        expect(page.locator("#welcome-model")).to_contain_text("English")
        page.fill("#text", "The word мир means both peace and world, as every learner soon finds out.")
        expect(page.locator("#text-warning")).to_be_hidden()


class TestWhatIsInView:
    @pytest.mark.parametrize("text", ["Hello.", LONG_TEXT])
    def test_on_a_laptop_text_button_waveform_and_player(self, page: Page, fleet: Server, text: str) -> None:
        page.set_viewport_size(LAPTOP)
        page.goto(fleet.url)
        expect(page.locator("input[name=voice]").first).to_be_attached()
        page.fill("#text", text)
        expect_in_view(page, "#text", "#generate", "#track", "#play")

    def test_letters_shrink_as_the_text_grows(self, page: Page, fleet: Server) -> None:
        page.goto(fleet.url)
        sizes = []
        for text in ("Hello.", LONG_TEXT[:300], LONG_TEXT):
            page.fill("#text", text)
            size = page.locator("#text").evaluate("(area) => getComputedStyle(area).fontSize")
            sizes.append(float(size.removesuffix("px")))
        assert sizes[0] > sizes[1] > sizes[2] >= 16

    def test_above_a_phone_s_keyboard_the_words_and_interrupt(self, browser: Browser, fleet: Server) -> None:
        with watched_page(browser, viewport=PHONE, has_touch=True, is_mobile=True) as watched:
            page = watched.page
            page.goto(f"{fleet.url}/live")
            expect(page.locator("input[name=voice]").first).to_be_attached()
            page.set_viewport_size({"width": PHONE["width"], "height": 430})
            page.locator("#text").focus()
            page.locator("#text").scroll_into_view_if_needed()
            expect_in_view(page, "#transcript", "#interrupt", "#text")
            assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]
            interrupt = page.locator("#interrupt").bounding_box()
            assert interrupt and interrupt["x"] + interrupt["width"] <= PHONE["width"]
            assert watched.complaints == []


@pytest.mark.parametrize("path", ["/live", "/chat"])
def test_a_small_phone_has_the_bar_until_its_keyboard_is_there(
    browser: Browser, fleet: Server, path: str
) -> None:
    small = {"width": 375, "height": 553}
    with watched_page(browser, viewport=small, has_touch=True, is_mobile=True) as watched:
        page = watched.page
        page.goto(fleet.url + path)
        bar = page.get_by_role("link", name="Studio")
        expect(bar).to_be_visible()
        page.set_viewport_size({**small, "height": 300})
        expect(bar).to_be_hidden()
        page.set_viewport_size(small)
        expect(bar).to_be_visible()


@pytest.mark.parametrize("path", ["/live", "/chat"])
def test_a_page_that_is_enlarged_four_times_has_its_bar(page: Page, fleet: Server, path: str) -> None:
    page.set_viewport_size({"width": 320, "height": 256})
    page.goto(fleet.url + path)
    expect(page.locator(".lamp")).to_have_attribute("data-state", "ready")
    expect(page.get_by_role("link", name="Studio")).to_be_visible()


def test_voices_are_told_apart_and_found_by_language_and_style(page: Page, fleet: Server) -> None:
    names = ("Ada", "Grace", "Lin", "Tove", "Max", "Noor")
    voices = [
        {
            "id": name.lower(),
            "name": name,
            "kind": "built-in",
            "language": "zh" if name == "Lin" else "en",
            "description": f"The voice of {name}",
            "tags": ["calm"] if name == "Max" else ["bright"],
        }
        for name in names
    ]
    page.route("**/api/voices", lambda route: route.fulfill(json={"voices": voices}))
    page.goto(fleet.url)
    expect(page.locator(".voice-about").first).to_have_text("The voice of Ada")
    colours = page.locator(".voice-figure").evaluate_all(
        "(all) => all.map((one) => getComputedStyle(one).fill)"
    )
    assert len(set(colours)) == len(names)
    page.select_option("#voice-style", "calm")
    expect(page.locator(".voice-card[data-voice=max]")).to_be_visible()
    expect(page.locator(".voice-card[data-voice=tove]")).to_have_count(0)
    page.select_option("#voice-style", "")
    page.select_option("#voice-language", label="Chinese")
    expect(page.locator(".voice-card[data-voice=lin]")).to_be_visible()


@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("studio", "/"),
        ("live", "/live"),
        ("chat", "/chat"),
        ("books", "/book"),
        ("sessions", "/sessions"),
        ("train", "/train"),
        ("admin", ADMIN_PAGE),
    ],
)
def test_a_page_costs_few_requests_and_nothing_jumps(
    browser: Browser, fleet: Server, name: str, path: str, size: dict[str, int]
) -> None:
    with watched_page(browser, viewport=size) as watched:
        page = watched.page
        requests: list[str] = []
        page.on("request", lambda request: requests.append(request.url))
        page.add_init_script(f"({WATCH})({name!r})")
        page.goto(fleet.url + path)
        page.evaluate("window.__usable")
        page.wait_for_load_state("load")
        assert page.evaluate("window.__shift") <= MOST_SHIFT, page.evaluate("window.__shifts")
        assert len(requests) <= MOST_REQUESTS, requests


def test_the_second_visit_fetches_no_file_again(page: Page, fleet: Server) -> None:
    page.goto(fleet.url)
    expect(page.locator("input[name=voice]").first).to_be_attached()
    page.goto(f"{fleet.url}/live")
    page.goto(fleet.url)
    expect(page.locator("input[name=voice]").first).to_be_attached()
    sent = page.evaluate(_SENT)
    assert len(sent) >= 6
    assert {name: size for name, size in sent.items() if size} == {}


_SENT = """() => Object.fromEntries(performance.getEntriesByType("resource")
  .filter(({ name }) => name.includes("/static/"))
  .map(({ name, transferSize }) => [name, transferSize]))"""
