"""A clip that is longer than what the player has of it at a time: it is heard from wherever it is clicked."""

from __future__ import annotations

from playwright.sync_api import Page

from tests.e2e.pages.studio.stage import PARAGRAPH, expect_player, expect_state, figure, open_studio
from tests.e2e.processes import Server, eventually

RATE = 24_000
LONGER_THAN_KEPT = 100 * RATE


def go_to(page: Page, share: float) -> int:
    """A click on the waveform; the sample that is meant."""
    box = page.locator("#track").bounding_box()
    page.mouse.click(box["x"] + share * box["width"], box["y"] + box["height"] / 2)
    return int(share * figure(page, "received-samples"))


def heard(page: Page, sample: int) -> bool:
    """Whether half a second from about there has been heard, and not what is far behind it."""
    return sample + RATE / 2 < figure(page, "played-samples") < sample + 20 * RATE


def test_a_click_far_ahead_and_far_back_is_heard(page: Page, fleet: Server) -> None:
    open_studio(page, fleet, " ".join([PARAGRAPH] * 5))
    page.click("#generate")
    expect_state(page, "done")
    assert figure(page, "received-samples") > LONGER_THAN_KEPT
    for share in (0.9, 0.1):
        sample = go_to(page, share)
        eventually(lambda at=sample: heard(page, at))
    page.click("#play")
    expect_player(page, "paused")
    sample = go_to(page, 0.95)
    page.click("#play")
    expect_player(page, "ended")
    assert figure(page, "played-samples") == figure(page, "received-samples")
    page.click("#play")
    expect_player(page, "playing")
    assert figure(page, "played-samples") < sample
