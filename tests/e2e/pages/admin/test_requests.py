"""Requests on the admin page: who runs, who waits, and who is cancelled."""

from __future__ import annotations

import json
import threading
from datetime import date

import httpx
from playwright.sync_api import Page, expect
from websockets.sync.client import connect

from tests.e2e.pages.admin.sections import LONG, PARAGRAPH
from tests.e2e.processes import Server
from tests.gateway.callers.administration import ADMIN, ADMIN_PAGE


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
