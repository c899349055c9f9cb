"""A browser whose microphone plays a recording, and a gateway with data of its own, for all tests here."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.e2e.browser import chromium, fake_microphone
from tests.e2e.processes import Server
from tests.e2e.studio import fleet_with_data, write_voice


@pytest.fixture(scope="package")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_voice(tmp_path_factory.mktemp("voice") / "voice.wav")


@pytest.fixture(scope="package")
def browser(recording: Path) -> Iterator[Browser]:
    with chromium(*fake_microphone(recording), shell=True) as launched:
        yield launched


@pytest.fixture(scope="package")
def fleet() -> Iterator[Server]:
    with fleet_with_data() as edge:
        yield edge
