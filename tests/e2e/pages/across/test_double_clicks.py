"""Buttons that begin and end something: who clicks twice begins it."""

from __future__ import annotations

import httpx
from playwright.sync_api import Page, Route, expect

from tests.e2e.browser import PHONE
from tests.e2e.chats import answer_with, events
from tests.e2e.processes import Server

TEXT = "One by one the boats in the harbour lit their lamps, and someone on the pier began to sing."


def test_a_live_session(page: Page, fleet: Server) -> None:
    page.goto(f"{fleet.url}/live")
    expect(page.locator("input[name=voice]").first).to_be_attached()
    page.dblclick("#start")
    expect(page.locator("#stage")).to_have_attribute("data-state", "live")
    page.click("#start")
    expect(page.locator("#stage")).to_have_attribute("data-state", "ended")


def test_a_clip(page: Page, fleet: Server) -> None:
    page.set_viewport_size(PHONE)  # where the button stays below the finger
    page.goto(fleet.url)
    expect(page.locator("input[name=voice]").first).to_be_attached()
    page.fill("#text", TEXT)
    page.dblclick("#generate")
    expect(page.locator(".clip")).to_have_count(1)
    expect(page.locator("#status")).to_contain_text("of speech")


def test_a_yes_is_not_for_what_lies_below_the_question(page: Page, fleet: Server) -> None:
    for title in ("The Walk", "The Walk", "The Walk"):
        body = {"title": title, "blocks": [{"text": "Once."}]}
        httpx.post(f"{fleet.url}/api/books", json=body).raise_for_status()
    page.goto(f"{fleet.url}/book")
    expect(page.locator(".book-link")).to_have_count(3)
    page.get_by_role("button", name="Delete").first.click()
    yes = page.locator("dialog[open]").get_by_role("button", name="Delete")
    box, links = yes.bounding_box(), page.locator(".book-link").all()
    assert box
    boxes = [link.bounding_box() or box for link in links]
    assert any(one["y"] < box["y"] + box["height"] / 2 < one["y"] + one["height"] for one in boxes)
    yes.dblclick()
    expect(page.locator(".book-link")).to_have_count(2)
    expect(page).to_have_url(f"{fleet.url}/book")


def test_a_message(page: Page, fleet: Server) -> None:
    answer_with(page)
    asked: list[Route] = []
    page.route("**/v1/chat/completions", lambda route: asked.append(route))
    page.goto(f"{fleet.url}/chat")
    expect(page.locator(".lamp")).to_have_attribute("data-state", "ready")
    page.fill("#text", "Plan a weekend.")
    with page.expect_request("**/v1/chat/completions"):
        page.dblclick("#send")
    expect(page.locator("#chat")).to_have_attribute("data-state", "asking")
    [route] = asked
    route.fulfill(body=events("Take the early train."), headers={"content-type": "text/event-stream"})
    expect(page.locator(".answer")).to_contain_text("Take the early train.")
