"""The chat page in a real browser, with a text model that writes and a speech model that speaks."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.browser import WatchedPage, watched_page
from tests.e2e.chats import ANSWER, answer_with, send
from tests.e2e.processes import Server, eventually, gateway, worker
from tests.text_models import telling_model

ARABIC = "صباح الخير!"
MARKUP = "<img src=x onerror=\"document.title='owned'\">"


@pytest.fixture(scope="module")
def writer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One slot for text, which an answer has until it is stopped: this model never ends."""
    model = telling_model(tmp_path_factory.mktemp("models") / "teller")
    with worker(model=str(model), slots=1) as text:
        yield text


@pytest.fixture(scope="module")
def fleet(writer: Server) -> Iterator[Server]:
    with speaking(writer, step_ms=5) as edge:
        yield edge


@contextlib.contextmanager
def speaking(writer: Server, step_ms: float) -> Iterator[Server]:
    """A gateway whose text is spoken so fast."""
    with worker(step_ms=step_ms) as speech, gateway([writer.url, speech.url]) as edge:
        eventually(lambda: _both(edge.get_json("/api/config")))
        yield edge


def _both(config: dict[str, Any]) -> bool:
    return bool(config["text_models"]) and bool(config["models"])


@pytest.fixture(scope="module")
def mute() -> Iterator[Server]:
    with worker(step_ms=5) as speech, gateway([speech.url]) as edge:
        yield edge


def open_chat(page: Page, edge: Server) -> None:
    page.goto(f"{edge.url}/chat")
    expect(page.locator(".lamp")).to_have_attribute("data-state", "ready")


def limit(page: Page, tokens: int) -> None:
    page.click("#advanced summary")
    page.fill("#max-tokens", str(tokens))


def expect_state(page: Page, state: str) -> None:
    expect(page.locator("#chat")).to_have_attribute("data-state", state)


class TestWriting:
    def test_an_answer_is_written_stopped_asked_again_and_kept(self, page: Page, fleet: Server) -> None:
        open_chat(page, fleet)
        send(page, "What did you see?")
        expect(page.locator(".answer")).to_contain_text("The old ship came home.")
        page.keyboard.press("Escape")
        expect(page.locator(".turn-note")).to_have_text("Stopped.")
        limit(page, 6)
        page.get_by_role("button", name="Ask again").click()
        expect(page.locator(".turn-note")).to_have_text("Cut: it was as long as an answer may be.")
        expect(page.locator(".answer")).to_have_count(1)
        expect(page.locator("#read")).to_have_text(page.locator(".answer").inner_text())
        expect(page.locator(".turn-who")).to_have_text("teller")
        page.reload()
        expect(page.locator(".question")).to_have_text("What did you see?")
        expect(page.locator(".turn-note")).to_have_text("Cut: it was as long as an answer may be.")
        expect(page.locator("#max-tokens")).to_have_value("6")

    def test_the_last_message_is_put_in_other_words(self, page: Page, fleet: Server) -> None:
        open_chat(page, fleet)
        limit(page, 3)
        send(page, "What did you see?")
        expect(page.locator(".turn[data-state=length]")).to_be_visible()
        page.fill("#text", "half a message")
        page.get_by_role("button", name="Edit").click()
        expect(page.locator("#text")).to_have_value("What did you see?")
        page.keyboard.press("Escape")
        expect(page.locator("#text")).to_have_value("half a message")
        page.fill("#text", "")
        page.press("#text", "ArrowUp")
        send(page, "What did you hear?")
        expect(page.locator(".question")).to_have_text(["What did you hear?"])
        expect(page.locator(".turn[data-state=length]")).to_be_visible()

    def test_who_waits_sees_the_place_in_line(self, page: Page, browser: Browser, fleet: Server) -> None:
        open_chat(page, fleet)
        send(page, "What did you see?")
        expect(page.locator(".answer")).to_contain_text("ship")
        with watched_page(browser) as other:
            open_chat(other.page, fleet)
            send(other.page, "And you?")
            expect(other.page.locator("#queue")).to_contain_text("You are next")
            page.click("#send")
            expect(other.page.locator("#queue")).to_be_hidden()
            expect(other.page.locator(".answer")).to_contain_text("ship")
            other.page.click("#send")
            assert other.complaints == []

    def test_a_new_conversation_deletes_the_old_one_which_can_be_brought_back(
        self, page: Page, fleet: Server
    ) -> None:
        open_chat(page, fleet)
        limit(page, 3)
        send(page, "What did you see?")
        expect(page.locator(".turn[data-state=length]")).to_be_visible()
        page.click("#renew")
        expect(page.locator("#blank")).to_be_visible()
        assert "What did you see" not in page.evaluate("JSON.stringify({ ...localStorage })")
        page.get_by_role("button", name="Undo").click()
        expect(page.locator(".question")).to_have_text("What did you see?")

    def test_what_is_sent_before_the_page_knows_who_answers_goes_then(
        self, watched: WatchedPage, mute: Server
    ) -> None:
        page = watched.page
        page.route("**/api/config", lambda route: route.abort())
        page.goto(f"{mute.url}/chat")
        expect(page.locator("#error")).to_contain_text("does not answer")
        send(page, "Plan a weekend.")
        expect(page.locator("#status")).to_have_text("Sent as soon as the service answers.")
        page.press("#text", "!")
        expect(page.locator("#status")).to_be_empty()
        page.unroute("**/api/config")
        answer_with(page)
        page.press("#text", "Enter")
        expect(page.locator(".question")).to_have_text("Plan a weekend.!")
        expect(page.locator(".answer")).to_contain_text("Take the early train.")
        expect(page.locator("#text")).to_have_value("")
        watched.complaints.clear()  # of the refused request

    def test_what_is_refused_is_said_and_can_be_mended(self, browser: Browser, fleet: Server) -> None:
        with watched_page(browser) as watched:  # the browser complains of the 422
            page = watched.page
            open_chat(page, fleet)
            limit(page, 40_000)
            send(page, "What did you see?")
            expect(page.locator("#error")).to_contain_text("The longest answer cannot be used")
            expect(page.locator(".turn")).to_have_count(1)
            page.click("#advanced summary")
            page.get_by_role("button", name="Open the settings").click()
            page.fill("#max-tokens", "3")
            page.get_by_role("button", name="Ask again").click()
            expect(page.locator(".turn[data-state=length]")).to_be_visible()
            send(page, "x" * 20_000)
            expect(page.locator("#error")).to_contain_text("longer than the model can read")
            page.locator("#error").get_by_role("button", name="New conversation").click()
            expect(page.locator("#blank")).to_be_visible()

    def test_tabs_share_the_conversation(self, page: Page, mute: Server) -> None:
        other = page.context.new_page()
        for tab in (page, other):
            answer_with(tab)
            open_chat(tab, mute)
        send(page, "Plan a weekend.")
        expect(other.locator(".question")).to_have_text("Plan a weekend.")
        other.click("#renew")
        expect(page.locator("#blank")).to_be_visible()
        other.get_by_role("button", name="Undo").click()
        expect(page.locator(".answer")).to_contain_text("Take the early train.")

    def test_the_focus_stays_where_one_goes_on(self, page: Page, mute: Server) -> None:
        answer_with(page)
        open_chat(page, mute)
        page.click("#send")
        expect(page.locator("#text")).to_be_focused()
        send(page, "Plan a weekend.")
        expect(page.locator("#text")).to_be_focused()
        page.get_by_role("button", name="Ask again").click()
        expect(page.locator("#turns-frame")).to_be_focused()
        page.get_by_role("button", name="Edit").click()
        expect(page.locator("#text")).to_be_focused()
        page.click("#leave-rewording")
        expect(page.locator("#text")).to_be_focused()
        page.click("#renew")
        expect(page.locator("#text")).to_be_focused()
        page.get_by_role("button", name="Undo").click()
        expect(page.locator(".question")).to_be_visible()
        expect(page.locator("#text")).to_be_focused()


class TestSpeaking:
    def test_an_answer_is_heard_while_it_is_written_and_again(self, page: Page, fleet: Server) -> None:
        open_chat(page, fleet)
        limit(page, 12)
        page.check("#aloud")
        expect(page.locator("input[name=voice]:checked")).to_be_attached()
        send(page, "What did you see?")
        expect_state(page, "speaking")
        expect(page.locator("#status")).to_have_text("Speaking")
        expect(page.locator(".answer")).to_contain_text("The old ship came home.")
        expect_state(page, "idle")
        again = page.get_by_role("button", name="Hear it again")
        again.click()
        expect(again.locator("use")).to_have_attribute("href", re.compile("stop"))
        expect(page.locator("#read")).to_be_empty()

    def test_speech_that_comes_too_slowly_is_said_to_have_gaps(self, page: Page, writer: Server) -> None:
        with speaking(writer, step_ms=500) as edge:
            open_chat(page, edge)
            page.check("#aloud")
            expect(page.locator("input[name=voice]:checked")).to_be_attached()
            send(page, "What did you see?")
            expect(page.locator("#status")).to_contain_text("more slowly than it is heard")
            page.click("#send")
            expect(page.locator("#status")).to_be_empty()

    def test_who_waits_to_be_spoken_sees_the_place_in_line(self, page: Page, writer: Server) -> None:
        with speaking(writer, step_ms=40) as edge, contextlib.ExitStack() as ahead:
            for _ in range(2):  # all slots
                body = {"text": "A long story. " * 200, "format": "pcm", "stream": True}
                ahead.enter_context(httpx.stream("POST", f"{edge.url}/tts", json=body, timeout=60))
            open_chat(page, edge)
            limit(page, 12)
            page.check("#aloud")
            expect(page.locator("input[name=voice]:checked")).to_be_attached()
            send(page, "What did you see?")
            expect(page.locator("#queue")).to_contain_text("You are next")
            expect(page.locator("#status")).to_have_text("Waiting to be spoken")
            expect(page.locator(".answer")).to_contain_text("The old ship came home.")
            page.locator("#queue").get_by_role("button").first.focus()
            ahead.close()
            expect(page.locator("#queue")).to_be_hidden()
            expect(page.locator("#send")).to_be_focused()
            expect(page.get_by_role("button", name="Hear it again")).to_be_visible()

    def test_a_stop_is_silence(self, page: Page, fleet: Server) -> None:
        open_chat(page, fleet)
        page.check("#aloud")
        expect(page.locator("input[name=voice]:checked")).to_be_attached()
        send(page, "What did you see?")
        expect(page.locator("#status")).to_have_text("Writing")
        page.click("#send")
        expect_state(page, "idle")
        expect(page.locator("#send")).to_have_attribute("data-state", "idle")


class TestReading:
    def test_thoughts_are_folded_and_code_is_code(self, page: Page, mute: Server) -> None:
        answer_with(page)
        open_chat(page, mute)
        send(page, "Plan a weekend.")
        expect(page.locator(".answer-blocks > p")).to_have_text(
            ["Take the early train.", "Sunday: the market."]
        )
        expect(page.locator(".answer-code code")).to_have_text(re.compile(r"^print\("))
        expect(page.locator(".thought-words")).to_be_hidden()
        page.get_by_text("What it thought").click()
        expect(page.locator(".thought-words")).to_have_text("Two days, and no car.")
        page.set_viewport_size({"width": 320, "height": 640})
        assert page.evaluate("document.documentElement.scrollWidth") == 320

    def test_only_a_model_that_can_think_is_told_whether_to(self, page: Page, mute: Server) -> None:
        answer_with(page)
        open_chat(page, mute)
        for wanted in (True, False):
            page.set_checked("#thinking", wanted)
            with page.expect_request("**/v1/chat/completions") as asked:
                send(page, "Hello.")
            assert asked.value.post_data_json["enable_thinking"] is wanted
            expect(page.locator(".turn[data-state=complete]").last).to_be_visible()
        told = [message["content"] for message in asked.value.post_data_json["messages"]]
        assert told == ["Hello.", ANSWER.partition("</think>")[2].strip(), "Hello."]

    def test_what_is_written_from_right_to_left_is_read_so(self, page: Page, mute: Server) -> None:
        answer_with(page, f"<think>{ARABIC}</think>{ARABIC}\n\n- {ARABIC}\n\n```\n1\n```\n\nHello.")
        open_chat(page, mute)
        send(page, ARABIC)
        expect(page.locator(".answer-blocks > p")).to_have_text([ARABIC, f"- {ARABIC}", "Hello."])
        shown = page.locator(".question, .thought-words, .answer-blocks > p")
        ways = shown.evaluate_all("(all) => all.map((one) => getComputedStyle(one).direction)")
        assert ways == ["rtl", "rtl", "rtl", "rtl", "ltr"]

    def test_markup_is_text(self, page: Page, mute: Server) -> None:
        answer_with(page, f"{MARKUP}\n\n```{MARKUP}\n{MARKUP}\n```")
        open_chat(page, mute)
        send(page, MARKUP)
        expect(page.locator(".question, .answer-blocks > p, .answer code")).to_have_text([MARKUP] * 3)
        assert page.title() == "VoxFleet Chat"


def test_without_a_text_model_the_page_says_how_to_serve_one(page: Page, mute: Server) -> None:
    page.goto(mute.url)
    expect(page.locator(".lamp")).to_have_attribute("data-state", "ready")
    expect(page.get_by_role("link", name="Chat")).to_have_count(0)
    open_chat(page, mute)
    expect(page.get_by_role("heading", name="No text model is served here")).to_be_visible()
    expect(page.locator("#command")).to_contain_text("--text-model")
    page.fill("#text", "Hello.")
    expect(page.locator("#send")).to_be_disabled()


def test_what_is_said_without_a_text_model_begins_in_view_and_ends_a_kept_conversation(
    page: Page, mute: Server
) -> None:
    page.set_viewport_size({"width": 320, "height": 640})
    page.goto(f"{mute.url}/chat")
    why = page.get_by_role("heading", name="No text model is served here")
    expect(why).to_be_in_viewport(ratio=1)
    assert page.locator("#turns-frame").evaluate("(frame) => frame.scrollTop") == 0
    answer_with(page, " ".join(["One more word."] * 200))
    page.reload()
    send(page, "Say much.")
    expect(page.locator(".turn[data-state=complete]")).to_be_visible()
    page.reload()
    at_end = "(frame) => frame.scrollHeight - frame.scrollTop - frame.clientHeight"
    expect(page.locator(".answer")).to_be_visible()
    assert page.locator("#turns-frame").evaluate(at_end) < 2
    page.unroute("**/api/config")
    page.reload()
    expect(page.get_by_text("docs/text-models.md says more")).to_be_in_viewport(ratio=1)


def test_with_one_every_page_leads_to_it(page: Page, fleet: Server) -> None:
    page.goto(fleet.url)
    page.get_by_role("link", name="Chat").click()
    expect(page).to_have_url(f"{fleet.url}/chat")


def test_the_bar_with_every_page_fits_every_width(page: Page, fleet: Server) -> None:
    open_chat(page, fleet)
    expect(page.locator(".nav-pages a:visible")).to_have_count(7)
    for width in (320, 360, 401, 430, 520, 521, 641, 900, 901, 1024):
        page.set_viewport_size({"width": width, "height": 640})
        assert page.evaluate("document.documentElement.scrollWidth") == width, width
