"""Recordings for the tests of the session pages."""

from __future__ import annotations

import httpx
from playwright.sync_api import Page, expect

from tests.e2e.processes import Server

SENTENCE = "The quick brown fox jumps high enough."
MARKUP = "<img src=x onerror=\"document.title='owned'\">"


def record(edge: Server, text: str, **headers: str) -> str:
    """Speak and record a clip; the id of its session."""
    response = httpx.post(f"{edge.url}/tts", json={"text": text, "record": True}, headers=headers, timeout=60)
    response.raise_for_status()
    return response.headers["x-session-id"]


def open_session(page: Page, edge: Server, session_id: str) -> None:
    page.goto(f"{edge.url}/sessions/{session_id}")
    expect(page.locator("#play")).to_be_enabled()
