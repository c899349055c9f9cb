"""A voice of one's own, made in the browser: from the microphone or a file, with consent, and spoken with."""

from __future__ import annotations

import json
import re
from pathlib import Path

import httpx
from playwright.sync_api import Browser, Page, expect

from tests.e2e.browser import DESKTOP, PHONE, watched_page
from tests.e2e.pages.studio.stage import expect_player, expect_state, figure
from tests.e2e.pages.studio.voices.sheet import held, make_from_file, names, open_sheet
from tests.e2e.processes import Server
from tests.e2e.studio import fleet_with_data, write_voice
from tests.gateway.audio.files import noisy_speech, wav

TELL_LATE = """() => {
  const play = HTMLMediaElement.prototype.play;
  HTMLMediaElement.prototype.play = async function () {
    await play.call(this);
    setTimeout(() => (window.told = true));
    throw new DOMException("The sound before was interrupted.", "AbortError");
  };
}"""
"""As a busy browser does when another sound is already heard."""


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def walk_to(page: Page, selector: str) -> None:
    """Tab until the element has the focus."""
    for _ in range(60):
        if page.evaluate("selector => document.activeElement?.matches(selector)", selector):
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"the keyboard does not reach {selector}")


def test_a_voice_is_recorded_agreed_to_and_spoken_with_by_the_keyboard_alone(
    browser: Browser, fleet: Server
) -> None:
    with watched_page(browser, viewport=DESKTOP) as watched:
        page = watched.page
        page.goto(fleet.url)
        expect(page.locator("#new-voice")).to_be_visible()
        walk_to(page, "#new-voice")
        press(page, "Enter")
        walk_to(page, "#voice-record")
        press(page, "Enter")
        expect(page.locator(".rec")).to_have_attribute("data-state", "recording", timeout=10_000)
        expect(page.locator(".rec-hint")).to_contain_text("Good level")
        expect(page.locator(".rec-time")).to_contain_text("0:03", timeout=10_000)
        press(page, "Enter")
        expect(page.locator(".rec .take-verdict")).to_be_visible()
        expect(page.locator("#voice-transcript")).to_have_value(page.inner_text("#voice-passage"))
        walk_to(page, "#voice-name")
        page.keyboard.type("Ada")
        walk_to(page, "#consent")
        press(page, "Space")
        walk_to(page, "#consent-by")
        page.keyboard.type("Ada Lovelace")
        walk_to(page, "#voice-save")
        press(page, "Enter")
        expect(page.locator(".voice-result .checks")).to_contain_text("5 to 15 s")
        press(page, "Enter")
        expect(page.locator("#voice-sheet")).to_be_hidden()
        expect(page.locator(".voice-card:has(:checked)")).to_contain_text("Ada")
        page.locator("#text").focus()
        page.keyboard.type("Spoken with a voice of my own.")
        press(page, "Control+Enter")
        expect_state(page, "done")
        expect_player(page, "ended")
        assert figure(page, "played-samples") > 0
        interrupt_and_take_home(page)
        assert watched.complaints == []
    assert "Ada" in names(fleet)


def interrupt_and_take_home(page: Page) -> None:
    """Say a paragraph, stop it in the middle, find its recording and download that."""
    walk_to(page, "#record")
    press(page, "Space")
    page.locator("#text").focus()
    page.keyboard.insert_text("A paragraph that is not heard to its end. " * 6)
    press(page, "Control+Enter")
    expect_player(page, "playing")
    press(page, "Escape")
    expect_player(page, "paused")
    assert 0 < figure(page, "played-samples") < 16_000 * 20
    expect(page.locator("#session-link")).to_be_visible()
    walk_to(page, "#session-link")
    press(page, "Enter")
    page.wait_for_url("**/sessions/*")
    button = page.get_by_role("button", name="Download", exact=True)
    expect(button).to_be_visible()
    button.focus()
    with page.expect_download() as started:
        press(page, "Enter")
    assert started.value.path().read_bytes().startswith(b"PK")


def test_a_voice_without_consent_is_kept_but_not_spoken_with(
    browser: Browser, fleet: Server, recording: Path
) -> None:
    with watched_page(browser, viewport=DESKTOP) as watched:  # the browser complains of the 403
        page = watched.page
        make_from_file(page, fleet, recording, "Mute")
        alert = page.locator("#voice-sheet [role=alert]")
        expect(alert).to_contain_text("Nobody can use this voice before somebody agrees.")
        expect(page.locator("#consent")).to_be_focused()
        page.fill("#voice-lang", "English, please")  # what was said goes when something is changed
        expect(alert).to_be_hidden()
        page.get_by_role("button", name="Make it without consent").click()
        expect(alert).to_have_text("Write the language as a code, such as en, de or zh-CN.")
        page.fill("#voice-lang", "en")
        page.click("#voice-save")
        page.get_by_role("button", name="Keep it").click()
        card = page.locator(".voice-card", has_text="Mute")
        expect(card).to_contain_text("needs consent")
        page.get_by_role("radio", name="Mute").check()
        page.fill("#text", "Hello.")
        page.click("#generate")
        expect(page.locator("#error")).to_contain_text("Nobody has agreed")
        page.locator("#error").get_by_role("button", name="Give consent").click()
        expect(page.locator("#consent")).to_be_focused()
        page.check("#consent")
        page.click("#voice-save")
        expect(alert).to_have_text("Write the name of whoever agrees.")
        page.fill("#consent-by", "Ann Example")
        page.click("#voice-save")
        expect(page.locator("#voice-sheet")).to_be_hidden()
        expect(page.locator("#error")).to_be_hidden()
        expect(card).not_to_contain_text("needs consent")
        page.click("#generate")
        expect_state(page, "done")


def test_the_consent_is_in_the_reader_s_language(browser: Browser, fleet: Server) -> None:
    with watched_page(browser, viewport=DESKTOP, locale="zh-CN") as watched:
        open_sheet(watched.page, fleet)
        expect(watched.page.locator("#consent-statement")).to_contain_text("我同意此服务模仿该声音")
        assert watched.complaints == []


def test_what_is_wrong_is_said_and_the_clone_is_heard_beside_the_recording(
    browser: Browser, fleet: Server, tmp_path: Path
) -> None:
    paused = write_voice(tmp_path / "paused.wav", pause=(3.0, 5.0))
    with watched_page(browser, viewport=DESKTOP) as watched:
        page = watched.page
        open_sheet(page, fleet)
        page.set_input_files("#voice-file", paused)
        take = page.locator(".drop .take")
        expect(take.locator(".check-warning")).to_contain_text("long pauses")
        expect(take.locator(".check-warning")).to_contain_text("(3.0–5.0 s)")
        page.click("#voice-try")
        alert = page.locator("#voice-sheet [role=alert]")
        expect(alert).to_contain_text("The clone speaks once somebody agrees.")
        page.check("#consent")
        page.fill("#consent-by", "Ann Example")
        with held(page, "**/api/voices/trial"):
            page.click("#voice-try")
            expect(page.locator("#voice-try")).to_have_text("Cancel")
            page.click("#voice-try")
            expect(page.locator("#voice-try")).to_have_text("Hear the clone")
        expect(alert).to_be_hidden()
        page.click("#voice-try")
        for sound in ("clone", "recording"):
            page.click(f"#trial-{sound}")
            expect(page.locator(f"#trial-{sound}")).to_have_attribute("aria-pressed", "true")
        page.evaluate(TELL_LATE)
        page.click("#trial-clone")
        page.wait_for_function("() => window.told")
        expect(page.locator("#trial-clone")).to_have_attribute("aria-pressed", "true")
        page.fill("#voice-name", "Tried")
        expect(page.locator("#trial-clone")).to_be_visible()
        page.uncheck("#consent")
        expect(page.locator("#trial-clone")).to_be_hidden()
        assert "Tried" not in names(fleet)
        assert watched.complaints == []


def test_a_voice_is_made_on_the_live_page_and_spoken_with_there(
    browser: Browser, fleet: Server, recording: Path
) -> None:
    with watched_page(browser, viewport=DESKTOP) as watched:
        page = watched.page
        page.goto(f"{fleet.url}/live")
        page.click("#new-voice")
        page.set_input_files("#voice-file", recording)
        page.fill("#voice-name", "Liv")
        page.check("#consent")
        page.fill("#consent-by", "Liv Example")
        page.click("#voice-save")
        expect(page.locator(".voice-card:has(:checked)")).to_contain_text("Liv")
        page.fill("#text", "Said live. ")
        page.keyboard.press("Control+Enter")
        expect(page.locator(".word.heard")).to_have_count(2, timeout=30_000)
        page.reload()
        expect(page.locator(".voice-card:has(:checked)")).to_contain_text("Liv")
        expect(page.locator("#transcript")).to_contain_text("Said live.")
        assert watched.complaints == []


def test_a_voice_is_edited_heard_and_deleted(browser: Browser, fleet: Server, recording: Path) -> None:
    with watched_page(browser, viewport=DESKTOP) as watched:
        page = watched.page
        make_from_file(page, fleet, recording, "Draft")
        page.get_by_role("button", name="Make it without consent").click()
        page.get_by_role("button", name="Keep it").click()
        with held(page, "**/api/voices/*"):
            page.get_by_role("button", name="Edit Draft").click()
            name = page.locator("#voice-name")
            expect(name).to_have_value("Draft")
            expect(name).to_be_disabled()  # or what comes late would be written over what is typed
        page.fill("#voice-name", "Grace")
        page.fill("#voice-tags", "calm, low")
        page.check("#consent")
        page.fill("#consent-by", "Grace Hopper")
        page.click("#voice-save")
        expect(page.locator(".voice-card", has_text="Grace")).to_contain_text("#calm")
        hear = page.get_by_role("button", name="Hear Grace")
        expect(hear).to_have_attribute("title", re.compile("Plays the recording of Grace"))
        hear.click()
        expect(page.locator(".voice-preview use[href='#icon-stop']")).to_have_count(1)
        grace = next(one for one in fleet.get_json("/api/voices")["voices"] if one["name"] == "Grace")
        address = f"{fleet.url}/api/voices/{grace['id']}"
        agreed = {"consent_by": "Grace", "consent_statement": "I agree, in words of my own."}
        learnt = {"parameters": {"adapter": "a_of_hers"}}
        httpx.patch(address, json={**agreed, **learnt}).raise_for_status()
        page.click("#advanced summary")
        page.fill("#seed", "7")
        page.get_by_role("button", name="Edit Grace").click()
        expect(page.locator("#consent-statement")).to_have_text("I agree, in words of my own.")
        page.check("#voice-parameters")
        page.click("#voice-save")
        expect(page.locator("#voice-sheet")).to_be_hidden()
        spoken_with = httpx.get(address).json()["parameters"]
        assert (spoken_with["adapter"], spoken_with["seed"]) == ("a_of_hers", 7)
        page.get_by_role("button", name="Edit Grace").click()
        page.click("#voice-delete")
        page.click("#voice-delete")
        expect(page.locator(".voice-card", has_text="Grace")).to_have_count(0)
        assert watched.complaints == []
    assert "Grace" not in names(fleet)


def test_of_another_s_voice_a_sentence_is_heard(browser: Browser, recording: Path) -> None:
    keys = {"ann": {"key": "the key of ann, long"}}
    with fleet_with_data(VOXFLEET_API_KEYS=json.dumps(keys)) as edge:
        with httpx.Client(base_url=edge.url, headers={"X-API-Key": keys["ann"]["key"]}, timeout=60) as ann:
            fields = {"name": "Ann", "consent_by": "Ann", "consent_statement": "I agree."}
            files = {"audio": recording.read_bytes()}
            assert ann.post("/api/voices", files=files, data=fields).status_code == 201
        with watched_page(browser, viewport=DESKTOP) as watched:
            page = watched.page
            page.goto(edge.url)
            hear = page.get_by_role("button", name="Hear Ann")
            expect(hear).to_have_attribute("title", re.compile("Plays a generated sentence"))
            with page.expect_response("**/preview") as answered:
                hear.click()
            assert answered.value.headers["x-audio-provenance"]
            expect(page.locator(".voice-preview use[href='#icon-stop']")).to_have_count(1)
            assert watched.complaints == []


def test_noise_is_taken_out_of_a_recording_where_that_is_wanted(
    browser: Browser, fleet: Server, tmp_path: Path
) -> None:
    (tmp_path / "noisy.wav").write_bytes(wav(noisy_speech()))
    with watched_page(browser, viewport=DESKTOP) as watched:
        page = watched.page
        open_sheet(page, fleet)
        page.set_input_files("#voice-file", tmp_path / "noisy.wav")
        findings = page.locator(".drop .take .checks")
        expect(findings).to_contain_text("noise or music")
        remedy = findings.get_by_role("button", name="Take the noise out")
        wanted = page.get_by_label("Take out the noise behind the speaker")
        remedy.focus()
        press(page, "Enter")
        expect(wanted).to_be_checked()
        expect(findings).to_contain_text("It is short")
        expect(findings).not_to_contain_text("noise or music")
        expect(page.get_by_role("button", name="Play the recording")).to_be_focused()
        wanted.uncheck()
        expect(remedy).to_be_visible()
        remedy.click()
        page.fill("#voice-name", "Quiet")
        page.check("#consent")
        page.fill("#consent-by", "Ann Example")
        page.click("#voice-save")
        expect(page.locator(".voice-result .checks")).to_contain_text("It is short")
        expect(page.locator(".voice-result .checks")).not_to_contain_text("noise or music")
        assert watched.complaints == []


def test_a_file_that_is_no_audio_is_refused(browser: Browser, fleet: Server, tmp_path: Path) -> None:
    text = tmp_path / "notes.wav"
    text.write_text("this is no recording" * 100)
    with watched_page(browser, viewport=DESKTOP) as watched:  # the browser complains of the 422
        open_sheet(watched.page, fleet)
        watched.page.set_input_files("#voice-file", text)
        expect(watched.page.locator(".drop-file")).to_contain_text("KiB. Audio of this kind is not read.")
        watched.page.fill("#voice-name", "Notes")
        watched.page.click("#voice-save")
        watched.page.get_by_role("button", name="Make it without consent").click()
        alert = watched.page.locator("#voice-sheet [role=alert]")
        expect(alert).to_contain_text("Audio of this kind is not read")
        expect(watched.page.locator("#voice-name")).to_have_value("Notes")


def test_the_sheet_opens_at_its_top(page: Page, fleet: Server) -> None:
    page.set_viewport_size(PHONE)
    open_sheet(page, fleet)
    assert page.evaluate("document.querySelector('#voice-sheet').scrollTop") == 0
    page.fill("#voice-name", "Ada")  # what is written is kept
    page.locator("#consent-by").scroll_into_view_if_needed()
    page.keyboard.press("Escape")
    page.click("#new-voice")
    expect(page.locator("#voice-name")).to_have_value("Ada")
    assert page.evaluate("document.querySelector('#voice-sheet').scrollTop") == 0


def test_what_is_missing_is_said_before_anything_is_sent(browser: Browser, fleet: Server) -> None:
    with watched_page(browser, viewport=DESKTOP) as watched:
        page = watched.page
        open_sheet(page, fleet)
        page.click("#voice-save")
        expect(page.locator("#voice-sheet [role=alert]")).to_contain_text("Record something")
        assert watched.complaints == []
