"""The live page in a real browser, with real processes: speech that follows text, and what cuts into it."""

from __future__ import annotations

import io
import json
import re
import wave
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.e2e.browser import sent_frames, watched_page
from tests.e2e.processes import Server, end_requests, eventually, gateway, worker
from tests.gateway.callers.administration import ADMIN

SENTENCE = "The quick brown fox jumps over the lazy dog. "
LONG = SENTENCE * 8
MARKUP = "<img src=x onerror=\"document.title='owned'\"> "


@pytest.fixture(scope="module")
def short_pauses() -> Iterator[Server]:
    """One slot, which a pause keeps for a second; a worker that a busy computer holds up is no failed one."""
    limits = {"VOXFLEET_LIVE_PAUSE_SECONDS": "1", "VOXFLEET_FRAME_TIMEOUT_SECONDS": "10"}
    with worker(slots=1, step_ms=10) as one, gateway([one.url], **limits) as edge:
        yield edge


@pytest.fixture
def one_slot(short_pauses: Server) -> Server:
    """A gateway with one slot, in which no other test's session is left."""
    eventually(lambda: end_requests(short_pauses))
    return short_pauses


def open_live(page: Page, edge: Server) -> None:
    page.goto(f"{edge.url}/live")
    expect(page.locator("input[name=voice]").first).to_be_attached()


def expect_state(page: Page, state: str) -> None:
    expect(page.locator("#stage")).to_have_attribute("data-state", state, timeout=30_000)


def start(page: Page) -> None:
    page.click("#start")
    expect_state(page, "live")


def heard_sample(page: Page) -> int:
    return int(page.locator("#stage").get_attribute("data-heard-sample") or 0)


def words(page: Page, state: str) -> Locator:
    return page.locator(f".word.{state}")


def wait_until_heard(page: Page, samples: int = 6000) -> None:
    eventually(lambda: heard_sample(page) > samples, 30)


class TestSpeaking:
    def test_words_leave_the_box_are_heard_and_light_up(self, page: Page, fleet: Server) -> None:
        open_live(page, fleet)
        start(page)
        page.locator("#text").press_sequentially("Hello there. How a", delay=5)
        expect(page.locator("#text")).to_have_value("a")
        expect(page.locator("#transcript")).to_have_text("Hello there. How ")
        expect(words(page, "heard").first).to_have_text("Hello")
        page.locator("#text").press_sequentially("re you", delay=5)
        page.keyboard.press("Control+Enter")
        expect(page.locator("#text")).to_have_value("")
        expect(words(page, "heard")).to_have_count(5, timeout=30_000)
        expect(page.locator("#tile-utterances")).to_have_text("2 / 2")
        expect(page.locator("#tile-first")).to_contain_text("ms")
        expect(page.locator("#word-files")).to_be_hidden()
        page.click("#start")
        expect_state(page, "ended")
        expect(page.locator("#words-source")).to_have_text("Times of words, estimated")
        files = {format: self.download(page, format) for format in ("srt", "vtt", "json", "wav", "mp3")}
        assert files["srt"].startswith(b"1\n00:00:00,") and files["vtt"].startswith(b"WEBVTT\n\n00:00:00.")
        assert files["mp3"][:3] == b"ID3" or files["mp3"][0] == 0xFF
        told = json.loads(files["json"])
        assert told["text"] == "Hello there. How are you"
        assert [word["text"] for word in told["words"]] == told["text"].split()
        with wave.open(io.BytesIO(files["wav"])) as file:
            assert told["words"][-1]["end_seconds"] <= file.getnframes() / file.getframerate() + 0.001

    @staticmethod
    def download(page: Page, format: str) -> bytes:
        with page.expect_download() as waiting:
            page.click(f"#download-{format}")
        assert waiting.value.suggested_filename == f"speech.{format}"
        return Path(waiting.value.path()).read_bytes()

    @pytest.mark.parametrize("mode", ["As I type", "Token feed"])
    def test_one_click_speaks_an_example(self, page: Page, fleet: Server, mode: str) -> None:
        open_live(page, fleet)
        page.get_by_role("radio", name=mode).check()
        page.get_by_role("button", name="Hear an example").click()
        expect(page.locator("#start")).to_be_focused()  # the other button is gone
        expect_state(page, "live")
        expect(words(page, "heard").first).to_have_text("The")
        expect(page.locator("#text")).to_have_value("", timeout=30_000)
        expect(page.locator("#transcript")).to_contain_text("began to sing.")

    def test_what_was_written_before_the_start_is_spoken_then_and_enter_speaks_a_line(
        self, page: Page, fleet: Server
    ) -> None:
        open_live(page, fleet)
        page.fill("#text", "Written before. ")
        page.keyboard.press("Control+Enter")
        expect_state(page, "live")
        expect(page.locator("#transcript")).to_have_text("Written before. ")
        page.locator("#text").press_sequentially("a line")
        page.keyboard.press("Enter")
        expect(words(page, "heard")).to_have_count(4, timeout=30_000)

    def test_a_token_feed_brings_the_text_as_a_language_model_would(self, page: Page, fleet: Server) -> None:
        sent = sent_frames(page)
        open_live(page, fleet)
        page.get_by_role("radio", name="Token feed").check()
        page.locator("#rate").fill("15")
        page.fill("#text", "An extraordinarily quick fox.")
        page.click("#feed-button")
        expect_state(page, "live")
        expect(page.locator("#text")).to_have_value("", timeout=30_000)
        expect(words(page, "heard")).to_have_count(4, timeout=30_000)
        assert sum('"append"' in message for message in sent) >= 3

    def test_the_voice_and_the_parameters_of_the_page_are_sent(self, page: Page, fleet: Server) -> None:
        sent = sent_frames(page)
        open_live(page, fleet)
        page.click("#advanced summary")
        page.fill("#seed", "42")
        page.locator("#cfg_value").fill("3")
        start(page)
        for part in ('"type":"start"', '"voice":"default"', '"seed":42', '"cfg_value":3'):
            assert part in sent[0]
        assert "record" not in sent[0]

    def test_markup_is_text(self, page: Page, fleet: Server) -> None:
        open_live(page, fleet)
        start(page)
        page.fill("#text", MARKUP)
        expect(page.locator("#transcript")).to_have_text(MARKUP)
        assert page.locator("#transcript img").count() == 0
        assert page.title() == "VoxFleet Live"


class TestCuttingIn:
    def test_a_barge_in_is_silent_at_once_and_shows_what_was_heard(self, page: Page, fleet: Server) -> None:
        open_live(page, fleet)
        start(page)
        page.fill("#text", LONG * 4)
        wait_until_heard(page, 24_000)
        page.keyboard.press("Escape")
        expect(page.locator("#status")).to_contain_text("Interrupted.")
        expect(words(page, "dropped").first).to_be_visible()
        expect(page.locator("#status")).to_contain_text("Heard: “The quick")
        dropped = words(page, "dropped").count()
        kept = page.locator(".word:not(.dropped)").count()
        assert 0 < kept < dropped
        page.fill("#text", "New words. ")
        expect(page.locator(".script-text").last).to_have_text("New words. ")
        expect(page.locator(".script-text").last.locator(".heard")).to_have_count(2, timeout=30_000)
        assert words(page, "dropped").count() == dropped

    def test_a_pause_keeps_the_place_and_goes_on_where_it_was(self, page: Page, fleet: Server) -> None:
        open_live(page, fleet)
        start(page)
        page.fill("#text", LONG)
        wait_until_heard(page)
        page.locator("#transcript").focus()
        page.keyboard.press("Space")
        expect_state(page, "paused")
        expect(page.locator("#note")).to_have_text(re.compile(r"keeps its place for (1:00|0:5\d)"))
        running = fleet.get_json("/api/queue")["running"]
        assert [each["mode"] for each in running] == ["DUPLEX_PAUSED"]
        at = heard_sample(page)
        page.keyboard.press("Space")
        expect_state(page, "live")
        eventually(lambda: heard_sample(page) > at + 6000, 30)
        assert fleet.get_json("/api/queue")["running"][0]["mode"] == "DUPLEX_ACTIVE"
        page.click("#start")
        expect_state(page, "ending")
        page.click("#start")
        expect_state(page, "ended")
        eventually(lambda: not fleet.get_json("/api/queue")["running"])

    def test_a_pause_that_is_too_long_gives_the_place_away(self, page: Page, one_slot: Server) -> None:
        open_live(page, one_slot)
        start(page)
        page.fill("#text", LONG)
        wait_until_heard(page)
        page.click("#pause")
        expect_state(page, "released")
        expect(page.locator("#note")).to_contain_text("Resume asks for a new one")
        eventually(lambda: not one_slot.get_json("/api/queue")["running"])
        heard = heard_sample(page)
        page.click("#pause")
        expect_state(page, "live")
        eventually(lambda: heard_sample(page) > heard + 6000, 30)

    def test_who_has_to_wait_sees_the_place_in_line_and_may_leave(
        self, page: Page, browser: Browser, one_slot: Server
    ) -> None:
        open_live(page, one_slot)
        start(page)
        page.fill("#text", LONG * 4)
        with watched_page(browser) as second:
            open_live(second.page, one_slot)
            second.page.click("#start")
            expect_state(second.page, "queued")
            expect(second.page.locator("#queue")).to_contain_text("You are next")
            second.page.fill("#text", "Early words. ")
            second.page.get_by_role("button", name="Leave").click()
            expect_state(second.page, "ended")
            expect(second.page.locator("#start")).to_be_focused()
            eventually(lambda: not one_slot.get_json("/api/queue")["queue"])
            assert second.complaints == []


class TestAround:
    def test_a_recorded_session_is_linked_afterwards(self, page: Page, fleet: Server) -> None:
        open_live(page, fleet)
        page.check("#record")
        start(page)
        page.fill("#text", "To be remembered. ")
        expect(words(page, "heard")).to_have_count(3, timeout=30_000)
        page.click("#start")
        expect_state(page, "ended")
        page.get_by_role("link", name="Open the recording").click()
        expect(page.get_by_role("heading", name="To be remembered.")).to_be_visible()

    def test_a_gateway_that_dies_is_told_in_the_page(self, browser: Browser, fleet: Server) -> None:
        worker_url = fleet.get_json("/api/workers")["workers"][0]["url"]
        with gateway([worker_url]) as edge, watched_page(browser) as watched:
            open_live(watched.page, edge)
            start(watched.page)
            watched.page.fill("#text", LONG * 4)
            expect(words(watched.page, "heard").first).to_be_visible()
            edge.kill()
            expect_state(watched.page, "failed")
            expect(watched.page.locator("#error")).to_contain_text("The connection to the gateway was lost.")
            left = watched.page.input_value("#text")
            assert left and (LONG * 4).endswith(left)

    def test_enter_starts_changes_are_not_silent_and_a_reload_loses_nothing(
        self, page: Page, fleet: Server
    ) -> None:
        open_live(page, fleet)
        page.fill("#text", "Good evening.")
        page.locator("#text").press("Enter")
        expect_state(page, "live")
        expect(words(page, "heard")).to_have_count(2, timeout=30_000)
        page.click("#advanced summary")
        page.fill("#seed", "9")
        expect(page.locator("#later")).to_contain_text("from the next start on")
        page.fill("#seed", "")
        expect(page.locator("#later")).to_be_hidden()
        page.check("#record")
        page.click("#start-anew")
        expect_state(page, "live")
        expect(page.locator("#later")).to_be_hidden()
        page.fill("#text", LONG * 4)
        expect(words(page, "heard").nth(3)).to_be_visible()
        page.reload()
        expect(page.locator("#transcript")).to_contain_text("Good evening.")
        expect(words(page, "heard").nth(3)).to_be_visible()
        left = page.input_value("#text")
        assert left and (LONG * 4).endswith(left)
        heard = words(page, "heard").count() - 2
        assert len(left.split()) >= len(LONG.split()) * 4 - heard

    @pytest.mark.parametrize("key", ["?", "help"])
    def test_the_keys_are_explained(self, page: Page, fleet: Server, key: str) -> None:
        open_live(page, fleet)
        if key == "?":
            page.keyboard.press("?")
        else:
            page.get_by_role("button", name="Keyboard shortcuts").click()
        expect(page.locator("#help")).to_contain_text("silence at once")

    def test_a_page_that_is_off_leads_home(self, page: Page, fleet: Server) -> None:
        off = {"pages": [{"id": "live", "enabled": False}]}
        httpx.put(f"{fleet.url}/api/pages", headers=ADMIN, json=off).raise_for_status()
        try:
            page.goto(f"{fleet.url}/live")
            expect(page).to_have_url(f"{fleet.url}/")
        finally:
            on = {"pages": [{"id": "live", "enabled": True}]}
            httpx.put(f"{fleet.url}/api/pages", headers=ADMIN, json=on).raise_for_status()
