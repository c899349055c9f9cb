"""The book pages: from an epub to an audiobook of two voices, on a desktop and on a phone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, Route, expect

from tests.e2e.browser import DESKTOP, PHONE, watched_page
from tests.e2e.pages.chapters import CHAPTERS
from tests.e2e.processes import Server
from tests.e2e.studio import fleet_with_data, write_voice
from tests.gateway.documents.files import epub

SPOKEN = 60_000
"""Milliseconds that a few sentences may take on a busy machine."""
DROP = """() => {
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File(["Another one."], "other.txt", { type: "text/plain" }));
  document.dispatchEvent(new DragEvent("drop", { dataTransfer, cancelable: true }));
}"""
"""Another file is dropped on the page."""


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_voice(tmp_path_factory.mktemp("voice") / "voice.wav")


@pytest.fixture(scope="module")
def fleet(recording: Path) -> Iterator[Server]:
    """A gateway with a database, and a voice beside the default one."""
    with fleet_with_data() as edge, httpx.Client(base_url=edge.url, timeout=60) as http:
        statement = http.get("/api/voices/consent").json()["statement"]
        fields = {"name": "Anna", "consent_by": "Anna", "consent_statement": statement}
        made = http.post("/api/voices", data=fields, files={"audio": ("voice.wav", recording.read_bytes())})
        assert made.status_code == 201, made.text
        yield edge


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("story") / "lamp.epub"
    contents = [("The Harbour", "one.xhtml"), ("The Storm", "two.xhtml")]
    path.write_bytes(epub(CHAPTERS, contents))
    return path


def begin(page: Page, fleet: Server, story: Path) -> None:
    """From the shelf to the text of the book, with a voice for what Anna says."""
    page.goto(f"{fleet.url}/book")
    page.set_input_files("#file", story)
    page.wait_for_url("**/book/b_*")
    expect(page.locator("#title")).to_have_value("The Walk")
    page.get_by_role("button", name="Voices for dialogue").click()
    page.get_by_label("In paragraphs with these words").fill("anna")
    page.locator("#sheet-voice").select_option(label="Anna")
    page.get_by_label("In paragraphs with these words").press("Enter")
    expect(page.locator(".block[data-cast] .block-text")).to_have_text(["“Is he back?”"])


def export(page: Page) -> bytes:
    """The m4b of the book, once all of it is made."""
    expect(page.locator("#progress-words")).to_have_text("all spoken", timeout=SPOKEN)
    page.get_by_role("button", name="Export").click()
    with page.expect_download() as download:
        page.get_by_role("button", name="M4B").click()
    assert download.value.suggested_filename == "The Walk.m4b"
    return Path(download.value.path()).read_bytes()


def test_an_epub_becomes_an_audiobook_of_two_voices(browser: Browser, fleet: Server, story: Path) -> None:
    with watched_page(browser, viewport=DESKTOP, accept_downloads=True) as watched:
        page = watched.page
        begin(page, fleet, story)
        _edit(page)
        page.locator("#make").click()
        audiobook = export(page)
        assert audiobook[4:8] == b"ftyp"
        assert b"The Harbour" in audiobook
        assert b"The Storm" in audiobook
        page.reload()
        expect(page.locator("#progress-words")).to_have_text("all spoken")
        _another_take(page)
        page.get_by_role("button", name="Hear: The Storm").focus()
        page.get_by_role("button", name="Hear: The Storm").click()
        expect(page.locator(".block[data-now] .block-text")).to_have_text("The Storm")
        expect(page.locator("#reader")).to_be_visible()
        expect(page.locator("#reader .word.heard")).to_have_text(["The", "Storm"])
        assert watched.complaints == []


def _edit(page: Page) -> None:
    """Text in place, split and joined; a block moved by the keyboard, and one removed and brought back."""
    text = page.locator(".block-text")
    rain = text.filter(has_text="The rain fell")
    rain.click()
    page.keyboard.press("End")
    page.keyboard.type(" It was cold.")
    expect(page.locator("#saving")).to_have_attribute("aria-live", "off")  # news of it are not read out
    for _ in "It was cold.":
        page.keyboard.press("ArrowLeft")
    page.keyboard.press("Enter")
    expect(text.last).to_have_text("It was cold.")
    page.keyboard.press("Alt+ArrowUp")
    expect(text.last).to_have_text("The rain fell on the roof.")
    page.keyboard.press("Alt+ArrowDown")
    expect(text.last).to_have_text("It was cold.")
    grip = page.get_by_role("button", name="or drag: It was cold.")
    grip.press("ArrowUp")
    expect(text.last).to_have_text("The rain fell on the roof.")
    expect(grip).to_be_focused()
    grip.drag_to(page.locator(".block").last, target_position={"x": 200, "y": 70})
    expect(text.last).to_have_text("It was cold.")
    count = text.count()
    page.get_by_role("checkbox", name="Select: It was cold.").check()
    page.locator("#bulk").get_by_role("button", name="Remove").click()
    expect(text).to_have_count(count - 1)
    page.get_by_role("button", name="Undo").click()
    expect(text).to_have_count(count)
    expect(page.locator("#saving")).to_have_text("Saved", timeout=SPOKEN)


def _another_take(page: Page) -> None:
    page.get_by_role("button", name="Voice, pause and takes: Anna lit").click()
    page.get_by_role("button", name="Make another take").click()
    ready = page.locator(".takes li[data-state=ready]")
    expect(ready).to_have_count(2, timeout=SPOKEN)
    ready.last.get_by_role("radio").check()
    expect(ready.last.get_by_role("radio")).to_be_checked()
    ready.first.get_by_role("button", name="Delete the take").click()
    expect(ready).to_have_count(1)
    expect(ready.get_by_role("radio")).to_be_checked()


def _drag_with_a_finger(page: Page, moved: str, behind: str) -> None:
    touch = page.context.new_cdp_session(page)
    grip = page.get_by_role("button", name=f"or drag: {moved}").bounding_box()
    row = page.locator(".block", has_text=behind).bounding_box()
    assert grip and row
    x, start, end = grip["x"] + 8, grip["y"] + 8, row["y"] + row["height"] - 4
    for kind, y in (("touchStart", start), ("touchMove", start + 20), ("touchMove", end), ("touchEnd", None)):
        points = [] if y is None else [{"x": x, "y": y}]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
    touch.detach()


def test_the_same_on_a_phone(browser: Browser, fleet: Server, story: Path) -> None:
    with watched_page(browser, viewport=PHONE, accept_downloads=True, has_touch=True) as watched:
        page = watched.page
        begin(page, fleet, story)
        _drag_with_a_finger(page, "The Harbour", "Anna lit")
        expect(page.locator(".block-text").nth(1)).to_have_text("The Harbour")
        page.get_by_role("button", name="Hear it").click()  # nothing is made yet: it is made, and waited for
        expect(page.locator("#reader .reader-text")).to_have_text("Anna lit the lamp.")
        assert export(page)[4:8] == b"ftyp"
        expect(page.locator(".block[data-now] .block-text")).not_to_have_text("Anna lit the lamp.")
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        assert watched.complaints == []


def until_held(page: Page, asked: list[Route], count: int) -> None:
    """So many requests wait for their answers."""
    while len(asked) < count:
        page.wait_for_timeout(10)


class TestAnswersThatComeLate:
    def test_the_shelf_shows_what_was_asked_for_last(self, browser: Browser, fleet: Server) -> None:
        progress = {"blocks": 1, "ready": 1, "making": 0, "queued": 0, "seconds_left": None}
        book = {"id": "b_1", "title": "Gone by now", "progress": progress}
        asked: list[Route] = []
        with watched_page(browser) as watched:
            page = watched.page
            page.route("**/api/books", lambda route: asked.append(route))
            page.goto(f"{fleet.url}/book")
            for _ in range(2):
                with page.expect_request("**/api/books"):
                    page.evaluate("dispatchEvent(new Event('apikey'))")
            until_held(page, asked, 3)
            *late, last = asked
            last.fulfill(json={"books": []})
            expect(page.locator("#none")).to_be_visible()
            for route in late:
                route.fulfill(json={"books": [book]})
            page.evaluate("new Promise((resolve) => setTimeout(resolve, 50))")
            expect(page.locator("[data-book]")).to_have_count(0)
            assert watched.complaints == []

    def test_one_book_is_begun_at_a_time(self, browser: Browser, fleet: Server, story: Path) -> None:
        asked: list[Route] = []
        with watched_page(browser) as watched:
            page = watched.page
            page.route("**/api/documents", lambda route: asked.append(route))
            page.goto(f"{fleet.url}/book")
            with page.expect_request("**/api/documents"):
                page.set_input_files("#file", story)
            page.evaluate(DROP)
            expect(page.locator("#begin")).to_be_disabled()
            until_held(page, asked, 1)
            asked[0].continue_()
            page.wait_for_url("**/book/b_*")
            expect(page.locator("#title")).to_have_value("The Walk")
            assert len(asked) == 1 and watched.complaints == []

    def test_a_book_is_opened_once(self, browser: Browser, fleet: Server, story: Path) -> None:
        asked: list[Route] = []
        with watched_page(browser) as watched:
            page = watched.page
            page.goto(f"{fleet.url}/book")
            page.set_input_files("#file", story)
            page.wait_for_url("**/book/b_*")
            page.route("**/api/books/*", lambda route: asked.append(route))
            page.reload()
            with page.expect_request("**/api/books/*"):
                page.evaluate("dispatchEvent(new Event('apikey'))")
            until_held(page, asked, 2)
            for route in asked:
                route.continue_()
            expect(page.locator("#title")).to_have_value("The Walk")
            page.evaluate("new Promise((resolve) => setTimeout(resolve, 50))")
            expect(page.locator("#voice-place > *")).to_have_count(1)
            assert watched.complaints == []


def test_a_long_name_of_a_voice_leaves_room_for_buttons_and_titles_run_as_they_are_read(
    page: Page, fleet: Server, recording: Path
) -> None:
    with httpx.Client(base_url=fleet.url, timeout=60) as http:
        statement = http.get("/api/voices/consent").json()["statement"]
        long_name = "Donaudampfschifffahrtsgesellschaftskapitaensmuetzenabzeichen"
        named = {"name": long_name, "consent_by": "Anna", "consent_statement": statement}
        voice = http.post(
            "/api/voices", data=named, files={"audio": ("v.wav", recording.read_bytes())}
        ).json()
        block = {"text": "Once.", "voice": voice["id"]}
        made = http.post("/api/books", json={"title": "שם הספר", "blocks": [block]}).json()
        page.set_viewport_size(PHONE)
        page.goto(f"{fleet.url}/book/{made['id']}")
        name = page.locator(".block-voice-name")
        expect(name).to_have_text(long_name)
        buttons = page.locator(".block-buttons").bounding_box()
        box = name.bounding_box()
        assert box is not None
        assert buttons is not None
        assert box["x"] + box["width"] <= buttons["x"]
        direction = "(field) => getComputedStyle(field).direction"
        assert page.locator("#title").evaluate(direction) == "rtl"
        http.delete(f"/api/voices/{voice['id']}")
        page.reload()
        expect(name).to_have_text("a deleted voice")
        page.get_by_role("button", name="Make: Once.").click()
        expect(page.locator(".block-said")).to_have_text(
            re.compile("^failed: This voice is not there any more")
        )
        page.get_by_role("button", name="Voice, pause and takes: Once.").click()
        expect(page.locator(".takes")).to_contain_text("This voice is not there any more")
        http.delete(f"/api/books/{made['id']}")


def test_a_pasted_text_is_not_left_without_a_question_until_it_is_a_book(
    browser: Browser, fleet: Server
) -> None:
    leave = "() => !dispatchEvent(new Event('beforeunload', { cancelable: true }))"
    with watched_page(browser) as watched:
        page = watched.page
        page.goto(f"{fleet.url}/book")
        assert not page.evaluate(leave)
        page.fill("#text", "Once upon a time.")
        assert page.evaluate(leave)
        page.click("#begin")
        page.wait_for_url("**/book/b_*")
        page.go_back()
        expect(page.locator("#text")).to_have_value("")
        assert watched.complaints == []


def test_what_is_not_saved_is_told_until_it_is(browser: Browser, fleet: Server, story: Path) -> None:
    refusal = {"error": {"message": "full", "type": "server_error", "code": "storage_full"}}
    with watched_page(browser) as watched:
        page = watched.page
        page.goto(f"{fleet.url}/book")
        page.set_input_files("#file", story)
        page.wait_for_url("**/book/b_*")
        page.route("**/blocks", lambda route: route.fulfill(status=507, json=refusal))
        page.locator(".block-text").first.press_sequentially("!")
        problem = page.locator("#problem")
        expect(problem).to_contain_text("no room for more")
        for _ in range(2):
            with page.expect_response("**/api/books/b_*"):
                page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        expect(problem).to_be_visible()
        page.route("**/api/books/b_*", lambda route: route.abort(), times=1)
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        expect(problem).to_contain_text("does not answer")
        page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
        expect(problem).to_contain_text("no room for more")
        page.unroute("**/blocks")
        problem.get_by_role("button").click()
        expect(problem).to_be_hidden()
        expect(page.locator("#saving")).to_have_text("Saved")


def test_a_new_key_saves_what_the_old_one_could_not(browser: Browser, fleet: Server, story: Path) -> None:
    refusal = {"error": {"message": "there is no such API key", "code": "invalid_api_key"}}
    with watched_page(browser) as watched:
        page = watched.page
        page.goto(f"{fleet.url}/book")
        page.set_input_files("#file", story)
        page.wait_for_url("**/book/b_*")
        page.route("**/blocks", lambda route: route.fulfill(status=401, json=refusal))
        page.locator(".block-text").first.press_sequentially("!")
        expect(page.locator("#key-sheet")).to_be_visible()
        page.unroute("**/blocks")
        page.fill("#api-key", "“quoted”")
        page.locator("#key-sheet .button-primary").click()
        expect(page.locator("#key-sheet [role=alert]")).to_have_text("There is no such API key.")
        page.fill("#api-key", "another-key-of-the-reader")
        page.locator("#key-sheet .button-primary").click()
        expect(page.locator("#saving")).to_have_text("Saved")
        expect(page.locator("#problem")).to_be_hidden()


def test_without_a_database_the_page_says_so(browser: Browser, fleet: Server) -> None:
    with watched_page(browser, viewport=DESKTOP) as watched:  # the browser itself complains of the 503
        refusal = {"error": {"message": "no database", "type": "server_error", "code": "books_unavailable"}}
        watched.page.route("**/api/books", lambda route: route.fulfill(status=503, json=refusal))
        watched.page.goto(f"{fleet.url}/book")
        expect(watched.page.locator("#unavailable")).to_contain_text("Everything else works without it.")
        expect(watched.page.locator("#problem")).to_be_hidden()


_TYPED = """() => {
  const drawn = new MutationObserver(() => {});
  drawn.observe(document.querySelector("#blocks"), { attributes: true, childList: true, subtree: true });
  document.execCommand("insertText", false, "More.");
  return new Set(drawn.takeRecords().map(({ target }) => target.closest(".block"))).size;
}"""
"""How many paragraphs are drawn anew for what is typed in one."""


def test_typing_draws_one_paragraph_anew(browser: Browser, fleet: Server) -> None:
    """With all of them each letter would take longer in a longer book."""
    blocks = [{"text": f"Paragraph {number}."} for number in range(30)]
    made = httpx.post(f"{fleet.url}/api/books", json={"title": "Long", "blocks": blocks}).json()
    with watched_page(browser, viewport=DESKTOP) as watched:
        page = watched.page
        page.goto(f"{fleet.url}/book/{made['id']}")
        text = page.locator(".block-text").nth(12)
        text.click()
        page.keyboard.press("End")
        assert page.evaluate(_TYPED) == 1
        expect(text).to_have_text("Paragraph 12.More.")
        expect(page.locator("#saving")).to_have_text("Saved")
        assert watched.complaints == []
