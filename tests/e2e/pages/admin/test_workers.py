"""Workers on the admin page: shown as they change, drained, restarted."""

from __future__ import annotations

import httpx
from playwright.sync_api import Page, expect

from telemetry.build import VARIABLE, VERSION
from tests.e2e.pages.admin.sections import SENTENCE
from tests.e2e.processes import Server, eventually, gateway, worker
from tests.gateway.callers.administration import ADMIN_PAGE


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


def test_the_slots_of_a_large_worker_stand_in_one_row(page: Page) -> None:
    with worker(slots=64) as one, gateway([one.url]) as edge:
        page.goto(f"{edge.url}{ADMIN_PAGE}")
        expect(page.locator(".slots-words")).to_have_text("0 of 64 slots used")
        tops = page.locator(".pips i").evaluate_all("(pips) => pips.map((pip) => pip.offsetTop)")
        assert len(tops) == 16
        assert len(set(tops)) == 1


def test_a_fleet_of_two_builds_is_told(page: Page) -> None:
    """As in the middle of an upgrade; with the last worker replaced, there is nothing more to say."""
    former, present = {VARIABLE: "aaaaaaaaaaaa"}, {VARIABLE: "bbbbbbbbbbbb"}
    own, theirs = (f"{VERSION}+{build[VARIABLE]}" for build in (present, former))
    with (
        worker(**former) as one,
        worker(**present) as other,
        gateway([one.url, other.url], **present) as edge,
    ):
        page.goto(f"{edge.url}{ADMIN_PAGE}")
        note, replaced = page.locator("#builds"), page.locator("[data-worker=w0]")
        counted = f"{theirs} (1) · {own} (1)"
        expect(note).to_have_text(f"Several builds run. This gateway: {own}; workers: {counted}.")
        expect(replaced).to_contain_text(f"Build: {theirs}")
        expect(page.locator("[data-worker=w1]")).not_to_contain_text("Build:")
        one.stop()
        with worker(port=int(one.url.rpartition(":")[2]), **present):
            expect(replaced.locator(".state")).to_have_text("idle")
            expect(note).to_be_hidden()
            expect(replaced).not_to_contain_text("Build:")


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
