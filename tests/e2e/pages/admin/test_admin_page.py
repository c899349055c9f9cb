"""The admin page in a real browser: who may see it, what happens on it, and what an operator switches."""

from __future__ import annotations

import re
from pathlib import Path

import httpx
from playwright.sync_api import Browser, Page, expect

from tests.e2e.browser import watched_page
from tests.e2e.pages.admin.sections import unfold
from tests.e2e.processes import Server, gateway
from tests.e2e.studio import write_voice
from tests.gateway.callers.administration import ADMIN, ADMIN_PAGE

NAME = "<img src=x onerror=alert(1)>"
MARKUP = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"


def test_a_voice_is_deleted_after_a_yes_and_its_name_is_text(
    page: Page, fleet: Server, tmp_path: Path
) -> None:
    recording = write_voice(tmp_path / "voice.wav").read_bytes()
    audio = {"audio": ("voice.wav", recording, "audio/wav")}
    made = httpx.post(f"{fleet.url}/api/voices", data={"name": NAME}, files=audio, timeout=60)
    voice_id = made.raise_for_status().json()["id"]
    page.goto(f"{fleet.url}{ADMIN_PAGE}")
    unfold(page, "voices")
    row = page.locator(f"[data-voice='{voice_id}']")
    expect(row).to_contain_text(NAME)
    expect(row).to_contain_text("needs consent")
    row.get_by_role("button").click()
    expect(page.locator("dialog[open] h2")).to_contain_text(NAME)
    page.locator("dialog").get_by_role("button", name="Delete", exact=True).click()
    expect(row).to_have_count(0)
    assert fleet.get_json(f"/api/voices/{voice_id}") is None
    assert page.locator("main img").count() == 0


def test_many_voices_are_searched_and_the_next_has_the_focus_when_one_is_gone(
    page: Page, fleet: Server
) -> None:
    voices = [{"id": f"v_{number}", "name": f"Zoë {number}", "kind": "custom"} for number in range(8)]
    page.route("**/api/voices", lambda route: route.fulfill(json={"voices": voices}))
    page.route("**/api/voices/*", lambda route: (voices.pop(1), route.fulfill(json={})))
    page.goto(f"{fleet.url}{ADMIN_PAGE}")
    unfold(page, "voices")
    rows = page.locator("#voices [data-voice]")
    expect(rows).to_have_count(8)
    search = page.get_by_role("searchbox", name="Search voices")
    search.fill("zoe 7")
    expect(rows).to_contain_text(["Zoë 7"])
    search.fill("nobody")
    expect(page.locator("#voices")).to_contain_text("No voice matches.")
    search.fill("custom")
    page.get_by_role("button", name="Delete Zoë 1").click()
    page.locator("dialog").get_by_role("button", name="Delete", exact=True).click()
    expect(rows).to_have_count(7)
    expect(page.get_by_role("button", name="Delete Zoë 2")).to_be_focused()


def test_the_token_is_asked_for_once_and_kept_for_the_tab(browser: Browser, fleet: Server) -> None:
    worker_url = fleet.get_json("/api/workers")["workers"][0]["url"]
    with (
        gateway([worker_url], VOXFLEET_ADMIN_TOKEN="open-sesame-and-close") as edge,
        watched_page(browser) as watched,
    ):
        page = watched.page
        page.goto(f"{edge.url}/admin")
        page.fill("#token", "guess")
        page.keyboard.press("Enter")
        expect(page.locator("#token-wrong")).to_be_visible()
        page.fill("#token", "open-sesame-and-close")
        page.keyboard.press("Enter")
        expect(page.locator(".worker .state")).to_have_text("idle")
        expect(page.locator(".lamp")).to_have_text("Live")
        page.reload()
        expect(page.locator(".worker .state")).to_have_text("idle")
        expect(page.locator("#token-sheet")).to_be_hidden()
        assert page.evaluate("localStorage.length === 0 && sessionStorage.length") == 1


def test_the_page_polls_when_the_event_stream_is_not_to_be_had(browser: Browser, fleet: Server) -> None:
    with watched_page(browser) as watched:
        watched.page.route("**/api/events", lambda route: route.abort())
        watched.page.goto(f"{fleet.url}{ADMIN_PAGE}")
        expect(watched.page.locator(".lamp")).to_have_text("Every 2 s")
        expect(watched.page.locator(".worker .state")).to_have_text("idle")


def test_a_page_is_switched_off_and_on_again(browser: Browser, page: Page, fleet: Server) -> None:
    page.goto(f"{fleet.url}{ADMIN_PAGE}")
    unfold(page, "pages")
    switch = page.get_by_role("switch", name="Live")
    expect(switch).to_be_checked()
    switch.press("Space")
    expect(switch).not_to_be_checked()
    expect(switch).to_be_focused()
    assert httpx.get(f"{fleet.url}/live").status_code == 302
    assert "live" not in fleet.get_json("/api/config")["pages"]
    with watched_page(browser) as other:
        other.page.goto(f"{fleet.url}{ADMIN_PAGE}")
        unfold(other.page, "pages")
        expect(other.page.get_by_role("switch", name="Live")).not_to_be_checked()
        expect(other.page.locator("[data-page=live]")).to_be_hidden()
        switch.press("Space")
        expect(switch).to_be_checked()
        expect(other.page.get_by_role("switch", name="Live")).to_be_checked()  # pushed
    assert httpx.get(f"{fleet.url}/live").status_code == 200


def test_a_setting_out_of_bounds_is_refused_at_its_field(browser: Browser, fleet: Server) -> None:
    with watched_page(browser) as watched:  # the browser complains of the 422
        page = watched.page
        page.goto(f"{fleet.url}{ADMIN_PAGE}")
        unfold(page, "eta")
        field = page.get_by_label("First guess, seconds")
        expect(field).to_have_value("5")
        field.fill("7200")
        page.get_by_role("button", name="Save").click()
        expect(page.locator("#eta-prior_seconds-problem")).to_contain_text("3600")
        expect(field).to_be_focused()
        assert fleet.get_json("/api/settings/eta")["prior_seconds"] == 5
        field.fill("4.5")
        page.keyboard.press("Enter")
        expect(page.locator("#status")).to_have_text("Saved, and in force.")
        expect(page.locator("#eta-prior_seconds-problem")).to_be_hidden()
        assert fleet.get_json("/api/settings/eta")["prior_seconds"] == 4.5
        httpx.put(
            f"{fleet.url}/api/settings/eta", headers=ADMIN, json={"prior_seconds": 5}
        ).raise_for_status()


def test_events_come_as_they_happen_and_are_filtered(page: Page, fleet: Server) -> None:
    page.goto(f"{fleet.url}{ADMIN_PAGE}")
    lines = page.locator(".log-line")
    expect(lines.filter(has_text="worker up").first).to_be_visible()
    httpx.post(f"{fleet.url}/api/workers/w0/drain", headers=ADMIN).raise_for_status()
    httpx.post(f"{fleet.url}/api/workers/w0/resume", headers=ADMIN).raise_for_status()
    expect(lines.filter(has_text="resume, by").first).to_be_visible()
    page.select_option("#log-kind", "admin")
    expect(lines.filter(has_text="worker up")).to_have_count(0)
    page.fill("#log-words", "drain w0")
    expect(lines.first).to_contain_text("drain, by")
    expect(lines.filter(has_text="resume, by")).to_have_count(0)
    page.fill("#log-words", "no such words")
    expect(page.locator("#log-body")).to_have_text("No event like that.")


def test_the_page_is_chinese_for_who_reads_chinese(browser: Browser, fleet: Server) -> None:
    with watched_page(browser, locale="zh-CN") as watched:
        page = watched.page
        page.goto(f"{fleet.url}{ADMIN_PAGE}")
        expect(page.locator("#workers-title")).to_have_text("工作节点")
        expect(page.locator(".worker .state")).to_have_text("空闲")
        unfold(page, "pages")
        expect(page.get_by_role("switch", name="实时")).to_be_checked()
        expect(page.locator(".log-line").filter(has_text="节点就绪").first).to_be_visible()
        httpx.post(f"{fleet.url}/api/workers/w0/drain", headers=ADMIN).raise_for_status()
        httpx.post(f"{fleet.url}/api/workers/w0/resume", headers=ADMIN).raise_for_status()
        expect(
            page.locator(".log-line").filter(has_text="恢复，由 127.0.0.1 的管理员操作").first
        ).to_be_visible()
        page.click("#language")
        expect(page.locator("#workers-title")).to_have_text("Workers")
        expect(page.locator(".worker .state")).to_have_text("idle")
        assert watched.complaints == []


def test_stored_strings_are_shown_as_text(page: Page, fleet: Server) -> None:
    request = {"ticket_id": MARKUP, "request_id": MARKUP, "worker_id": MARKUP, "position": 1}
    names = {"id": MARKUP, "url": MARKUP, "model": MARKUP, "device": MARKUP, "last_failure": MARKUP}
    poisoned = {"state": "DOWN", "slots_total": 1, "slots_used": 0, **names}
    page.route("**/api/events", lambda route: route.fulfill(status=204))
    page.route("**/api/workers", lambda route: route.fulfill(json={"workers": [poisoned]}))
    page.route("**/api/queue", lambda route: route.fulfill(json={"queue": [request], "running": [request]}))
    voice = {"id": "v", "name": MARKUP, "kind": "custom", "language": MARKUP, "tags": [MARKUP]}
    page.route("**/api/voices", lambda route: route.fulfill(json={"voices": [voice]}))
    event = {"id": 1, "at": "2026-01-01T00:00:00Z", "kind": MARKUP, "subject": MARKUP, "message": MARKUP}
    page.route("**/api/log?*", lambda route: route.fulfill(json={"events": [event], "next_before": None}))
    page.goto(f"{fleet.url}{ADMIN_PAGE}")
    expect(page.locator(".worker h3")).to_have_text(MARKUP)
    expect(page.locator(".remark")).to_have_text(MARKUP)
    expect(page.locator("#queue .request-name")).to_have_text(MARKUP)
    expect(page.locator("#voices .request-name")).to_have_text(MARKUP)
    expect(page.locator(".log-text b")).to_have_text(MARKUP)
    unfold(page, "voices")
    page.locator("#voices button").click()
    expect(page.locator("dialog[open] h2")).to_contain_text(MARKUP)
    assert page.locator("main img, main script, dialog img, dialog script").count() == 0
    assert page.title() == "VoxFleet Admin"


def test_a_gateway_that_is_away_is_told_of_once(browser: Browser, fleet: Server) -> None:
    worker_url = fleet.get_json("/api/workers")["workers"][0]["url"]
    with watched_page(browser) as watched:  # the browser complains of refused connections
        page, alerts = watched.page, watched.page.locator("[role=alert]:visible")
        with gateway([worker_url]) as edge:
            page.goto(f"{edge.url}{ADMIN_PAGE}")
            expect(page.locator(".lamp")).to_have_text("Live")
            expect(page.locator("#voices")).to_be_visible()  # what shows it is loaded
        expect(alerts).to_have_text([re.compile("The gateway does not answer.")])
        expect(page.locator(".lamp")).to_have_text("No connection")
        with gateway([worker_url], port=httpx.URL(edge.url).port):
            expect(page.locator(".lamp")).to_have_text("Live")
            expect(alerts).to_have_count(0)


def test_sections_that_could_not_be_had_are_there_once_the_gateway_is_back(
    browser: Browser, fleet: Server
) -> None:
    worker_url = fleet.get_json("/api/workers")["workers"][0]["url"]
    with watched_page(browser) as watched:  # the browser complains of refused connections
        page, alerts = watched.page, watched.page.locator("[role=alert]:visible")
        page.route("**/admin-1.js", lambda route: route.abort())
        with gateway([worker_url]) as edge:
            page.goto(f"{edge.url}{ADMIN_PAGE}")
            expect(alerts).to_have_text([re.compile("A part of the page could not be loaded.")])
        expect(alerts).to_have_text([re.compile("The gateway does not answer.")])
        page.unroute("**/admin-1.js")
        with gateway([worker_url], port=httpx.URL(edge.url).port):
            expect(page.locator("#voices")).to_be_visible()
            expect(alerts).to_have_count(0)
