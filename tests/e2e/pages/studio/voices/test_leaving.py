"""Leaving the sheet in which voices are made: what was written stays, what comes late disturbs nothing."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, expect

from tests.e2e.browser import DESKTOP, watched_page
from tests.e2e.pages.studio.voices.sheet import held, make_from_file, open_sheet
from tests.e2e.processes import Server


def test_leaving_the_sheet_keeps_what_was_recorded_and_a_file_is_heard_and_trimmed(
    browser: Browser, fleet: Server, recording: Path
) -> None:
    with watched_page(browser, viewport=DESKTOP) as watched:
        page = watched.page
        open_sheet(page, fleet)
        page.click("#voice-record")
        expect(page.locator(".rec-time")).to_contain_text("0:02", timeout=10_000)
        page.keyboard.press("Escape")
        expect(page.locator("#status")).to_contain_text("Your recording is kept")
        page.click("#new-voice")
        expect(page.locator(".rec .take")).to_be_visible()
        page.set_input_files("#voice-file", recording)
        take = page.locator(".drop .take")
        expect(take.locator(".take-verdict")).to_contain_text("Sounds fine.")
        take.get_by_role("button", name="Play the recording").click()
        expect(take.get_by_role("button", name="Stop the recording")).to_be_visible()
        take.locator(".take-to").fill("6")
        page.fill("#voice-name", "Trimmed")
        page.check("#consent")
        page.fill("#consent-by", "Ann Example")
        page.click("#voice-save")
        expect(page.locator(".voice-card:has(:checked)")).to_contain_text("Trimmed")
        assert watched.complaints == []
    voices = fleet.get_json("/api/voices")["voices"]
    assert next(voice for voice in voices if voice["name"] == "Trimmed")["audio_seconds"] < 6.01


def test_leaving_the_sheet_keeps_what_was_written_before_anything_is_recorded(
    browser: Browser, fleet: Server
) -> None:
    with watched_page(browser) as watched:
        page = watched.page
        page.goto(fleet.url)
        page.click("#new-voice")
        page.fill("#voice-name", "Ada")
        page.keyboard.press("Escape")
        expect(page.locator("#voice-sheet")).to_be_hidden()
        page.click("#new-voice")
        expect(page.locator("#voice-name")).to_have_value("Ada")
        page.fill("#voice-name", "")
        page.keyboard.press("Escape")
        expect(page.locator("#status")).not_to_contain_text("recording is kept")
        assert watched.complaints == []


def test_what_is_answered_after_the_sheet_was_left_changes_nothing_of_the_next_one(
    browser: Browser, fleet: Server, recording: Path
) -> None:
    with watched_page(browser, viewport=DESKTOP) as watched:
        page = watched.page
        with held(page, "**/api/voices"):
            make_from_file(page, fleet, recording, "Late")
            page.get_by_role("button", name="Make it without consent").click()
            page.keyboard.press("Escape")
            page.click("#new-voice")
            page.fill("#voice-name", "Next")
        expect(page.locator(".voice-card", has_text="Late")).to_have_count(1)
        expect(page.locator("#voice-name")).to_be_visible()
        expect(page.locator("#voice-name")).to_have_value("Next")
        assert watched.complaints == []
