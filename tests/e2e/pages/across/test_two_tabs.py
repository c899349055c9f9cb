"""What another tab, or the service, does to what one is at."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Page, Route, expect

from tests.e2e.browser import WatchedPage
from tests.e2e.chats import answer_with, events, send
from tests.e2e.processes import Server
from tests.e2e.studio import fleet_with_data, write_voice


@pytest.fixture(scope="module")
def fleet() -> Iterator[Server]:
    with fleet_with_data() as edge:
        yield edge


@contextlib.contextmanager
def missing(watched: WatchedPage) -> Iterator[None]:
    """Something is asked for that is not there any more, of which the browser tells."""
    with watched.page.expect_console_message(lambda message: "404" in message.text):
        yield
    watched.complaints.clear()


def new_book(fleet: Server, *texts: str) -> str:
    blocks = [{"kind": "paragraph", "text": text} for text in texts]
    made = httpx.post(f"{fleet.url}/api/books", json={"title": "The Walk", "blocks": blocks})
    return str(made.raise_for_status().json()["id"])


def test_a_book_that_is_deleted_while_it_is_open_leads_to_the_others(
    watched: WatchedPage, fleet: Server
) -> None:
    page = watched.page
    book = new_book(fleet, "Once.")
    page.goto(f"{fleet.url}/book/{book}")
    expect(page.locator(".block-text")).to_have_text("Once.")
    httpx.delete(f"{fleet.url}/api/books/{book}").raise_for_status()
    with missing(watched):
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    problem = page.locator("#problem")
    expect(problem).to_contain_text("not there any more")
    problem.get_by_role("button", name="All books").click()
    page.wait_for_url("**/book")


def test_before_a_book_is_there_nothing_is_offered_of_it(watched: WatchedPage, fleet: Server) -> None:
    with missing(watched):
        watched.page.goto(f"{fleet.url}/book/b_AAAAAAAAAAAAAAAAAAAAAA")
    expect(watched.page.locator("#problem")).to_be_visible()
    expect(watched.page.locator("#cast")).to_be_disabled()


def test_a_title_that_is_emptied_is_there_again(page: Page, fleet: Server) -> None:
    page.goto(f"{fleet.url}/book/{new_book(fleet, 'Once.')}")
    expect(page.locator("#cast")).to_be_enabled()
    title = page.locator("#title")
    title.fill(" ")
    title.press("Tab")
    expect(title).to_have_value("The Walk")


def test_a_pronunciation_is_typed_on_while_takes_are_made(page: Page, fleet: Server) -> None:
    page.goto(f"{fleet.url}/book/{new_book(fleet, 'Once.')}")
    page.get_by_role("button", name="Voice, pause and takes").click()
    page.get_by_label("Word", exact=True).fill("Once")
    page.locator("[data-field=spoken]").press_sequentially("wu")
    page.evaluate("document.getElementById('make').click()")
    expect(page.locator(".takes li[data-state=ready]")).to_have_count(1, timeout=60_000)
    page.keyboard.type("nce")
    page.keyboard.press("Enter")
    expect(page.locator(".tool-words li")).to_have_text("Once → wunce")


def test_a_word_that_another_tab_forgot_leaves_the_list(watched: WatchedPage, fleet: Server) -> None:
    page = watched.page
    words = f"{fleet.url}/api/lexicon/words/Nguyen"
    httpx.put(words, json={"spoken": "win"}).raise_for_status()
    page.goto(fleet.url)
    page.locator("#advanced summary").click()
    page.locator("#lexicon").click()
    forget = page.locator("#lexicon-entries").get_by_role("button").last
    expect(forget).to_be_visible()
    httpx.delete(words).raise_for_status()
    with missing(watched):
        forget.click()
    expect(page.locator("#lexicon-sheet")).to_contain_text("This word is not in the list any more.")
    expect(page.locator("#lexicon-entries")).to_have_text("No words yet.")


def test_what_another_tab_changed_of_a_voice_is_not_written_over(
    page: Page, fleet: Server, tmp_path: Path
) -> None:
    files = {"audio": ("voice.wav", write_voice(tmp_path / "voice.wav").read_bytes())}
    data = {"name": "Bert", "description": "old", "transcript": "Once."}
    made = httpx.post(f"{fleet.url}/api/voices", data=data, files=files, timeout=60)
    voice = f"{fleet.url}/api/voices/{made.raise_for_status().json()['id']}"
    page.goto(fleet.url)
    page.get_by_role("button", name="Edit Bert").click()
    expect(page.locator("#voice-transcript")).to_have_value("Once.")
    httpx.patch(voice, json={"name": "Berta", "description": "new"}).raise_for_status()
    page.locator("#voice-transcript").fill("")
    page.locator("#voice-name").press("Enter")
    expect(page.get_by_role("button", name="Edit Berta")).to_be_visible()
    now = httpx.get(voice).json()
    assert (now["name"], now["description"], now["has_transcript"]) == ("Berta", "new", False)


def test_a_voice_that_another_tab_deleted_leaves_the_list(
    watched: WatchedPage, fleet: Server, tmp_path: Path
) -> None:
    page = watched.page
    recording = write_voice(tmp_path / "voice.wav").read_bytes()
    files = {"audio": ("voice.wav", recording)}
    made = httpx.post(f"{fleet.url}/api/voices", data={"name": "Anna"}, files=files, timeout=60)
    voice = f"{fleet.url}/api/voices/{made.raise_for_status().json()['id']}"
    page.goto(fleet.url)
    page.get_by_role("button", name="Edit Anna").click()
    name = page.locator("#voice-name")
    expect(name).to_have_value("Anna")
    httpx.delete(voice).raise_for_status()
    with missing(watched):
        name.press("Enter")
    expect(page.locator("#voice-sheet")).to_contain_text("not there any more")
    page.keyboard.press("Escape")
    expect(page.locator(".voice-card", has_text="Anna")).to_have_count(0)


def hold(held: dict[str, Route], name: str, route: Route) -> None:
    held[name] = route


def test_chats_of_two_tabs_at_once_are_one_conversation(page: Page, fleet: Server) -> None:
    tabs = {"here": page, "there": page.context.new_page()}
    held: dict[str, Route] = {}
    for name, tab in tabs.items():
        answer_with(tab)
        tab.route("**/v1/chat/completions", partial(hold, held, name))
        tab.goto(f"{fleet.url}/chat")
        expect(tab.locator(".lamp")).to_have_attribute("data-state", "ready")
    for name, tab in tabs.items():
        with tab.expect_request("**/v1/chat/completions"):
            send(tab, f"From {name}.")
        expect(tab.locator("#chat")).to_have_attribute("data-state", "asking")
    for name, route in held.items():
        route.fulfill(body=events(f"To {name}."), headers={"content-type": "text/event-stream"})
        expect(tabs[name].locator("#chat")).to_have_attribute("data-state", "idle")
    for tab in tabs.values():
        expect(tab.locator(".question, .answer")).to_have_text(
            ["From here.", re.compile("To here."), "From there.", re.compile("To there.")]
        )
