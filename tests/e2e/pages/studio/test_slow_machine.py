"""Pages in a real browser before a worker that is slower than speech: they say so, and offer the clip."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path

import pytest
import soundfile
from playwright.sync_api import Page, expect

from tests.e2e.pages.studio.stage import expect_player, figure, open_studio
from tests.e2e.processes import Server, gateway, worker

SLOW_STEP_MS = 260
"""A step brings 160 ms of audio."""
TEXT = "One by one the boats in the harbour lit their lamps."


@pytest.fixture(scope="module")
def slow_fleet() -> Iterator[Server]:
    with worker(slots=1, step_ms=SLOW_STEP_MS) as one, gateway([one.url]) as edge:
        yield edge


def test_the_studio_says_that_speech_is_slow_and_plays_the_finished_clip(
    page: Page, slow_fleet: Server
) -> None:
    open_studio(page, slow_fleet, TEXT)
    page.click("#generate")
    expect(page.locator("#slow")).to_contain_text("more slowly than it is heard", timeout=30_000)
    expect(page.locator("#slow button")).to_be_hidden()
    expect(page.locator("#slow")).to_contain_text("finished and plays without gaps", timeout=30_000)
    assert figure(page, "underruns") > 0
    page.click("#slow button")
    expect(page.locator("#slow")).to_be_hidden()
    expect_player(page, "ended")
    assert figure(page, "underruns") == 0
    assert figure(page, "played-samples") == figure(page, "received-samples")


def test_the_studio_says_it_in_the_language_of_the_page(page: Page, slow_fleet: Server) -> None:
    page.add_init_script("localStorage.setItem('voxfleet.language', 'zh')")
    open_studio(page, slow_fleet, TEXT)
    page.click("#generate")
    expect(page.locator("#slow")).to_contain_text("慢于播放速度", timeout=30_000)
    page.keyboard.press("Escape")


def test_the_live_page_says_it_and_offers_the_audio_at_the_end(page: Page, slow_fleet: Server) -> None:
    page.goto(f"{slow_fleet.url}/live")
    expect(page.locator("input[name=voice]").first).to_be_attached()
    page.fill("#text", TEXT + " ")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#slow")).to_contain_text("more slowly than it is heard", timeout=30_000)
    page.click("#start")
    expect(page.locator("#stage")).to_have_attribute("data-state", "ended", timeout=60_000)
    with page.expect_download() as download:
        page.click("#slow button")
    audio, _ = soundfile.read(io.BytesIO(Path(download.value.path()).read_bytes()))
    assert len(audio) >= figure(page, "heard-sample") > 0


def test_nothing_is_said_where_speech_is_fast_enough(page: Page, fleet: Server) -> None:
    open_studio(page, fleet, TEXT)
    page.click("#generate")
    expect_player(page, "ended")
    expect(page.locator("#slow")).to_be_hidden()
