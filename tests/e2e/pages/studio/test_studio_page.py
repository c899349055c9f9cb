"""The studio around its speech: links, code, languages, the phone and the keyboard."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.browser import DESKTOP, PHONE, watched_page
from tests.e2e.pages.studio.clips import SENTENCE, speak
from tests.e2e.pages.studio.stage import expect_player, expect_state, open_studio
from tests.e2e.processes import Server, eventually
from tests.e2e.studio import fleet_with_data
from tests.gateway.callers.administration import ADMIN


@pytest.fixture(scope="module")
def fleet() -> Iterator[Server]:
    with fleet_with_data() as edge:
        yield edge


class TestSharing:
    def test_a_link_carries_text_and_settings(self, browser: Browser, page: Page, fleet: Server) -> None:
        open_studio(page, fleet, "Fünf & zwölf = 100 % #wahr?\nZweite Zeile.")
        page.click("#advanced summary")
        page.fill("#seed", "42")
        page.locator("#cfg_value").fill("3")
        page.select_option("#format", "mp3")
        page.evaluate("navigator.clipboard.writeText = async (text) => { window.copied = text; }")
        page.click("#share")
        expect(page.locator("#status")).to_contain_text("link is copied")
        with watched_page(browser, viewport=DESKTOP) as other:
            other.page.goto(page.evaluate("window.copied"))
            expect(other.page.locator("#text")).to_have_value(page.input_value("#text"))
            expect(other.page.locator("#seed")).to_have_value("42")
            expect(other.page.locator("#cfg_value")).to_have_value("3")
            expect(other.page.locator("#format")).to_have_value("mp3")
            assert "#" not in other.page.url
            other.page.goto(f"{fleet.url}/#text=Another+one.&seed=7")
            expect(other.page.locator("#text")).to_have_value("Another one.")
            expect(other.page.locator("#seed")).to_have_value("7")
            other.page.goto(f"{fleet.url}/docs")
            other.page.goto(f"{fleet.url}/#voice=v_0123456789abcdef")
            expect(other.page.locator("#error")).to_contain_text("This voice is not there any more.")
            other.page.reload()
            expect(other.page.locator("input[name=voice]:checked")).to_be_attached()
            expect(other.page.locator("#error")).to_be_hidden()
            other.page.goto(f"{fleet.url}/docs")
            other.page.goto(f"{fleet.url}/#voice=slt")
            expect(other.page.locator("#text")).to_have_value("Another one.")
            expect(other.page.locator("#seed")).to_have_value("7")
            assert other.complaints == []

    def test_the_code_follows_the_settings_in_every_language(self, page: Page, fleet: Server) -> None:
        open_studio(page, fleet, SENTENCE)
        page.click("#code summary")
        for name, words in (
            ("curl", "--fail-with-body"),
            ("Python", "httpx.post"),
            ("JavaScript", "await fetch("),
        ):
            page.get_by_role("tab", name=name).click()
            expect(page.locator("#code-text")).to_contain_text(words)
            expect(page.locator("#code-text")).to_contain_text(SENTENCE)


def test_the_text_is_on_the_stage_before_it_is_heard(page: Page, fleet: Server) -> None:
    """With its words it moved what stands below it, in the middle of the speech."""
    page.route_web_socket("**/ws/tts", lambda socket: None)  # nothing is answered
    open_studio(page, fleet, SENTENCE)
    expect(page.locator("#spoken")).to_be_hidden()
    page.click("#generate")
    expect(page.locator("#spoken-text")).to_have_text(SENTENCE)
    expect(page.locator("#spoken")).to_be_in_viewport()


_LONG_TEXT = """async () => {
  const { LitWords } = await import("/static/js/shared/hearing/lit-words.js");
  const [box, element] = ["spoken", "spoken-text"].map((id) => document.getElementById(id));
  const words = Array.from({ length: 1000 }, (_, index) => ({
    start: 6 * index, end: 6 * index + 5, from: index, to: index + 0.9,
  }));
  const lit = new LitWords(box);
  lit.show([{ element, points: [..."word, ".repeat(1000)], words: words.slice(0, 500) }]);
  const first = element.querySelector(".word");
  lit.move(0.5, true);
  lit.more(words.slice(500));
  lit.move(999.5, true);
  const heard = [];
  lit.addEventListener("seek", ({ detail }) => heard.push(detail));
  for (const word of [first, [...element.querySelectorAll(".word")].at(-1)]) word.click();
  return {
    words: element.querySelectorAll(".word.heard").length,
    same: element.querySelector(".word") === first,
    text: element.textContent === "word, ".repeat(1000),
    children: element.childNodes.length,
    heard,
  };
}"""


def test_words_of_a_long_text_are_added_and_not_drawn_anew(page: Page, fleet: Server) -> None:
    """Where it finds out a direction, Chromium takes the longer for a child the more there are."""
    open_studio(page, fleet, SENTENCE)
    shown = page.evaluate(_LONG_TEXT)
    assert shown == {"words": 1000, "same": True, "text": True, "children": 3, "heard": [0, 999]}


def test_a_recorded_session_is_linked_to(page: Page, fleet: Server) -> None:
    open_studio(page, fleet)
    page.check("#record")
    speak(page, SENTENCE)
    address = page.locator("#session-link").get_attribute("href") or ""
    session = fleet.get_json(f"/api{address}")
    assert SENTENCE in str(session)


class TestLanguages:
    def test_chinese_is_chosen_shown_and_remembered(self, page: Page, fleet: Server) -> None:
        open_studio(page, fleet)
        page.get_by_role("button", name="Switch to 中文").click()
        expect(page.locator("#generate")).to_contain_text("生成")
        expect(page.locator("html")).to_have_attribute("lang", "zh-CN")
        expect(page.locator("#text")).to_have_attribute("placeholder", "写点值得一听的文字。")
        page.click("#generate")
        expect_state(page, "done")
        expect(page.locator("#status")).to_contain_text("秒语音")
        page.reload()
        expect(page.locator(".nav-pages a[aria-current]")).to_have_text("工作室")
        page.get_by_role("button", name="切换到 English").click()
        expect(page.locator("#generate")).to_contain_text("Generate")
        expect(page.locator("html")).to_have_attribute("lang", "en")

    def test_nothing_that_is_shown_stays_english(self, page: Page, fleet: Server) -> None:
        open_studio(page, fleet, "")
        page.click("#language")
        page.click("#advanced summary")
        page.click("#new-voice")
        shown = page.evaluate(_WORDS)
        assert [words for words in shown if words not in _NAMES] == []


_NAMES = {"VoxFleet", "WAV", "MP3", "Opus", "FLAC", "AAC", "SRT", "VTT", "JSON"}
"""Names."""
_WORDS = """() => {
  const english = (text) => /[A-Za-z]{2}/.test(text) && !/[\\u4e00-\\u9fff]/.test(text);
  const words = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const { parentElement, textContent } = walker.currentNode;
    const text = textContent.trim();
    const theirs = parentElement.closest("noscript, kbd, pre, #consent-statement, option[value='']");
    if (english(text) && !theirs && parentElement.checkVisibility()) words.push(text);
  }
  for (const element of document.querySelectorAll("[aria-label]")) {
    const text = element.getAttribute("aria-label");
    if (english(text)) words.push(text);
  }
  return words;
}"""


class TestPhone:
    def test_nothing_needs_a_sideways_scroll_and_targets_are_large(
        self, browser: Browser, fleet: Server
    ) -> None:
        with watched_page(browser, viewport=PHONE, has_touch=True) as watched:
            page = watched.page
            open_studio(page, fleet)
            speak(page, SENTENCE)
            page.click("#advanced summary")
            page.click("#code summary")
            assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
            assert page.evaluate(_SMALL_TARGETS) == []
            page.click("#new-voice")
            assert page.evaluate("document.querySelector('#voice-sheet').scrollWidth") <= PHONE["width"]
            assert watched.complaints == []


_SMALL_TARGETS = """() => [...document.querySelectorAll("button, select, summary, .nav-pages a")]
  .filter((element) => element.checkVisibility() && !element.matches(".link, .chip"))
  .map((element) => [element.id || element.className, element.getBoundingClientRect().height])
  .filter(([, height]) => height < 44)"""


class TestKeyboard:
    def test_text_voices_speech_and_help_without_a_pointer(self, page: Page, fleet: Server) -> None:
        open_studio(page, fleet, "")
        page.keyboard.type("Typed, ? and / included. x")
        page.keyboard.press("Control+Enter")
        expect_state(page, "done")
        expect(page.locator("#text")).to_have_value("Typed, ? and / included. x")
        page.locator("#history").focus()
        page.keyboard.press("/")
        assert page.evaluate("document.activeElement.name") == "voice"
        page.keyboard.press("?")
        expect(page.locator("#help")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.locator("#help")).to_be_hidden()


def test_icons_are_drawn_without_asking_for_them_again(page: Page, fleet: Server) -> None:
    open_studio(page, fleet, SENTENCE)
    for button in ("#play", "#generate", "#download"):
        eventually(lambda button=button: is_drawn(page, button))
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.click("#generate")
    expect_player(page, "playing")
    assert is_drawn(page, "#play")
    expect_player(page, "ended")
    assert is_drawn(page, "#play")
    assert [url for url in asked if "icons" in url] == []


def is_drawn(page: Page, button: str) -> bool:
    """Whether there is something to see in the place of its icon."""
    return page.evaluate("(use) => use.getBBox().width > 0", page.query_selector(f"{button} use"))


def test_pages_that_are_switched_off_are_not_offered(page: Page, fleet: Server) -> None:
    off = [{"id": "live", "enabled": False}, {"id": "voices", "enabled": False}]
    httpx.put(f"{fleet.url}/api/pages", headers=ADMIN, json={"pages": off}).raise_for_status()
    try:
        page.goto(fleet.url)
        expect(page.locator("input[name=voice]").first).to_be_attached()
        expect(page.locator(".nav-pages a[href='/sessions']")).to_be_visible()
        expect(page.locator(".nav-pages a[href='/live']")).to_be_hidden()
        expect(page.locator("#new-voice")).to_be_hidden()
    finally:
        on = [{**state, "enabled": True} for state in off]
        httpx.put(f"{fleet.url}/api/pages", headers=ADMIN, json={"pages": on}).raise_for_status()


def test_an_api_key_is_asked_for_where_one_is_needed(browser: Browser) -> None:
    keys = '{"shop": {"key": "a key with spaces, for a shop/1="}}'
    with (
        fleet_with_data(VOXFLEET_API_KEYS=keys, VOXFLEET_ANONYMOUS="false") as edge,
        watched_page(browser, viewport=DESKTOP) as watched,
    ):
        page = watched.page
        open_studio(page, edge)
        page.click("#generate")
        expect(page.locator("#key-sheet")).to_be_visible()
        page.fill("#api-key", "a key with spaces, for a shop/1=")
        page.locator("#key-sheet .button-primary").click()
        expect(page.locator("#key-sheet")).to_be_hidden()
        page.click("#generate")
        expect_state(page, "done")
        assert page.evaluate("localStorage.getItem('voxfleet.apiKey')") is None
        page.reload()
        page.click("#generate")
        expect_state(page, "done")
