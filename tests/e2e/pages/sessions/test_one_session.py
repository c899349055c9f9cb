"""What the owner of a recording does with it, and who has its link."""

from __future__ import annotations

import io
import json
import re
import zipfile
from pathlib import Path
from urllib.parse import urlsplit

import httpx
from playwright.sync_api import Browser, Page, expect

from tests.e2e.browser import watched_page
from tests.e2e.pages.sessions.recordings import MARKUP, SENTENCE, open_session, record
from tests.e2e.processes import Server, gateway
from tests.e2e.studio import write_voice

NAME = r"the-quick-brown-fox-jumps-high-enough-\d{4}-\d\d-\d\d"


KEYS = {"shop": {"key": "shop-secret-0123456789"}}


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

    def test_a_voice_is_named_and_its_name_stays_in_its_place(
        self, page: Page, fleet: Server, tmp_path: Path
    ) -> None:
        name = "Überlangerstimmenname" * 3
        statement = httpx.get(f"{fleet.url}/api/voices/consent").json()["statement"]
        fields = {"name": name, "consent_by": "Ada Lovelace", "consent_statement": statement}
        with write_voice(tmp_path / "voice.wav").open("rb") as audio:
            made = httpx.post(f"{fleet.url}/api/voices", data=fields, files={"audio": audio}, timeout=60)
        said = {"text": SENTENCE, "record": True, "voice": made.json()["id"]}
        session = httpx.post(f"{fleet.url}/tts", json=said, timeout=60).headers["x-session-id"]
        open_session(page, fleet, session)
        expect(page.locator("#facts")).to_contain_text(name)
        expect(page.locator("[data-kind=started]")).to_contain_text(name)
        page.goto(f"{fleet.url}/sessions")
        facts = page.locator(f"[data-session='{session}'] .session-facts-text")
        expect(facts).to_contain_text(name)
        assert facts.evaluate("it => it.scrollWidth - it.clientWidth") <= 0

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
