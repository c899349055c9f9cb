"""Where the keyboard's focus is once what had it is gone, moved or drawn anew."""

from __future__ import annotations

from collections.abc import Iterator

import httpx
import pytest
from playwright.sync_api import Page, expect

from tests.e2e.processes import Server
from tests.e2e.studio import fleet_with_data, write_voice
from tests.gateway.adapters.uploads import WORKER

SPOKEN = 60_000
"""Milliseconds that a few sentences may take on a busy machine."""


@pytest.fixture(scope="module")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A gateway with three voices beside the default one."""
    recording = write_voice(tmp_path_factory.mktemp("voice") / "voice.wav").read_bytes()
    with fleet_with_data() as edge, httpx.Client(base_url=edge.url, timeout=60) as http:
        statement = http.get("/api/voices/consent").json()["statement"]
        for name in ("Anna", "Bert", "Cora"):
            fields = {"name": name, "consent_by": name, "consent_statement": statement}
            http.post(
                "/api/voices", data=fields, files={"audio": ("voice.wav", recording)}
            ).raise_for_status()
        yield edge


@pytest.fixture(scope="module")
def training() -> Iterator[Server]:
    """A gateway that trains voices, as its pages offer it."""
    with fleet_with_data(VOXFLEET_TRAINING_BASE=WORKER["model"]) as edge:
        yield edge


def new_book(fleet: Server, title: str, *texts: str) -> str:
    blocks = [{"kind": "paragraph", "text": text} for text in texts]
    made = httpx.post(f"{fleet.url}/api/books", json={"title": title, "blocks": blocks})
    return str(made.raise_for_status().json()["id"])


def test_the_tab_key_stops_at_the_buttons_of_the_chosen_voice_alone(page: Page, fleet: Server) -> None:
    page.goto(fleet.url)
    page.get_by_role("radio", name="Anna").focus()
    page.keyboard.press("Space")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Hear Anna")).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Edit Anna")).to_be_focused()
    page.keyboard.press("Tab")
    assert not page.evaluate("document.activeElement.matches('.voice-card *')")


def test_who_makes_a_voice_begins_at_the_top_and_not_at_a_way_out(page: Page, training: Server) -> None:
    page.goto(training.url)
    page.locator("#new-voice").press("Enter")
    expect(page.get_by_role("link", name="train one")).to_be_visible()
    expect(page.get_by_role("heading", name="New voice")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#new-voice")).to_be_focused()


def test_a_voice_that_was_edited_or_deleted_leaves_the_focus_among_the_voices(
    page: Page, fleet: Server
) -> None:
    page.goto(fleet.url)
    page.get_by_role("button", name="Edit Bert").press("Enter")
    page.locator("#voice-name").fill("Berta")
    page.locator("#voice-name").press("Enter")
    expect(page.get_by_role("button", name="Edit Berta")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#voice-name")).to_be_focused()
    for _ in range(2):
        page.locator("#voice-delete").press("Enter")
    expect(page.get_by_role("button", name="Edit Cora")).to_be_focused()


def test_a_book_that_was_deleted_leaves_the_focus_at_the_next(page: Page, fleet: Server) -> None:
    for title in ("Third", "Second", "First"):
        new_book(fleet, title, "Once.")
    page.goto(f"{fleet.url}/book")
    for title, focused in (("Second", "Third"), ("Third", "First")):
        page.get_by_role("button", name=f"Delete {title}").press("Enter")
        page.get_by_role("dialog").get_by_role("button", name="Delete").press("Enter")
        expect(page.get_by_role("button", name=f"Delete {focused}")).to_be_focused()
    page.keyboard.press("Enter")
    page.get_by_role("dialog").get_by_role("button", name="Delete").press("Enter")
    expect(page.locator("#file")).to_be_focused()


def test_blocks_that_are_moved_or_brought_back_have_the_focus(page: Page, fleet: Server) -> None:
    page.goto(f"{fleet.url}/book/{new_book(fleet, 'Moved', 'One.', 'Two.', 'Three.')}")
    tools = page.get_by_role("button", name="Voice, pause and takes: Two.")
    tools.press("Enter")
    up = page.locator(".block-tools [data-field=up]")
    up.press("Enter")
    expect(page.locator(".block-text")).to_have_text(["Two.", "One.", "Three."])
    expect(up).to_be_focused()
    page.locator(".block-tools [data-field=remove]").press("Enter")
    page.get_by_role("button", name="Undo").press("Enter")
    expect(tools).to_be_focused()


def test_bars_of_a_book_that_are_closed_leave_the_focus_at_their_block(page: Page, fleet: Server) -> None:
    page.goto(f"{fleet.url}/book/{new_book(fleet, 'Bars', 'One.', 'Two.')}")
    tools = page.get_by_role("button", name="Voice, pause and takes: Two.")
    page.get_by_role("checkbox", name="Select: Two.").press("Space")
    page.locator("#bulk").get_by_role("button", name="Clear").press("Enter")
    expect(tools).to_be_focused()
    page.get_by_role("button", name="Make: Two.").press("Enter")
    page.get_by_role("button", name="Hear: Two.").press("Enter", timeout=SPOKEN)
    page.get_by_role("button", name="Close the player").press("Enter")
    expect(tools).to_be_focused()
    page.get_by_role("checkbox", name="Select: Two.").press("Space")
    page.locator("#bulk").get_by_role("button", name="Remove").press("Enter")
    page.locator("#undo").get_by_role("button", name="Close").press("Enter")
    expect(page.get_by_role("button", name="Voice, pause and takes: One.")).to_be_focused()


def test_an_empty_block_stays_until_the_focus_has_left_it(page: Page, fleet: Server) -> None:
    page.goto(f"{fleet.url}/book/{new_book(fleet, 'Empty', 'One.')}")
    expect(page.locator(".block")).to_have_count(1)
    page.locator("#append").press("Enter")
    expect(page.locator(".block-text").nth(1)).to_be_focused()
    page.keyboard.press("Tab")
    more = page.locator(".block").nth(1).locator("[data-do=more]")
    expect(more).to_be_focused()
    page.keyboard.press("Tab")
    expect(page.locator("#append")).to_be_focused()
    expect(page.locator(".block")).to_have_count(1)


def test_a_text_that_is_moved_keeps_its_caret(page: Page, fleet: Server) -> None:
    page.goto(f"{fleet.url}/book/{new_book(fleet, 'Caret', 'One.', 'Two.')}")
    page.locator(".block-text", has_text="Two.").click()
    for key in ("Home", "ArrowRight", "Alt+ArrowUp"):
        page.keyboard.press(key)
    page.keyboard.type("x")
    expect(page.locator(".block-text")).to_have_text(["Txwo.", "One."])


def test_once_all_is_made_the_focus_is_at_the_export(page: Page, fleet: Server) -> None:
    page.goto(f"{fleet.url}/book/{new_book(fleet, 'Made', 'One.')}")
    expect(page.locator("#make")).to_be_enabled()
    page.locator("#make").press("Enter")
    expect(page.locator("#progress-words")).to_have_text("all spoken", timeout=SPOKEN)
    expect(page.locator("#export")).to_be_focused()
