"""The list of recordings: found, heard, fetched and deleted. Long texts beside it."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path

import httpx
from playwright.sync_api import Browser, Page, Route, expect

from tests.e2e.browser import watched_page
from tests.e2e.pages.sessions.recordings import MARKUP, SENTENCE, record
from tests.e2e.processes import Server

PARAGRAPH = " ".join([SENTENCE] * 4)


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
        expect(page.locator("#job-said")).to_have_text("“My book”: ready.")
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
        page.reload()
        expect(page.locator("#search")).to_have_value("fox OLDER")
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
        lowest = page.get_by_role("checkbox", name="Choose One.")
        place = lowest.bounding_box()
        lowest.check()
        expect(chosen).to_be_in_viewport()
        assert lowest.bounding_box() == place  # the next click is not upon another row
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

    def test_why_no_more_can_be_chosen_is_said(self, page: Page, fleet: Server, recorded: str) -> None:
        one = fleet.get_json(f"/api/sessions/{recorded}")["session"]
        many = [{**one, "id": f"s_{number}", "title": f"Number {number}."} for number in range(101)]
        page.route(
            "**/api/sessions?*", lambda route: route.fulfill(json={"sessions": many, "next_before": None})
        )
        page.goto(f"{fleet.url}/sessions")
        page.get_by_role("checkbox", name="Choose Number 0.").check()
        page.locator("#chosen").get_by_role("button", name="Choose all").click()
        last = page.get_by_role("checkbox", name="Choose Number 100.")
        last.click()
        expect(last).not_to_be_checked()
        expect(page.locator("#chosen")).to_contain_text("100 chosen, as many as fit into one file")

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

    def test_a_row_of_another_year_breaks_between_words_however_narrow(
        self, page: Page, fleet: Server, recorded: str
    ) -> None:
        def long_ago(route: Route) -> None:
            answer = route.fetch().json()
            for session in answer["sessions"]:
                session["created_at"] = "2019-11-28T16:23:00+00:00"
            route.fulfill(json=answer)

        page.route("**/api/sessions?*", long_ago)
        page.goto(f"{fleet.url}/sessions")
        row = page.locator(f"[data-session='{recorded}']")
        expect(row.locator(".session-when")).to_contain_text("2019")
        for width in (320, 360, 390, 860):
            page.set_viewport_size({"width": width, "height": 640})
            for part in (".session-facts-text", ".session-when"):
                assert row.locator(part).evaluate("(it) => it.clientHeight || it.offsetHeight") < 30, width
            assert page.evaluate("document.documentElement.scrollWidth") == width
