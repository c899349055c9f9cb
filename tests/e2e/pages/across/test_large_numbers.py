"""Lists that are longer than one page of answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from playwright.sync_api import Page, Request, Route, expect

from tests.e2e.processes import Server

PAGE = 50
JOBS = 120


def job(number: int) -> dict[str, Any]:
    told = {"id": f"j_{number}", "title": f"Text {number}", "state": "complete", "timestamps": "none"}
    length = {"characters": 5, "characters_done": 5, "progress": 1.0, "audio_seconds": 9.9}
    open_ends = {"eta_seconds": None, "error": None, "finish_reason": "stop", "size_bytes": 9}
    times = {"created_at": "2026-11-28T21:20:53+00:00", "ended_at": "2026-11-28T21:20:55+00:00"}
    return {**told, **length, **open_ends, **times, "voice": "default", "format": "mp3", "owner_is_me": True}


def session(number: int) -> dict[str, Any]:
    told = {"id": f"s_{number}", "title": f"Text {number}", "kind": "live", "state": "complete", "seed": 3}
    size = {"audio_seconds": 3.0, "size_bytes": 99, "created_at": "2026-11-28T21:20:53+00:00"}
    return {**told, **size, "voice": "default", "shared": False}


def row_behind(request: Request) -> int:
    """The number of the row that a request for a page begins with."""
    return int(parse_qs(urlsplit(request.url).query).get("before", ["0"])[0])


def page_of(rows: list[dict[str, Any]], name: str, before: int) -> dict[str, Any]:
    behind = before + PAGE
    return {name: rows[before:behind], "next_before": str(behind) if behind < len(rows) else None}


def answer(route: Route) -> None:
    rows = [job(number) for number in range(JOBS)]
    route.fulfill(json=page_of(rows, "jobs", row_behind(route.request)))


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


@pytest.mark.parametrize(
    ("name", "row", "going_on", "rows", "more"),
    [
        ("jobs", job, "running", ".job-row", "#job-more"),
        ("sessions", session, "active", ".session-row[data-session]", "#more"),
    ],
)
def test_a_list_is_asked_for_again_as_far_as_something_goes_on(
    page: Page,
    fleet: Server,
    name: str,
    row: Callable[[int], dict[str, Any]],
    going_on: str,
    rows: str,
    more: str,
) -> None:
    listed = [row(number) for number in range(JOBS)]
    listed[3]["state"] = going_on
    asked: list[int] = []

    def tell(route: Route) -> None:
        asked.append(row_behind(route.request))
        route.fulfill(json=page_of(listed, name, asked[-1]))

    page.route(f"**/api/{name}?*", tell)
    page.clock.install()
    page.goto(f"{fleet.url}/sessions")
    for count in (PAGE, 2 * PAGE):
        expect(page.locator(rows)).to_have_count(count)
        page.click(more)
    expect(page.locator(rows)).to_have_count(JOBS)
    asked.clear()
    listed[0] = {**row(0), "title": "Another name"}
    for times in (1, 2):
        with page.expect_response(f"**/api/{name}?*"):
            page.clock.run_for(4000)
        assert asked == [0] * times
        expect(page.locator(rows)).to_have_count(JOBS)
    expect(page.locator(rows).first).to_contain_text("Another name")


_OWN_WIDTH = """(select) => {
  select.style.flex = "none";
  return select.offsetWidth;
}"""


def test_the_menu_of_a_block_is_as_wide_as_the_chosen_voice_has_it(page: Page, fleet: Server) -> None:
    """Not as the longest of hundreds of names, for which all would be measured at each opening."""
    default = (fleet.get_json("/api/voices") or {})["voices"][0]
    long = [
        {**default, "id": f"v_{number}", "kind": "custom", "name": "long name " * 9} for number in range(200)
    ]
    page.route("**/api/voices", lambda route: route.fulfill(json={"voices": [default, *long]}))
    block = {"kind": "paragraph", "text": "Once.", "voice": "default"}
    made = httpx.post(f"{fleet.url}/api/books", json={"title": "The Walk", "blocks": [block]})
    page.goto(f"{fleet.url}/book/{made.raise_for_status().json()['id']}")
    page.get_by_role("button", name="Voice, pause and takes").click()
    menu = page.locator(".block-tools .book-voice select")
    expect(menu.locator("option")).to_have_count(202)  # and the book's own
    beside_others = menu.evaluate(_OWN_WIDTH)
    menu.evaluate(
        "(select) => [...select.options].filter((one) => !one.selected).forEach((one) => one.remove())"
    )
    assert menu.evaluate(_OWN_WIDTH) == beside_others
