"""The admin page in a real browser: the fleet as it changes, and what an operator does to it."""

from __future__ import annotations

import asyncio
import json
import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

import httpx
from playwright.sync_api import Browser, Locator, Page, expect
from websockets.sync.client import connect

from gateway.database import Database, FigureSpan
from gateway.operations.measurements.figures import Figures
from gateway.settings.storage import DATABASE_FILE
from tests.e2e.browser import watched_page
from tests.e2e.processes import Server, eventually, gateway, worker
from tests.e2e.studio import write_voice
from tests.gateway.administration import ADMIN, ADMIN_PAGE

SENTENCE = "The quick brown fox jumps over the lazy dog."
PARAGRAPH = " ".join([SENTENCE] * 12)
LONG = " ".join([PARAGRAPH] * 5)
NAME = "<img src=x onerror=alert(1)>"
MARKUP = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"


def unfold(page: Page, *sections: str) -> None:
    for section in sections:
        page.locator(f"#{section} summary").first.click()


def test_the_worker_is_shown_live(page: Page, fleet: Server) -> None:
    page.goto(f"{fleet.url}{ADMIN_PAGE}")
    card = page.locator(".worker[data-worker]")
    expect(card).to_have_count(1)
    expect(card.locator(".state")).to_have_text("idle")
    expect(card).to_contain_text("synthetic")
    expect(card).to_contain_text("0 of 2 slots used")
    expect(page.locator(".lamp")).to_have_text("Live")
    card.locator(".worker-more summary").click()
    requests = card.locator("dt:has-text('Requests') + dd")
    before = int(requests.inner_text())
    httpx.post(f"{fleet.url}/tts", json={"text": SENTENCE}).raise_for_status()
    expect(requests).to_have_text(str(before + 1))


def test_a_worker_is_drained_and_resumed(page: Page, fleet: Server) -> None:
    page.goto(f"{fleet.url}{ADMIN_PAGE}")
    expect(page.get_by_role("button", name="Restart w0")).to_be_hidden()  # nobody would start it again
    state = page.locator(".worker .state")
    page.get_by_role("button", name="Drain w0").click()
    expect(page.locator("dialog[open]")).to_contain_text("No other worker serves.")
    page.locator("dialog").get_by_role("button", name="Drain", exact=True).click()
    expect(state).to_have_text("draining")
    assert fleet.get_json("/api/workers")["workers"][0]["state"] == "DRAINING"
    expect(page.locator("#status")).to_have_text("w0 is draining.")
    page.get_by_role("button", name="Resume w0").click()
    expect(state).to_have_text("idle")
    eventually(lambda: fleet.get_json("/ready"))


def test_who_runs_and_who_waits_is_shown_and_can_be_ended(page: Page, slow_fleet: Server) -> None:
    page.goto(f"{slow_fleet.url}{ADMIN_PAGE}")
    expect(page.locator("#queue-empty")).to_be_visible()
    outcomes: list[int] = []
    events = slow_fleet.get_json("/api/log?limit=200")["events"]
    earlier = sum(event.get("saying") == "cancel" for event in events)

    def speak() -> None:
        response = httpx.post(f"{slow_fleet.url}/tts", json={"text": PARAGRAPH}, timeout=60)
        outcomes.append(response.status_code)

    threads = [threading.Thread(target=speak) for _ in range(2)]
    for thread in threads:
        thread.start()
    expect(page.locator("#running .request")).to_have_count(1)
    expect(page.locator("#queue .request")).to_have_count(1)
    expect(page.locator("[data-figure=waiting] .figure-value")).to_have_text("1")
    page.locator("#queue button").click()
    page.locator("dialog").get_by_role("button", name="Let it wait").click()
    expect(page.locator("#queue .request")).to_have_count(1)
    page.locator("#queue button").click()
    page.get_by_role("button", name="Cancel it").click()
    expect(page.locator("#queue .request")).to_have_count(0)
    page.locator("#running button").click()
    page.locator("dialog").get_by_role("button", name="Stop", exact=True).click()
    expect(page.locator("#running .request")).to_have_count(0)
    by_the_operator = page.locator(".log-line", has_text="cancel, by")
    expect(by_the_operator).to_have_count(earlier + 2)  # also from the operator's address
    expect(page.locator(".log-day").first).to_contain_text(str(date.today().year))
    for thread in threads:
        thread.join()
    assert all(status >= 400 for status in outcomes)


def test_requests_are_told_apart_and_several_are_cancelled_at_once(page: Page, slow_fleet: Server) -> None:
    page.goto(f"{slow_fleet.url}{ADMIN_PAGE}")
    outcomes: list[int] = []
    headers = {"User-Agent": "shop/2.1 (secret-0123456789)"}

    def speak(path: str, order: dict[str, str]) -> None:
        try:
            response = httpx.post(f"{slow_fleet.url}{path}", json=order, headers=headers, timeout=60)
            outcomes.append(response.status_code)
        except httpx.RemoteProtocolError:  # a stream whose audio has begun breaks off
            outcomes.append(499)

    spoken = {"input": LONG, "voice": "default", "model": "synthetic"}
    orders = [("/tts", {"text": LONG})] * 2 + [("/v1/audio/speech", spoken)] * 2
    threads = [threading.Thread(target=speak, args=order) for order in orders]
    for thread in threads:
        thread.start()
    waiting, running = page.locator("#queue .request"), page.locator("#running .request")
    expect(waiting).to_have_count(3)
    expect(running.locator(".request-name")).to_have_text(f"Default · {len(LONG):,} characters")
    expect(running).to_contain_text("shop 2.1 · of 127.0.0.1")
    expect(page.locator("main")).not_to_contain_text("secret")
    tools = page.locator("#queue-tools")
    tools.locator("select").select_option(label="All (3)")
    expect(page.locator("#queue .request.chosen")).to_have_count(3)
    page.get_by_label("Choose default").nth(0).uncheck()
    tools.get_by_role("button", name="Cancel 2").click()
    expect(page.locator("dialog[open] h2")).to_have_text("Cancel 2 requests?")
    page.locator("dialog").get_by_role("button", name="Cancel them").click()
    expect(waiting).to_have_count(1)
    expect(page.locator(".log-line", has_text="cancel of 2 requests, by")).to_have_count(1)
    expect(tools.get_by_role("button", name="Cancel 2")).to_be_hidden()
    left = page.locator(".request[data-ticket]").evaluate_all("all => all.map(one => one.dataset.ticket)")
    assert len(left) == 2
    for ticket_id in left:
        httpx.delete(f"{slow_fleet.url}/api/queue/{ticket_id}", headers=ADMIN).raise_for_status()
    for thread in threads:
        thread.join()
    assert len(outcomes) == 4 and all(status >= 400 for status in outcomes)


def test_graphs_show_what_was_kept_to_pointer_keyboard_and_as_a_table(page: Page, tmp_path: Path) -> None:
    began_at = int(time.time()) // 600 * 600 - 3 * 86_400
    with ThreadPoolExecutor(1) as aside:  # this thread has playwright's event loop
        aside.submit(asyncio.run, keep_figures(tmp_path, began_at)).result()
    with worker() as one, gateway([one.url], VOXFLEET_DATA_DIR=str(tmp_path)) as edge:
        page.goto(f"{edge.url}{ADMIN_PAGE}")
        page.get_by_role("radio", name="7 days").check()
        load = page.get_by_role("slider", name="Load")
        load.focus()
        eventually(lambda: "slots in use 3, waiting 0, slots in all 4" in at_the_first_point(page, load))
        page.keyboard.press("ArrowRight")
        expect(load).to_have_attribute("aria-valuetext", re.compile("slots in use 1.5, "))
        expect(page.locator(".graph-bubble").first).to_contain_text("1.5")
        page.get_by_role("slider", name="First audio").hover()
        expect(page.locator(".graph-bubble").nth(1)).to_contain_text("95 % within")
        page.locator(".graph-details summary").first.click()
        row = page.locator(".graph-table tbody tr").last
        expect(row.locator("td")).to_have_text(["3", "0", "4"])
        page.reload()
        expect(page.get_by_role("radio", name="7 days")).to_be_checked()
        page.get_by_role("radio", name="1 h", exact=True).check()
        expect(load).not_to_have_attribute("aria-valuetext", re.compile("slots in use 1.5, "))


def at_the_first_point(page: Page, graph: Locator) -> str:
    """What a graph says of its oldest point; of another one once it has more."""
    page.keyboard.press("Home")
    return graph.get_attribute("aria-valuetext") or ""


async def keep_figures(folder: Path, began_at: int) -> None:
    """Two spans of ten minutes, as another process of the gateway left them."""
    database = Database(f"sqlite:///{folder / DATABASE_FILE}")
    await database.open()
    async with database.transaction() as rows:
        for number, used in enumerate((3, 1.5)):
            figures = Figures(600, 1200, 2400, used_seconds=used * 600).as_fields()
            rows.add(FigureSpan(length=600, at=began_at + 600 * number, gateway="before", figures=figures))
    await database.close()


def test_a_live_session_is_told_from_a_paused_one(page: Page, fleet: Server) -> None:
    page.goto(f"{fleet.url}{ADMIN_PAGE}")
    with connect(f"{fleet.url.replace('http', 'ws')}/ws/live") as socket:
        socket.send(json.dumps({"type": "start"}))
        socket.send(json.dumps({"type": "append", "text": PARAGRAPH}))
        row = page.locator("#running .request")
        expect(row).to_contain_text("live · VoxFleet · Python")
        expect(page.locator(".slots-live")).to_have_text("1 live")
        socket.send(json.dumps({"type": "pause"}))
        expect(row).to_contain_text("live, paused")
        expect(page.locator(".slots-live")).to_have_text("0 live, 1 paused")
    expect(row).to_have_count(0)


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
    expect(row).to_contain_text("no consent")
    row.get_by_role("button").click()
    expect(page.locator("dialog[open] h2")).to_contain_text(NAME)
    page.locator("dialog").get_by_role("button", name="Delete", exact=True).click()
    expect(row).to_have_count(0)
    assert fleet.get_json(f"/api/voices/{voice_id}") is None
    assert page.locator("main img").count() == 0


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


def test_a_worker_is_restarted_only_after_a_yes(page: Page) -> None:
    supervised = {"VOXFLEET_WORKER_SUPERVISED": "true"}
    with worker(slots=1, step_ms=10, **supervised) as one, gateway([one.url]) as edge:
        page.goto(f"{edge.url}{ADMIN_PAGE}")
        page.get_by_role("button", name="Restart w0").click()
        question = page.locator("dialog[open]")
        expect(question).to_contain_text("Restart w0?")
        page.keyboard.press("Escape")
        expect(question).to_have_count(0)
        assert one.process.poll() is None
        page.get_by_role("button", name="Restart w0").click()
        question.get_by_role("button", name="Restart").click()
        expect(page.locator("#status")).to_have_text("w0 is restarting.")
        eventually(lambda: one.process.poll() is not None)
        expect(page.locator(".worker .state")).to_have_text("down")
        expect(page.locator("#log")).to_contain_text("worker restarting")
        expect(page.locator(".log-line", has_text="worker down")).to_have_count(0)
        expect(page.locator("#log")).to_contain_text("restart, by")


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
