"""Voices in their list."""

from __future__ import annotations

from pathlib import Path

import httpx
from playwright.sync_api import Page, expect

from tests.e2e.studio import fleet_with_data

_OVER_THE_NEXT = """(links) => links.filter((link) =>
  link.getBoundingClientRect().bottom > link.closest(".voice-card").getBoundingClientRect().bottom).length"""


def test_a_card_with_more_to_say_does_not_lie_over_the_next_one(page: Page, recording: Path) -> None:
    with fleet_with_data() as edge, httpx.Client(base_url=edge.url, timeout=60) as http:
        for number in range(5):
            files = {"audio": ("voice.wav", recording.read_bytes())}
            http.post("/api/voices", data={"name": f"Mute {number}"}, files=files).raise_for_status()
        page.goto(edge.url)
        links = page.locator(".voice-card .voice-agree")
        expect(links).to_have_count(5)
        assert links.evaluate_all(_OVER_THE_NEXT) == 0
