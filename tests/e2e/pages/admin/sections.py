"""What is spoken for the tests of the admin page, and how its sections are opened."""

from __future__ import annotations

from playwright.sync_api import Page

SENTENCE = "The quick brown fox jumps over the lazy dog."
PARAGRAPH = " ".join([SENTENCE] * 12)
LONG = " ".join([PARAGRAPH] * 5)


def unfold(page: Page, *sections: str) -> None:
    for section in sections:
        page.locator(f"#{section} summary").first.click()
