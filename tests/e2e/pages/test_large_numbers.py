"""Lists that are longer than one page of answers."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

from playwright.sync_api import Page, Route, expect

from tests.e2e.processes import Server

PAGE = 50
JOBS = 120


def job(number: int) -> dict[str, Any]:
    told = {"id": f"j_{number}", "title": f"Text {number}", "state": "complete", "timestamps": "none"}
    length = {"characters": 5, "characters_done": 5, "progress": 1.0, "audio_seconds": 9.9}
    open_ends = {"eta_seconds": None, "error": None, "finish_reason": "stop", "size_bytes": 9}
    times = {"created_at": "2026-11-28T21:20:53+00:00", "ended_at": "2026-11-28T21:20:55+00:00"}
    return {**told, **length, **open_ends, **times, "voice": "default", "format": "mp3", "owner_is_me": True}


def answer(route: Route) -> None:
    before = int(parse_qs(urlsplit(route.request.url).query).get("before", ["0"])[0])
    behind = before + PAGE
    jobs = [job(number) for number in range(before, min(behind, JOBS))]
    route.fulfill(json={"jobs": jobs, "next_before": str(behind) if behind < JOBS else None})


def test_older_long_texts_are_shown_when_they_are_asked_for(page: Page, fleet: Server) -> None:
    page.route("**/api/jobs*", answer)
    page.goto(f"{fleet.url}/sessions")
    rows, more = page.locator(".job-row"), page.locator("#job-more")
    for count in (PAGE, 2 * PAGE):
        expect(rows).to_have_count(count)
        more.click()
    expect(rows).to_have_count(JOBS)
    expect(rows.last).to_contain_text("Text 119")
    expect(more).to_be_hidden()
