"""The most important paths of the pages in Firefox, driven by `tests/pages/firefox.mjs`.

The other tests of pages run in Chromium. Firefox is driven over WebDriver BiDi, which it speaks by itself.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator

import pytest

from tests.e2e.pages.chapters import CHAPTERS
from tests.e2e.studio import fleet_with_data, write_voice
from tests.gateway.callers.administration import ADMIN_PAGE
from tests.gateway.documents.files import epub
from tests.page_tools import firefox_paths

FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
pytestmark = [
    pytest.mark.timeout(400),  # the tools may have to be installed
    pytest.mark.skipif(
        FIREFOX is None or shutil.which("pulseaudio") is None,
        reason="Firefox or PulseAudio is not installed (Debian: firefox-esr, pulseaudio)",
    ),
]
PATHS = ("studio", "live", "chat", "voices", "book", "sessions", "admin", "docs")


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, dict]]:
    """What went wrong on each path."""
    folder = tmp_path_factory.mktemp("firefox")
    book = folder / "walk.epub"
    book.write_bytes(epub(CHAPTERS, [("The Harbour", "one.xhtml"), ("The Storm", "two.xhtml")]))
    voice = write_voice(folder / "voice.wav")
    with fleet_with_data() as fleet:
        yield firefox_paths(str(FIREFOX), fleet.url, ADMIN_PAGE, str(voice), str(book))


@pytest.mark.parametrize("path", PATHS)
def test_the_path_works_and_the_page_does_not_complain(found: dict[str, dict], path: str) -> None:
    assert found[path] == {"wrong": "", "said": []}


def test_no_path_is_forgotten(found: dict[str, dict]) -> None:
    assert set(found) == set(PATHS)
