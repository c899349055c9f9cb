"""The stage of the studio page: a text on it, and what it says of itself."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.e2e.processes import Server

SENTENCE = "The quick brown fox jumps over the lazy dog."
PARAGRAPH = " ".join([SENTENCE] * 12)


def open_studio(page: Page, edge: Server, text: str = SENTENCE) -> None:
    page.goto(edge.url)
    expect(page.locator("input[name=voice]").first).to_be_attached()
    page.fill("#text", text)


def figure(page: Page, name: str) -> int:
    """A number among the data attributes of the stage."""
    return int(page.locator("#stage").get_attribute(f"data-{name}") or 0)


def expect_state(page: Page, state: str) -> None:
    expect(page.locator("#stage")).to_have_attribute("data-state", state, timeout=30_000)


def expect_player(page: Page, state: str) -> None:
    expect(page.locator("#stage")).to_have_attribute("data-player", state, timeout=30_000)
