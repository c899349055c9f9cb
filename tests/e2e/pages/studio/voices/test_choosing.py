"""Voices in their list."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, Route, expect

from tests.e2e.browser import WatchedPage
from tests.e2e.processes import Server
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


def test_a_voice_that_cannot_be_heard_says_why(watched: WatchedPage, fleet: Server) -> None:
    page = watched.page
    page.goto(fleet.url)
    hear = page.get_by_role("button", name="Hear Default")
    full = {"error": {"code": "queue_full", "message": "the queue is full", "param": None}}
    page.route("**/preview", lambda route: route.fulfill(status=503, json=full), times=1)
    hear.click()
    told = page.locator("#voices [role=alert]")
    expect(told).to_have_text("The queue is full. Try again in a moment.")
    expect(told).to_be_in_viewport(ratio=1)
    assert told.evaluate("it => it.offsetHeight") > 20  # for who has no pointer, and sees no titles
    expect(hear).to_have_attribute("title", "The queue is full. Try again in a moment.")
    watched.complaints.clear()  # the browser's, of the 503
    hear.click()
    expect(told).to_have_count(0)
    expect(hear).not_to_have_attribute("title", "The queue is full. Try again in a moment.")


MANY = 150
_IN_SIGHT = """(card) => {
  const frame = card.closest("#voices").getBoundingClientRect(), box = card.getBoundingClientRect();
  return box.top >= frame.top && box.bottom <= frame.bottom;
}"""


def many_voices(edge: Server) -> list[dict[str, Any]]:
    """The service's own voice, over and over, in two languages and styles."""
    [default, *_] = edge.get_json("/api/voices")["voices"]
    names = [
        "A voice whose name is longer than its card is wide",
        "صوت اسمه أطول من عرض بطاقته في القائمة كلها",
    ]
    kinds = [{"language": "en", "tags": ["calm"]}, {"language": "ar", "tags": ["bright"]}]
    custom = {**default, "kind": "custom", "preview_url": None}
    return [
        {**custom, **kinds[number % 2], "id": f"v_{number}", "name": f"{names[number % 2]} {number}"}
        for number in range(MANY)
    ]


@pytest.fixture
def many(page: Page, fleet: Server) -> list[dict[str, Any]]:
    """More voices than anybody looks through."""
    voices = many_voices(fleet)

    def answer(route: Route) -> None:
        if route.request.method == "GET":
            route.fulfill(json={"voices": voices})
        else:
            route.continue_()

    page.route("**/api/voices", answer)
    return voices


def test_a_language_is_read_out_apart_from_the_name(
    page: Page, fleet: Server, many: list[dict[str, Any]]
) -> None:
    page.goto(fleet.url)
    expect(page.locator("[data-voice=v_0] input")).to_have_accessible_name(re.compile(" 0 en The"))


class TestManyVoices:
    @pytest.mark.parametrize("path", ["/", "/live"])
    def test_the_voice_that_was_chosen_is_in_sight(
        self, page: Page, fleet: Server, many: list[dict[str, Any]], path: str
    ) -> None:
        page.goto(fleet.url + path)
        page.locator("[data-voice=v_100] .voice-pick").click()
        page.evaluate("scrollTo(0, 0)")
        page.reload()
        chosen = page.locator(".voice-card:has(input:checked)")
        expect(chosen).to_have_attribute("data-voice", "v_100")
        assert chosen.evaluate(_IN_SIGHT)
        assert page.evaluate("scrollY") == 0

    def test_there_is_room_to_type_beside_two_menus(
        self, page: Page, fleet: Server, many: list[dict[str, Any]]
    ) -> None:
        page.goto(fleet.url)
        menus = page.locator("#voice-language, #voice-style")
        expect(menus.nth(0)).to_be_visible()
        expect(menus.nth(1)).to_be_visible()
        boxes = [page.locator(name).bounding_box() for name in ("#voice-search", "#voices")]
        search, around = [box["width"] for box in boxes if box]
        assert search > 0.9 * around

    def test_a_name_is_cut_at_its_end_and_there_for_who_points_at_it(
        self, page: Page, fleet: Server, many: list[dict[str, Any]]
    ) -> None:
        page.goto(fleet.url)
        for number, direction in enumerate(("ltr", "rtl")):
            name = page.locator(".voice-name").nth(number)
            expect(name).to_have_attribute("title", many[number]["name"])
            expect(name).to_have_css("direction", direction)

    def test_a_search_draws_no_card_anew(self, page: Page, fleet: Server, many: list[dict[str, Any]]) -> None:
        page.goto(fleet.url)
        cards = page.locator(".voice-card[data-voice]")
        expect(cards).to_have_count(MANY)
        cards.evaluate_all("(all) => all.forEach((card) => (card.mark = 'as it was'))")
        page.fill("#voice-search", "صوت")
        expect(cards).to_have_count(MANY // 2 + 1)  # and the chosen one
        page.locator("[data-voice=v_7] .voice-pick").click()
        page.fill("#voice-search", "")
        expect(cards).to_have_count(MANY)
        assert cards.evaluate_all("(all) => all.filter(({ mark }) => mark).length") == MANY
        expect(page.locator(".voice-card:has(input:checked)")).to_have_attribute("data-voice", "v_7")
