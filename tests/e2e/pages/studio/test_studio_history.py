"""The studio's history: clips that are heard again, compared, named, found and taken away."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.pages.studio.clips import SENTENCE, speak
from tests.e2e.pages.studio.stage import expect_player, expect_state, figure, open_studio
from tests.e2e.processes import Server, eventually
from tests.e2e.studio import fleet_with_data

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

COMPOSED = """(field) => {
  field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", isComposing: true, bubbles: true }));
}"""
"""Enter that ends a word of Chinese, say."""


@pytest.fixture(scope="module")
def fleet() -> Iterator[Server]:
    with fleet_with_data() as edge:
        yield edge


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

    def test_a_name_that_is_being_written_stays_when_a_clip_comes(self, page: Page, fleet: Server) -> None:
        open_studio(page, fleet)
        speak(page, SENTENCE)
        page.get_by_role("button", name=f"Name: {SENTENCE}").click()
        field = page.get_by_role("textbox", name=f"Name of {SENTENCE}")
        field.fill("The f")
        field.evaluate(COMPOSED)
        page.evaluate("document.querySelector('#text').value = 'One by one they lit lamps.'")
        page.evaluate("document.querySelector('#generate').click()")
        expect_state(page, "done")
        expect(field).to_be_focused()
        page.keyboard.type("ox")
        page.keyboard.press("Enter")
        expect(page.locator(".clip-text")).to_have_text([OTHER, "The fox"])
        page.get_by_role("button", name="Star: The fox").focus()
        page.evaluate("document.querySelector('#generate').click()")
        expect(page.locator(".clip")).to_have_count(3)
        expect(page.get_by_role("button", name="Star: The fox")).to_be_focused()

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
        expect(page.locator("#counter")).to_have_text("13 characters · about 1 s")
        page.fill("#text", "word " * 200)
        expect(page.locator("#counter")).to_have_text("999 characters · about 1 min 7 s")

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
