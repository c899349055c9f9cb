"""Answers that never come or break off: what the pages say of it, and what they offer."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Page, Route, expect

from tests.e2e.browser import WatchedPage
from tests.e2e.processes import Server
from tests.e2e.studio import fleet_with_data


@pytest.fixture(scope="module")
def fleet() -> Iterator[Server]:
    with fleet_with_data() as edge:
        yield edge


def break_off(page: Page, pattern: str) -> None:
    """The next answer does not come."""
    page.route(pattern, lambda route: route.abort(), times=1)


def test_the_lamp_goes_out_when_the_gateway_is_silent(page: Page, fleet: Server) -> None:
    silent: list[Route] = []
    lamp = page.locator(".lamp")
    page.clock.install()
    page.goto(fleet.url)
    expect(lamp).to_have_attribute("data-state", "ready")
    page.route("**/ready", lambda route: silent.append(route))
    with page.expect_request("**/ready"):
        page.clock.run_for(6_000)
    page.clock.run_for(11_000)
    expect(lamp).to_have_attribute("data-state", "down")
    page.unroute("**/ready")
    page.clock.run_for(6_000)
    expect(lamp).to_have_attribute("data-state", "ready")


def test_a_book_is_saved_once_the_gateway_is_back(watched: WatchedPage, fleet: Server) -> None:
    page = watched.page
    page.clock.install()
    blocks = {"title": "Lamp", "blocks": [{"kind": "paragraph", "text": "Once."}]}
    book = httpx.post(f"{fleet.url}/api/books", json=blocks).raise_for_status().json()["id"]
    page.goto(f"{fleet.url}/book/{book}")
    page.context.set_offline(True)
    page.locator(".block-text").press("x")
    page.clock.run_for(6_000)
    expect(page.locator("#saving")).to_have_text("Could not be saved")
    expect(page.locator(".lamp")).to_have_attribute("data-state", "down")
    page.context.set_offline(False)
    page.clock.run_for(6_000)
    expect(page.locator("#saving")).to_have_text("Saved")
    expect(page.locator("#problem")).to_be_hidden()
    watched.complaints.clear()


def test_an_export_that_breaks_off_is_not_said_to_go_on_and_is_tried_again(
    watched: WatchedPage, fleet: Server
) -> None:
    page = watched.page
    blocks = {"title": "Lamp", "blocks": [{"kind": "paragraph", "text": "Once."}]}
    book = httpx.post(f"{fleet.url}/api/books", json=blocks).raise_for_status().json()["id"]
    page.goto(f"{fleet.url}/book/{book}")
    page.locator("#make").click()
    expect(page.locator("#progress-words")).to_have_text("all spoken", timeout=60_000)
    page.locator("#export").click()
    break_off(page, "**/export?*")
    page.get_by_role("button", name="MP3").click()
    expect(page.locator("#problem")).to_contain_text("The gateway does not answer.")
    expect(page.locator("#saving")).to_have_text("Saved")
    with page.expect_download() as download:
        page.get_by_role("button", name="Try again").click()
    assert download.value.suggested_filename == "Lamp.mp3"
    expect(page.locator("#saving")).to_have_text("The file is downloaded.")
    watched.complaints.clear()


def test_a_recording_whose_download_breaks_off_is_downloaded_by_trying_again(
    watched: WatchedPage, fleet: Server
) -> None:
    page = watched.page
    httpx.post(f"{fleet.url}/tts", json={"text": "Once.", "record": True}).raise_for_status()
    page.goto(f"{fleet.url}/sessions")
    page.locator("#list input[type=checkbox]").first.check()
    break_off(page, "**/download*")
    page.locator("#chosen").get_by_role("button", name="Download").click()
    expect(page.locator("#problem")).to_contain_text("The gateway does not answer.")
    expect(page.locator("#count")).to_contain_text("1 recording")
    with page.expect_download():
        page.get_by_role("button", name="Try again").click()
    page.locator("#list .session-link").first.click()
    break_off(page, "**/download*")
    page.locator("#download").click()
    expect(page.locator("#problem")).to_contain_text("The gateway does not answer.")
    expect(page.locator("#status")).to_have_text("")
    with page.expect_download():
        page.get_by_role("button", name="Try again").click()
    watched.complaints.clear()


def test_a_long_text_whose_download_breaks_off_is_not_said_to_be_made(
    watched: WatchedPage, fleet: Server
) -> None:
    page = watched.page
    httpx.post(f"{fleet.url}/api/jobs", json={"text": "Once.", "title": "Lamp"}).raise_for_status()
    page.goto(f"{fleet.url}/sessions")
    expect(page.locator(".job-row")).to_have_attribute("data-state", "complete", timeout=60_000)
    break_off(page, "**/result*")
    page.locator(".job-row").get_by_role("button", name="Download").click()
    expect(page.locator("#job-problem")).to_contain_text("The gateway does not answer.")
    expect(page.locator("#job-said")).to_have_text("")
    watched.complaints.clear()
