"""Where the sound comes out. In the small Chromium, devices have other names whenever a page is opened."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from tests.e2e.browser import DESKTOP, chromium, fake_microphone, watched_page
from tests.e2e.pages.studio.stage import expect_player, expect_state
from tests.e2e.processes import Server
from tests.e2e.studio import write_voice


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    recording = write_voice(tmp_path_factory.mktemp("voice") / "voice.wav")
    with chromium(*fake_microphone(recording)) as launched:
        yield launched


def test_the_sound_comes_out_where_it_is_told_to(browser: Browser, fleet: Server) -> None:
    with watched_page(browser, viewport=DESKTOP) as watched:
        page = watched.page
        page.goto(fleet.url)
        page.evaluate(
            "navigator.mediaDevices.getUserMedia({ audio: true })"
        )  # devices have names from now on
        page.reload()
        page.locator("#output").select_option(index=1)
        page.fill("#text", "Over there.")
        page.click("#generate")
        expect_state(page, "done")
        expect_player(page, "ended")
        assert watched.complaints == []
        page.reload()
        expect(page.locator("#output")).not_to_have_value("")
