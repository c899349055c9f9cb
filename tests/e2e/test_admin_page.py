"""The admin page in a real browser: workers, queue and running requests, live, and the three verbs."""

from __future__ import annotations

import threading

import httpx
from playwright.sync_api import Browser, Page, expect

from tests.e2e.browser import watched_page
from tests.e2e.processes import Server, eventually, gateway

SENTENCE = "The quick brown fox jumps over the lazy dog."
PARAGRAPH = " ".join([SENTENCE] * 12)
MARKUP = "<img src=x onerror=\"document.title='owned'\"><script>document.title='owned'</script>"


def test_the_worker_is_shown_live(page: Page, fleet: Server) -> None:
    page.goto(f"{fleet.url}/admin")
    card = page.locator(".worker[data-worker]")
    expect(card).to_have_count(1)
    expect(card.locator(".state")).to_have_text("idle")
    expect(card).to_contain_text("synthetic")
    expect(card).to_contain_text("0 of 2 slots used")
    expect(page.locator(".lamp")).to_have_text("Live")
    requests = card.locator("dt:has-text('Requests') + dd")
    before = int(requests.inner_text())
    httpx.post(f"{fleet.url}/tts", json={"text": SENTENCE}).raise_for_status()
    expect(requests).to_have_text(str(before + 1))


def test_a_worker_is_drained_and_resumed(page: Page, fleet: Server) -> None:
    page.goto(f"{fleet.url}/admin")
    state = page.locator(".worker .state")
    page.get_by_role("button", name="Drain w0").click()
    expect(state).to_have_text("draining")
    assert fleet.get_json("/api/workers")["workers"][0]["state"] == "DRAINING"
    expect(page.locator("#status")).to_have_text("w0 is draining.")
    page.get_by_role("button", name="Resume w0").click()
    expect(state).to_have_text("idle")
    eventually(lambda: fleet.get_json("/ready"))


def test_who_runs_and_who_waits_is_shown_and_can_be_ended(page: Page, slow_fleet: Server) -> None:
    page.goto(f"{slow_fleet.url}/admin")
    expect(page.locator("#queue-empty")).to_be_visible()
    outcomes: list[int] = []

    def speak() -> None:
        response = httpx.post(f"{slow_fleet.url}/tts", json={"text": PARAGRAPH}, timeout=60)
        outcomes.append(response.status_code)

    threads = [threading.Thread(target=speak) for _ in range(2)]
    for thread in threads:
        thread.start()
    expect(page.locator("#running .request")).to_have_count(1)
    expect(page.locator("#queue .request")).to_have_count(1)
    expect(page.locator("[data-figure=Waiting] .figure-value")).to_have_text("1")
    page.locator("#queue button").click()
    expect(page.locator("#queue .request")).to_have_count(0)
    page.locator("#running button").click()
    expect(page.locator("#running .request")).to_have_count(0)
    for thread in threads:
        thread.join()
    assert all(status >= 400 for status in outcomes)


def test_the_token_is_asked_for_once_and_kept_for_the_tab(browser: Browser, fleet: Server) -> None:
    worker_url = fleet.get_json("/api/workers")["workers"][0]["url"]
    with (
        gateway([worker_url], VOXFLEET_ADMIN_TOKEN="open-sesame") as edge,
        watched_page(browser) as watched,
    ):
        page = watched.page
        page.goto(f"{edge.url}/admin")
        page.fill("#token", "guess")
        page.keyboard.press("Enter")
        expect(page.locator("#token-wrong")).to_be_visible()
        page.fill("#token", "open-sesame")
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
        watched.page.goto(f"{fleet.url}/admin")
        expect(watched.page.locator(".lamp")).to_have_text("Every 2 s")
        expect(watched.page.locator(".worker .state")).to_have_text("idle")


def test_stored_strings_are_shown_as_text(page: Page, fleet: Server) -> None:
    request = {"ticket_id": MARKUP, "request_id": MARKUP, "worker_id": MARKUP, "position": 1}
    names = {"id": MARKUP, "url": MARKUP, "model": MARKUP, "device": MARKUP, "last_failure": MARKUP}
    poisoned = {"state": "DOWN", "slots_total": 1, "slots_used": 0, **names}
    page.route("**/api/events", lambda route: route.fulfill(status=204))
    page.route("**/api/workers", lambda route: route.fulfill(json={"workers": [poisoned]}))
    page.route("**/api/queue", lambda route: route.fulfill(json={"queue": [request], "running": [request]}))
    page.goto(f"{fleet.url}/admin")
    expect(page.locator(".worker h3")).to_have_text(MARKUP)
    expect(page.locator(".remark")).to_have_text(MARKUP)
    expect(page.locator("#queue .request-name")).to_have_text(MARKUP)
    assert page.locator("main img, main script").count() == 0
    assert page.title() == "VoxFleet Admin"
