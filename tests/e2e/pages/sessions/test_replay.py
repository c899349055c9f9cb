"""A recording is heard again: words light up, and keys and clicks lead to them."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.browser import PHONE, watched_page
from tests.e2e.pages.sessions.recordings import open_session
from tests.e2e.processes import Server, eventually

_TRANSPORT = """(length) => {
  const [time, total] = document.querySelectorAll(".session-clock span");
  time.textContent = length;
  total.textContent = ` / ${length}`;
  const parts = [...document.querySelectorAll("#transport > *, #speed")];
  const boxes = parts.map((part) => part.getBoundingClientRect());
  const stage = document.querySelector("#stage");
  const edge = stage.getBoundingClientRect().right - parseFloat(getComputedStyle(stage).paddingRight);
  const middles = boxes.map(({ top, height }) => Math.round(top + height / 2));
  return [Math.max(...boxes.map(({ right }) => right)) - edge, new Set(middles).size];
}"""


def seconds(page: Page) -> float:
    return float(page.locator("#stage").get_attribute("data-seconds") or 0)


class TestReplay:
    def test_words_light_up_while_they_are_spoken(self, page: Page, fleet: Server, recorded: str) -> None:
        open_session(page, fleet, recorded)
        page.click("#play")
        expect(page.locator(".word.now")).to_have_count(1)
        expect(page.locator(".word.heard").first).to_have_text("The")
        expect(page.locator("#play")).to_have_attribute("aria-label", "Play", timeout=15_000)  # it is over
        expect(page.locator(".word.heard")).to_have_count(7)
        timeline = fleet.get_json(f"/api/sessions/{recorded}")["timeline"]
        assert seconds(page) == pytest.approx(timeline["audio_seconds"], abs=0.05)

    def test_a_click_on_a_word_goes_there(self, page: Page, fleet: Server, recorded: str) -> None:
        open_session(page, fleet, recorded)
        page.locator(".word", has_text="jumps").click()
        timeline = fleet.get_json(f"/api/sessions/{recorded}")["timeline"]
        word = timeline["utterances"][0]["words"][4]
        assert seconds(page) >= word["first_sample"] / timeline["sample_rate"]
        expect(page.locator(".word.now, .word.heard").nth(4)).to_have_text("jumps")

    def test_it_is_played_by_the_keyboard_alone(self, page: Page, fleet: Server, recorded: str) -> None:
        open_session(page, fleet, recorded)
        page.get_by_role("slider", name="Play head").focus()
        page.keyboard.press("ArrowRight")
        assert seconds(page) == pytest.approx(2, abs=0.01)
        page.keyboard.press("Home")
        assert seconds(page) == pytest.approx(0, abs=0.01)
        page.locator(".utterance-time").first.focus()
        page.keyboard.press("Enter")
        eventually(lambda: seconds(page) > 0.3)
        page.locator("#speed").select_option("2")
        assert page.evaluate("document.querySelector('audio').playbackRate") == 2
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press("Space")
        expect(page.locator("#play")).to_have_attribute("aria-label", "Play")

    def test_a_phone_shows_it_without_scrolling_sideways(
        self, browser: Browser, fleet: Server, recorded: str
    ) -> None:
        with watched_page(browser, viewport=PHONE) as watched:
            open_session(watched.page, fleet, recorded)
            assert watched.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
            assert watched.complaints == []

    @pytest.mark.parametrize("length", ["0:02.4", "59:59.9"])
    def test_the_player_fits_its_stage_on_a_phone_however_long_the_recording(
        self, browser: Browser, fleet: Server, recorded: str, length: str
    ) -> None:
        with watched_page(browser, viewport=PHONE) as watched:
            open_session(watched.page, fleet, recorded)
            excess, lines = watched.page.evaluate(_TRANSPORT, length)
            assert (excess <= 0, lines) == (True, 1)
            expect(watched.page.get_by_label("Speed")).to_be_visible()

    def test_an_interrupted_recording_is_shown_as_one(self, page: Page, fleet: Server, recorded: str) -> None:
        answer = fleet.get_json(f"/api/sessions/{recorded}")
        answer["session"]["state"] = "interrupted"
        page.route(f"**/api/sessions/{recorded}", lambda route: route.fulfill(json=answer))
        open_session(page, fleet, recorded)
        expect(page.locator("#interrupted")).to_contain_text("was interrupted")
        expect(page.locator(".badge")).to_have_text("interrupted")

    def test_a_session_that_is_not_there_is_said(self, browser: Browser, fleet: Server) -> None:
        with watched_page(browser) as watched:  # the browser complains of the 404
            watched.page.goto(f"{fleet.url}/sessions/..%2F..%2Fetc")
            watched.page.goto(f"{fleet.url}/sessions/s_nothing")
            expect(watched.page.locator("#problem")).to_contain_text("There is no such session.")
