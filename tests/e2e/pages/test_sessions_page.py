"""The session pages in a real browser: recordings are found, heard again, changed, shared and taken along."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

from tests.e2e.browser import PHONE, watched_page
from tests.e2e.processes import Server, eventually, gateway

SENTENCE = "The quick brown fox jumps high enough."
PARAGRAPH = " ".join([SENTENCE] * 4)
NAME = r"the-quick-brown-fox-jumps-high-enough-\d{4}-\d\d-\d\d"
MARKUP = "<img src=x onerror=\"document.title='owned'\">"
KEYS = {"shop": {"key": "shop-secret-0123456789"}}


def record(edge: Server, text: str, **headers: str) -> str:
    """Speak and record a clip; the id of its session."""
    response = httpx.post(f"{edge.url}/tts", json={"text": text, "record": True}, headers=headers, timeout=60)
    response.raise_for_status()
    return response.headers["x-session-id"]


@pytest.fixture
def recorded(fleet: Server) -> Iterator[str]:
    """A recording of one sentence, gone afterwards."""
    session_id = record(fleet, SENTENCE)
    yield session_id
    httpx.delete(f"{fleet.url}/api/sessions/{session_id}")


def seconds(page: Page) -> float:
    return float(page.locator("#stage").get_attribute("data-seconds") or 0)


def open_session(page: Page, edge: Server, session_id: str) -> None:
    page.goto(f"{edge.url}/sessions/{session_id}")
    expect(page.locator("#play")).to_be_enabled()


class TestLongTexts:
    def test_a_text_file_is_spoken_fetched_and_deleted(
        self, page: Page, fleet: Server, tmp_path: Path
    ) -> None:
        book = tmp_path / "My book.txt"
        book.write_text(f"{SENTENCE}\n\n{MARKUP} {SENTENCE}")
        page.goto(f"{fleet.url}/sessions")
        page.locator("#job-file").set_input_files(book)
        row = page.locator(".job-row")
        expect(row).to_have_count(1)
        expect(row).to_contain_text("My book")
        expect(row.locator(".badge")).to_have_text("ready", timeout=60_000)
        with page.expect_download() as waiting:
            row.get_by_role("button", name="Download My book").click()
        assert waiting.value.suggested_filename == "My book.mp3"
        assert Path(waiting.value.path()).stat().st_size > 1000
        with page.expect_download() as waiting:
            row.get_by_role("button", name="Download the subtitles of My book as SRT").click()
        assert waiting.value.suggested_filename == "My book.srt"
        assert MARKUP.split()[0] in Path(waiting.value.path()).read_text()
        row.get_by_role("button", name="Delete My book").click()
        page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        expect(row).to_have_count(0)
        expect(page.locator("#job-said")).to_have_text("“My book” is deleted.")


class TestList:
    def test_the_newest_is_first_and_titles_are_searched(self, page: Page, fleet: Server) -> None:
        ids = [record(fleet, f"{name}. {SENTENCE}") for name in ("Older", "Newer")]
        page.goto(f"{fleet.url}/sessions")
        rows = page.locator(".session-row[data-session]")
        expect(rows.first).to_contain_text("Newer.")
        expect(rows.first).to_contain_text("Clip")
        expect(rows.first).to_contain_text("KiB")
        expect(rows.nth(1)).to_contain_text("Older.")
        page.fill("#search", "fox OLDER")
        expect(rows).to_have_count(1)
        expect(page.locator("#count")).to_have_text("1 found")
        page.fill("#search", "nothing like it")
        expect(page.locator("#blank")).to_have_text("No recording has these words.")
        page.fill("#search", "")
        expect(rows.first).to_contain_text("Newer.")
        rows.first.get_by_role("link").click()
        expect(page).to_have_url(f"{fleet.url}/sessions/{ids[1]}")
        for session_id in ids:
            httpx.delete(f"{fleet.url}/api/sessions/{session_id}").raise_for_status()

    def test_a_recording_is_deleted_only_after_a_yes(self, page: Page, fleet: Server, recorded: str) -> None:
        page.goto(f"{fleet.url}/sessions")
        row = page.locator(f"[data-session='{recorded}']")
        delete = row.get_by_role("button", name="Delete")
        delete.click()
        page.locator("dialog").get_by_role("button", name="Cancel").click()
        assert fleet.get_json(f"/api/sessions/{recorded}")
        delete.click()
        page.locator("dialog").get_by_role("button", name="Delete").click()
        expect(row).to_have_count(0)
        assert fleet.get_json(f"/api/sessions/{recorded}") is None

    def test_what_was_said_is_found_and_not_the_title_alone(self, page: Page, fleet: Server) -> None:
        said = record(fleet, f"{SENTENCE} {SENTENCE} {SENTENCE} {SENTENCE} A zebra came last.")
        other = record(fleet, SENTENCE)
        page.goto(f"{fleet.url}/sessions?q=ZEBRA")
        rows = page.locator(".session-row[data-session]")
        expect(rows).to_have_count(1)
        expect(rows.first).to_have_attribute("data-session", said)
        for session_id in (said, other):
            httpx.delete(f"{fleet.url}/api/sessions/{session_id}").raise_for_status()

    def test_it_is_played_in_its_row_one_at_a_time(self, page: Page, fleet: Server) -> None:
        ids = [record(fleet, f"{name}. {PARAGRAPH}") for name in ("First", "Second")]
        page.goto(f"{fleet.url}/sessions")
        page.get_by_role("button", name="Play First.").click()
        expect(page.get_by_role("button", name="Pause First.")).to_be_visible()
        page.get_by_role("button", name="Play Second.").click()
        expect(page.get_by_role("button", name="Pause Second.")).to_be_visible()
        expect(page.get_by_role("button", name="Play First.")).to_be_visible()
        page.get_by_role("button", name="Pause Second.").click()
        expect(page.get_by_role("button", name="Play Second.")).to_be_visible()
        for session_id in ids:
            httpx.delete(f"{fleet.url}/api/sessions/{session_id}").raise_for_status()

    def test_several_are_fetched_and_deleted_at_once(self, page: Page, fleet: Server) -> None:
        ids = [record(fleet, f"{name}. {SENTENCE}") for name in ("One", "Two", "Three")]
        page.goto(f"{fleet.url}/sessions?q=fox")
        chosen = page.locator("#chosen")
        expect(chosen).to_be_hidden()
        page.get_by_role("checkbox", name="Choose One.").check()
        chosen.get_by_role("button", name="Choose all").click()
        expect(chosen).to_contain_text("3 chosen")
        page.get_by_role("checkbox", name="Choose Two.").uncheck()
        with page.expect_download() as waiting:
            chosen.get_by_role("button", name="Download").click()
        assert waiting.value.suggested_filename == "sessions.zip"
        names = zipfile.ZipFile(io.BytesIO(waiting.value.path().read_bytes())).namelist()
        assert {name.partition("-")[0] for name in names} == {"one", "three"}
        chosen.get_by_role("button", name="Delete").click()
        page.get_by_role("dialog").get_by_role("button", name="Delete").click()
        expect(page.locator("#count")).to_have_text("2 recordings deleted.")
        expect(page.locator(".session-row[data-session]")).to_have_count(1)
        expect(chosen).to_be_hidden()
        assert [fleet.get_json(f"/api/sessions/{each}") is None for each in ids] == [True, False, True]
        httpx.delete(f"{fleet.url}/api/sessions/{ids[1]}").raise_for_status()

    def test_what_was_deleted_elsewhere_goes_from_the_page_and_holds_up_nothing(
        self, browser: Browser, fleet: Server
    ) -> None:
        ids = [record(fleet, f"{name}. {SENTENCE}") for name in ("One", "Two")]
        with watched_page(browser) as watched:  # the browser complains of the 404
            page = watched.page
            page.goto(f"{fleet.url}/sessions?q=fox")
            page.get_by_role("checkbox", name="Choose One.").check()
            page.get_by_role("checkbox", name="Choose Two.").check()
            httpx.delete(f"{fleet.url}/api/sessions/{ids[1]}").raise_for_status()  # the upper one
            page.locator("#chosen").get_by_role("button", name="Delete").click()
            page.get_by_role("dialog").get_by_role("button", name="Delete").click()
            expect(page.locator("#problem")).to_contain_text("There is no such session.")
            for session_id in ids:
                expect(page.locator(f"[data-session='{session_id}']")).to_have_count(0)
        assert fleet.get_json(f"/api/sessions/{ids[0]}") is None

    def test_it_is_opened_in_the_studio(self, page: Page, fleet: Server, recorded: str) -> None:
        seed = fleet.get_json(f"/api/sessions/{recorded}")["session"]["seed"]
        page.goto(f"{fleet.url}/sessions")
        row = page.locator(f"[data-session='{recorded}']")
        expect(row).to_contain_text(f"seed {seed}")
        row.get_by_role("button", name="in the studio").click()
        expect(page.locator("#text")).to_have_value(SENTENCE)

    def test_what_is_shown_stays_when_an_answer_fails(
        self, browser: Browser, fleet: Server, recorded: str
    ) -> None:
        with watched_page(browser) as watched:  # the browser itself complains of what fails
            page = watched.page
            page.goto(f"{fleet.url}/sessions")
            row = page.locator(f"[data-session='{recorded}']")
            expect(row).to_be_visible()
            page.route("**/api/sessions?*", lambda route: route.abort())
            page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
            expect(page.locator("#problem")).to_contain_text("does not answer")
            expect(row).to_be_visible()
            page.fill("#search", "what nobody said")
            expect(row).to_be_hidden()
            page.unroute("**/api/sessions?*")
            page.fill("#search", "")
            expect(row).to_be_visible()
            expect(page.locator("#problem")).to_be_hidden()

    def test_an_empty_list_says_how_to_fill_it(self, page: Page, fleet: Server) -> None:
        empty = {"sessions": [], "next_before": None}
        page.route("**/api/sessions?*", lambda route: route.fulfill(json=empty))
        page.goto(f"{fleet.url}/sessions")
        expect(page.locator("#blank")).to_contain_text("Nothing is recorded yet.")


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


class TestOwner:
    def test_title_and_comment_are_changed_and_markup_in_them_is_text(
        self, page: Page, fleet: Server, recorded: str
    ) -> None:
        open_session(page, fleet, recorded)
        page.click("#edit-title")
        page.fill("#title-input", MARKUP)
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", name=MARKUP)).to_be_visible()
        expect(page.locator("#edit-title")).to_be_focused()
        page.fill("#comment-box", MARKUP)
        with page.expect_response(lambda answer: answer.request.method == "PATCH") as saved:
            page.click("#save-comment")
        assert saved.value.ok
        expect(page.locator("#status")).to_have_text("Saved.")
        page.reload()
        expect(page.get_by_role("heading", name=MARKUP)).to_be_visible()
        expect(page.locator("#comment-box")).to_have_value(MARKUP)
        page.goto(f"{fleet.url}/sessions")
        expect(page.locator(f"[data-session='{recorded}']")).to_contain_text(MARKUP)
        assert page.locator("main img").count() == 0
        assert "owned" not in page.title()

    def test_a_comment_that_is_not_saved_is_not_left_without_a_question(
        self, page: Page, fleet: Server, recorded: str
    ) -> None:
        leave = "() => !dispatchEvent(new Event('beforeunload', { cancelable: true }))"
        open_session(page, fleet, recorded)
        assert not page.evaluate(leave)
        page.fill("#comment-box", "The second take.")
        assert page.evaluate(leave)
        page.click("#save-comment")
        expect(page.locator("#save-comment")).to_be_disabled()
        assert not page.evaluate(leave)

    def test_words_are_downloaded_as_subtitles(self, page: Page, fleet: Server, recorded: str) -> None:
        open_session(page, fleet, recorded)
        for format, beginning in (("srt", "1\n00:00:00,"), ("vtt", "WEBVTT\n"), ("json", '{"source": "')):
            with page.expect_download() as started:
                page.click(f"#words-{format}")
            assert re.fullmatch(rf"{NAME}\.{format}", started.value.suggested_filename)
            assert started.value.path().read_text().startswith(beginning)
        expect(page.locator("#status")).to_have_text("The file is downloaded.")

    def test_everything_is_downloaded_as_a_zip(self, page: Page, fleet: Server, recorded: str) -> None:
        open_session(page, fleet, recorded)
        with page.expect_download() as started:
            page.click("#download")
        assert re.fullmatch(rf"{NAME}\.zip", started.value.suggested_filename)
        names = zipfile.ZipFile(io.BytesIO(started.value.path().read_bytes())).namelist()
        assert any(name.startswith("the-quick-brown-fox") and name.endswith(".wav") for name in names)
        assert any(name.endswith("recording.json") for name in names)

    def test_it_is_deleted_and_the_list_follows(self, page: Page, fleet: Server, recorded: str) -> None:
        open_session(page, fleet, recorded)
        page.click("#delete")
        page.locator("dialog").get_by_role("button", name="Delete").click()
        expect(page).to_have_url(f"{fleet.url}/sessions")
        assert fleet.get_json(f"/api/sessions/{recorded}") is None


def test_who_has_the_link_may_listen_and_change_nothing(browser: Browser, fleet: Server) -> None:
    worker_url = fleet.get_json("/api/workers")["workers"][0]["url"]
    strict = {"VOXFLEET_API_KEYS": json.dumps(KEYS), "VOXFLEET_ADMIN_TOKEN": "t0p-secret-indeed"}
    with gateway([worker_url], **strict) as edge:
        session_id = record(edge, SENTENCE, authorization=f"Bearer {KEYS['shop']['key']}")
        with watched_page(browser, permissions=["clipboard-read", "clipboard-write"]) as owner:
            page = owner.page
            page.add_init_script(f"sessionStorage.setItem('voxfleet.apiKey', '{KEYS['shop']['key']}')")
            open_session(page, edge, session_id)
            page.click("#share")
            expect(page.locator("#status")).to_contain_text("The link is copied.")
            link = page.evaluate("navigator.clipboard.readText()")
            assert urlsplit(link).path == f"/sessions/{session_id}"
            with watched_page(browser) as visitor:
                visitor.page.goto(link)
                expect(visitor.page.locator("#play")).to_be_enabled()
                visitor.page.click("#play")
                expect(visitor.page.locator(".word.heard").first).to_have_text("The")
                expect(visitor.page.get_by_role("button", name="Download", exact=True)).to_be_visible()
                for mine in ("#edit-title", "#share", "#delete", "#comment-box", "#back"):
                    expect(visitor.page.locator(mine).and_(visitor.page.locator(":visible"))).to_have_count(0)
                assert visitor.complaints == []
            page.click("#unshare")
            expect(page.locator("#status")).to_contain_text("opens nothing any more")
            assert httpx.get(link.replace("/sessions/", "/api/sessions/")).status_code == 404
            assert owner.complaints == []


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
