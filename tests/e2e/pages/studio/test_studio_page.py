"""The studio around its speech: history, comparison, links, code, languages, the phone and the keyboard."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.browser import DESKTOP, PHONE, watched_page
from tests.e2e.pages.studio.test_pages import expect_player, expect_state, figure, open_studio
from tests.e2e.processes import Server, eventually
from tests.e2e.studio import fleet_with_data
from tests.gateway.administration import ADMIN

SENTENCE = "The quick brown fox sleeps."
OTHER = "One by one they lit lamps."
MARKUP = "<img src=x onerror=\"document.title='owned'\">"
READ_LATE = """() => {
  const read = Blob.prototype.arrayBuffer;
  Blob.prototype.arrayBuffer = async function () {
    Blob.prototype.arrayBuffer = read;
    await new Promise((resolve) => {
      window.readLate = () => new Promise((rest) => resolve() ?? setTimeout(rest, 50));
    });
    return read.call(this);
  };
}"""
"""The next clip is read once `readLate` is called, which ends when that has had its time."""


@pytest.fixture(scope="module")
def fleet() -> Iterator[Server]:
    with fleet_with_data() as edge:
        yield edge


def speak(page: Page, text: str) -> int:
    """Generate it; samples of the clip, once it is in the history."""
    page.fill("#text", text)
    page.click("#generate")
    expect_state(page, "done")
    expect(page.locator(".clip[data-shown] .clip-text")).to_have_text(text)
    return figure(page, "received-samples")


class TestHistory:
    def test_a_clip_is_heard_again_after_a_reload_downloaded_and_deleted(
        self, page: Page, fleet: Server
    ) -> None:
        open_studio(page, fleet)
        samples = speak(page, SENTENCE)
        page.reload()
        page.get_by_role("button", name=f"Play: {SENTENCE}").click()
        expect_player(page, "ended")
        assert figure(page, "played-samples") == figure(page, "received-samples") == samples
        with page.expect_download() as started:
            page.get_by_role("button", name=f"Download: {SENTENCE}").click()
        assert started.value.path().stat().st_size == 44 + 2 * samples
        page.get_by_role("button", name=f"Delete: {SENTENCE}").click()
        expect(page.locator("#history-empty")).to_be_visible()
        page.reload()
        expect(page.locator(".clip")).to_have_count(0)

    def test_its_words_are_downloaded_as_subtitles_also_after_a_reload(
        self, page: Page, fleet: Server
    ) -> None:
        open_studio(page, fleet)
        expect(page.locator("#download-srt")).to_be_disabled()
        speak(page, SENTENCE)
        expect(page.locator("#words-source")).to_have_text("Times of words, estimated")
        files = {format: self.download_words(page, format) for format in ("srt", "vtt", "json")}
        assert files["srt"].startswith("1\n00:00:00,") and SENTENCE in files["srt"]
        assert files["vtt"].startswith("WEBVTT\n\n00:00:00.") and SENTENCE in files["vtt"]
        told = json.loads(files["json"])
        assert [word["text"] for word in told["words"]] == SENTENCE.split()
        page.reload()
        page.get_by_role("button", name=f"Play: {SENTENCE}").click()
        assert self.download_words(page, "srt") == files["srt"]
        self.words_light_up_and_are_a_way_through_the_clip(page)
        page.get_by_role("button", name=f"Delete: {SENTENCE}").click()

    def words_light_up_and_are_a_way_through_the_clip(self, page: Page) -> None:
        expect_player(page, "ended")
        expect(page.locator("#spoken .word")).to_have_text(SENTENCE.split())
        expect(page.locator("#spoken .word.heard")).to_have_count(len(SENTENCE.split()))
        page.select_option("#speed", "0.5")
        page.locator("#spoken .word").nth(3).click()
        expect(page.locator("#spoken .word.heard").last).not_to_have_text(SENTENCE.split()[-1])
        expect_player(page, "ended")
        page.select_option("#speed", "1")

    def download_words(self, page: Page, format: str) -> str:
        with page.expect_download() as started:
            page.click(f"#download-{format}")
        assert started.value.suggested_filename == f"the-quick-brown-fox-sleeps.{format}"
        return started.value.path().read_text()

    def test_what_was_deleted_comes_back_and_other_tabs_follow(self, page: Page, fleet: Server) -> None:
        open_studio(page, fleet)
        other = page.context.new_page()
        other.goto(fleet.url)
        speak(page, SENTENCE)
        expect_player(page, "ended")
        expect(other.locator(".clip-text")).to_have_text([SENTENCE])
        speak(page, OTHER)
        page.get_by_role("button", name=f"Delete: {OTHER}").click()
        expect(other.locator(".clip-text")).to_have_text([SENTENCE])
        page.get_by_role("button", name="Undo").click()
        expect(page.locator(".clip-text")).to_have_text([OTHER, SENTENCE])
        page.get_by_role("button", name="Delete all").click()
        expect(page.locator("#history-undo")).to_contain_text("2 clips deleted.")
        expect(other.locator(".clip")).to_have_count(0)
        page.keyboard.press("Enter")  # the focus is on what brings them back
        expect(page.locator(".clip-text")).to_have_text([OTHER, SENTENCE])
        expect(other.locator(".clip-text")).to_have_text([OTHER, SENTENCE])

    def test_clips_have_names_and_stars_are_found_and_exported(self, page: Page, fleet: Server) -> None:
        open_studio(page, fleet)
        samples = {text: speak(page, text) for text in (SENTENCE, OTHER)}
        page.get_by_role("button", name=f"Name: {SENTENCE}").click()
        page.get_by_role("textbox", name=f"Name of {SENTENCE}").fill(f" {MARKUP} ")
        page.keyboard.press("Enter")
        expect(page.locator(".clip-text")).to_have_text([OTHER, MARKUP])
        expect(page.get_by_role("button", name=f"Name: {MARKUP}")).to_be_focused()
        page.get_by_role("button", name=f"Name: {OTHER}").click()
        page.keyboard.type("never mind")
        page.keyboard.press("Escape")
        expect(page.locator(".clip-text")).to_have_text([OTHER, MARKUP])
        page.get_by_role("button", name=f"Star: {MARKUP}").click()
        expect(page.get_by_role("button", name=f"Star: {MARKUP}")).to_have_attribute("aria-pressed", "true")
        page.reload()
        page.get_by_role("button", name="Starred").click()
        expect(page.locator(".clip-text")).to_have_text([MARKUP])
        page.get_by_role("button", name="Starred").click()
        with page.expect_download() as started:
            page.get_by_role("button", name="Export").click()
        with zipfile.ZipFile(started.value.path()) as archive:
            assert archive.testzip() is None
            sizes = [info.file_size for info in archive.infolist()]
        assert sizes == [44 + 2 * samples[OTHER], 44 + 2 * samples[SENTENCE]]
        assert page.title() != "owned" and page.locator(".clip img").count() == 0
        page.get_by_role("button", name=f"Delete: {OTHER}").click()
        expect(page.get_by_role("button", name="Delete all")).to_be_hidden()  # a star keeps the other
        page.get_by_role("button", name=f"Delete: {MARKUP}").click()

    def test_many_clips_are_searched(self, page: Page, fleet: Server) -> None:
        open_studio(page, fleet)
        numbers = ("one", "two", "three", "four", "five", "six")
        for number in numbers:
            speak(page, f"Number {number}.")
        page.get_by_role("searchbox", name="Search the history").fill("FOUR number")
        expect(page.locator(".clip-text")).to_have_text(["Number four."])
        page.get_by_role("searchbox", name="Search the history").fill("seven")
        expect(page.locator("#history-none")).to_be_visible()
        page.get_by_role("searchbox", name="Search the history").fill("")
        expect(page.locator(".clip")).to_have_count(len(numbers))
        page.get_by_role("button", name="Delete all").click()

    def test_one_tab_sounds_at_a_time(self, page: Page, fleet: Server) -> None:
        open_studio(page, fleet)
        speak(page, " ".join([SENTENCE] * 20))
        other = page.context.new_page()
        other.goto(fleet.url)
        page.bring_to_front()
        page.locator(".clip-play").click()
        expect_player(page, "playing")
        other.locator(".clip-play").click()
        expect_player(other, "playing")
        expect_player(page, "paused")
        expect_player(other, "playing")

    def test_the_clip_that_was_pressed_last_comes_to_the_stage(self, page: Page, fleet: Server) -> None:
        open_studio(page, fleet)
        for text in (SENTENCE, OTHER):
            speak(page, text)
        shown = page.locator(".clip[data-shown] .clip-text")
        page.evaluate(READ_LATE)
        page.get_by_role("button", name=f"Play: {SENTENCE}").click()
        page.get_by_role("button", name=f"Play: {OTHER}").click()
        expect_state(page, "replayed")
        page.evaluate("readLate()")
        expect(shown).to_have_text(OTHER)
        page.evaluate(READ_LATE)
        page.get_by_role("button", name=f"Play: {SENTENCE}").click()
        speak(page, "A third one.")
        page.evaluate("readLate()")
        expect_state(page, "done")
        expect(shown).to_have_text("A third one.")

    def test_a_sample_takes_nothing_away_for_good(self, page: Page, fleet: Server) -> None:
        open_studio(page, fleet, "")
        page.locator("#text").press_sequentially("My own words.")
        page.get_by_role("button", name="Pangram").click()
        expect(page.locator("#text")).to_have_value("The quick brown fox jumps over the lazy dog.")
        page.keyboard.press("Control+z")
        expect(page.locator("#text")).to_have_value("My own words.")
        expect(page.locator("#counter")).to_contain_text("13 characters")

    def test_its_settings_come_back(self, page: Page, fleet: Server) -> None:
        open_studio(page, fleet)
        page.click("#advanced summary")
        page.fill("#seed", "77")
        speak(page, SENTENCE)
        page.fill("#seed", "")
        page.fill("#text", OTHER)
        page.get_by_role("button", name=f"Use these settings: {SENTENCE}").click()
        expect(page.locator("#text")).to_have_value(SENTENCE)
        expect(page.locator("#seed")).to_have_value("77")

    def test_a_and_b_are_switched_at_the_same_place(self, page: Page, fleet: Server) -> None:
        open_studio(page, fleet)
        speak(page, SENTENCE)
        speak(page, OTHER)
        expect_player(page, "ended")
        page.get_by_role("button", name=f"Compare as A: {SENTENCE}").click()
        page.get_by_role("button", name=f"Compare as B: {OTHER}").click()
        page.click("#compare-A")
        expect_player(page, "playing")
        eventually(lambda: float(page.locator("#track").get_attribute("aria-valuenow") or 0) > 0.5)
        page.locator("#history").focus()
        page.keyboard.press("x")
        expect(page.locator("#compare-B")).to_have_attribute("aria-pressed", "true")
        expect(page.locator(".clip[data-shown] .clip-text")).to_have_text(OTHER)
        expect_player(page, "ended")
        assert 0 < figure(page, "played-samples") <= figure(page, "received-samples")


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
    keys = '{"shop": {"key": "a-long-enough-key-for-a-shop"}}'
    with (
        fleet_with_data(VOXFLEET_API_KEYS=keys, VOXFLEET_ANONYMOUS="false") as edge,
        watched_page(browser, viewport=DESKTOP) as watched,
    ):
        page = watched.page
        open_studio(page, edge)
        page.click("#generate")
        expect(page.locator("#key-sheet")).to_be_visible()
        page.fill("#api-key", "a-long-enough-key-for-a-shop")
        page.locator("#key-sheet .button-primary").click()
        expect(page.locator("#key-sheet")).to_be_hidden()
        page.click("#generate")
        expect_state(page, "done")
        assert page.evaluate("localStorage.getItem('voxfleet.apiKey')") is None
        page.reload()
        page.click("#generate")
        expect_state(page, "done")
