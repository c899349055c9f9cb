"""S9: whatever a client says, no path leads out of the folders of voices and sessions."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.files.content_files import ContentFiles
from gateway.sessions.storage.files import is_session_id, session_folder
from gateway.voices.registry import is_id
from tests.security.apps import running_app

ROOT = Path("/data/kept")
VOICES, SESSIONS = ROOT / "voices", ROOT / "sessions"
SESSION, VOICE, AUDIO = "s_" + "a" * 22, "v_" + "0" * 16, "0" * 64
KNOWN = (SESSION, VOICE, AUDIO)
NAMES = [
    "", ".", "..", "../..", "%2e%2e%2f", "%252e%252e", "a/b", "a\\b", "/etc/passwd", "\0", "~",
    *(f"{known}{added}" for known in KNOWN for added in ("\n", "\0", "/", "/..", "-evil", " ")),
    *(f"{added}{known}" for known in KNOWN for added in ("../", "\n", "/", "./")),
    SESSION.replace("a", "\N{FULLWIDTH LATIN SMALL LETTER A}"),
    AUDIO.replace("0", "\N{ARABIC-INDIC DIGIT ZERO}"),
]  # fmt: skip


def check(name: str) -> None:
    """A name is refused, or is that of one file right below its folder."""
    with suppress(ValueError):
        path = session_folder(SESSIONS, name)
        assert Path(os.path.normpath(path)).parent == SESSIONS and path.name == name
    with suppress(ValueError):
        path = ContentFiles(VOICES, ".wav").path(name)
        assert Path(os.path.normpath(path)).parent == VOICES and path.stem == name
    if is_id(name) or is_session_id(name):
        assert name.isascii() and name.isprintable() and not set(name) & set("/\\.%~ ")


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_is_none_is_refused(name: str) -> None:
    assert not is_session_id(name) and not is_id(name)
    for path in (lambda: session_folder(SESSIONS, name), lambda: ContentFiles(VOICES, ".wav").path(name)):
        with pytest.raises(ValueError, match="not the"):
            path()


@given(st.text(max_size=80) | st.from_regex(r"\A[sv]_?[\w./%-]{0,70}\Z"))
def test_any_text_is_refused_or_below(name: str) -> None:
    check(name)


@pytest.mark.parametrize("name", [SESSION, AUDIO])
def test_names_of_ours_are_taken(name: str) -> None:
    check(name)
    assert is_session_id(SESSION) and ContentFiles(VOICES, ".wav").path(AUDIO).parent == VOICES


@pytest.mark.parametrize(
    "path",
    [
        "/api/sessions/{}/audio", "/api/sessions/{}/download", "/api/voices/{}/preview", "/static/{}", "/{}",
        "/sessions/{}",
    ],
)  # fmt: skip
async def test_no_route_opens_a_file_elsewhere(path: str, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("a secret of this machine")
    ways = ("../secret.txt", "..%2fsecret.txt", "%2e%2e/secret.txt", "%252e%252e%252fsecret.txt")
    ways += ("..%5csecret.txt", f"%2f{tmp_path}/secret.txt", "secret.txt%00.wav", "voices/../../secret.txt")
    async with running_app(tmp_path / "data") as (_, opened), opened() as http:
        for way in ways:
            answer = await http.get(path.format(way))
            assert "a secret of this machine" not in answer.text
            assert answer.status_code in (307, 400, 401, 404, 405, 422) or "<html" in answer.text


async def test_a_link_leads_no_further_than_its_folder(tmp_path: Path) -> None:
    (tmp_path / "pages").mkdir()
    for name in ("index", "admin", "live", "session", "sessions"):
        (tmp_path / "pages" / f"{name}.html").write_text("<html></html>")
    (tmp_path / "pages" / "static").mkdir()
    (tmp_path / "secret.txt").write_text("a secret of this machine")
    (tmp_path / "pages" / "static" / "link.txt").symlink_to(tmp_path / "secret.txt")
    folder = tmp_path / "pages"
    async with running_app(tmp_path / "data", frontend_dir=folder) as (_, opened), opened() as http:
        assert (await http.get("/static/link.txt")).status_code == 404
