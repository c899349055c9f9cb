"""Clips in the history of the studio page."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.e2e.pages.studio.stage import expect_state, figure

SENTENCE = "The quick brown fox sleeps."


def speak(page: Page, text: str) -> int:
    """Generate it; samples of the clip, once it is in the history."""
    page.fill("#text", text)
    page.click("#generate")
    expect_state(page, "done")
    expect(page.locator(".clip[data-shown] .clip-text")).to_have_text(text)
    return figure(page, "received-samples")
