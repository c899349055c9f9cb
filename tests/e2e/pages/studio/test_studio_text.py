"""The text of the studio: what is wrong with it is said beside it, and a script runs in its own direction."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from tests.e2e.browser import DESKTOP, PHONE, watched_page
from tests.e2e.pages.studio.stage import expect_state, open_studio
from tests.e2e.processes import Server
from tests.e2e.studio import fleet_with_data

LIMIT = 200


@pytest.fixture(scope="module")
def fleet() -> Iterator[Server]:
    with fleet_with_data(VOXFLEET_MAX_TEXT_CHARACTERS=str(LIMIT)) as edge:
        yield edge


@pytest.fixture(params=[DESKTOP, PHONE], ids=["desktop", "phone"])
def page(browser: Browser, request: pytest.FixtureRequest) -> Iterator[Page]:
    viewport: ViewportSize = request.param
    with watched_page(browser, viewport=viewport) as watched:
        yield watched.page
        assert watched.complaints == []


def test_a_newcomer_hears_the_voice_with_one_click_and_a_draft_stays_as_it_is(
    page: Page, fleet: Server
) -> None:
    page.goto(fleet.url)
    field, first = page.locator("#text"), page.locator("#samples button").first
    expect(page.locator("input[name=voice]").first).to_be_attached()
    text = field.input_value()
    page.click("#generate")
    expect_state(page, "done")
    expect(page.locator(".clip[data-shown] .clip-text")).to_have_text(text)
    page.fill("#text", "")
    page.reload()
    expect(field).to_have_value("")
    first.click()
    expect(field).to_have_value(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [("", "Write something first."), ("word " * 80, f"The text is {400 - 1 - LIMIT} characters too long.")],
    ids=["empty", "long"],
)
def test_what_is_wrong_is_said_in_sight_of_the_writer_and_goes_with_the_next_letter(
    page: Page, fleet: Server, text: str, words: str
) -> None:
    open_studio(page, fleet, text)
    page.click("#generate")
    problem = page.locator("#text-problem")
    expect(problem).to_have_text(words)
    expect(problem).to_be_in_viewport(ratio=1)
    assert page.evaluate(_UNCOVERED, "#text-problem")
    field = page.locator("#text")
    expect(field).to_be_focused()
    expect(field).to_have_attribute("aria-invalid", "true")
    expect(field).to_have_accessible_description(re.compile(re.escape(words)))
    expect_state(page, "empty")
    page.fill("#text", "Hello.")
    expect(problem).to_be_hidden()
    expect(field).not_to_have_attribute("aria-invalid", "true")
    expect(field).not_to_have_accessible_description(re.compile(re.escape(words)))
    page.click("#generate")
    expect_state(page, "done")


def test_what_was_wrong_with_another_text_is_said_no_more(page: Page, fleet: Server) -> None:
    open_studio(page, fleet, "...")
    page.click("#generate")
    expect(page.locator("#error")).to_contain_text("no words")
    page.fill("#text", "")
    page.click("#generate")
    expect(page.locator("[role=alert]:visible")).to_have_text(["Write something first."])


@pytest.mark.parametrize(("text", "direction"), [("مرحبا بالعالم.", "rtl"), ("Hello, world.", "ltr")])
def test_a_text_is_shown_in_the_direction_of_its_own_script(
    page: Page, fleet: Server, text: str, direction: str
) -> None:
    def expect_direction(*selectors: str) -> None:
        for selector in selectors:
            expect(page.locator(selector).first).to_have_css("direction", direction)

    open_studio(page, fleet, text)
    page.check("#record")
    expect(page.locator("#welcome-model")).to_contain_text("English")
    page.click("#generate")
    if direction == "rtl":
        page.click("#text-anyway")  # the synthetic model speaks English
    expect_state(page, "done")
    expect_direction("#text", ".clip-text")
    page.click("#session-link")
    expect_direction("#session-name", ".script-text", ".timeline-text")
    page.click("#back")
    expect_direction(".session-title-text")
    page.goto(f"{fleet.url}/live")
    page.fill("#text", text)
    expect_direction("#text")


_UNCOVERED = """(selector) => {
  const element = document.querySelector(selector);
  const { left, top, width, height } = element.getBoundingClientRect();
  return document.elementFromPoint(left + width / 2, top + height / 2) === element;
}"""
