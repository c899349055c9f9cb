"""Files that are opened: regular ones. Whatever else is in their place is refused at once."""

from __future__ import annotations

import ast
import asyncio
import os
import re
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gateway.files.content_files import ContentFiles
from gateway.files.folder_lock import FolderLock
from gateway.files.kept_secrets import read_secret
from gateway.files.plain_files import is_plain, open_file, read_file
from gateway.sessions.storage.files import (
    JOURNAL,
    Journal,
    is_being_written,
    read_json,
    read_lines,
    utterance_file,
)
from tests.gateway.sessions.recordings import RATE, pcm
from tests.security.apps import running_app

GATEWAY = Path(__file__).resolve().parents[3] / "gateway"
SHA = "a" * 64


ODD: dict[str, Callable[[Path], None]] = {
    "pipe": os.mkfifo,
    "socket": lambda path: os.mknod(path, stat.S_IFSOCK | 0o600),
    "folder": Path.mkdir,
    "link": lambda path: path.symlink_to(__file__),
    "device": lambda path: path.symlink_to("/dev/zero"),
}


@contextmanager
def odd(kind: str, path: Path) -> Iterator[None]:
    """There is one; whoever waits for a pipe is let go at the end."""
    path.unlink(missing_ok=True)
    ODD[kind](path)
    try:
        yield
    finally:
        if kind == "pipe":
            os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK))


OPENED: dict[str, Callable[[Path], object]] = {
    "read": read_file,
    "append": lambda path: open_file(path, "ab"),
    "text": lambda path: open_file(path, "r"),
    "lines": lambda path: list(read_lines(path)),
    "journal": Journal,
    "lock": lambda path: FolderLock(path).acquire(),
    "secret": read_secret,
    "content": lambda path: ContentFiles(path.parent, "").read(path.name),
}


@pytest.mark.parametrize("what", OPENED)
@pytest.mark.parametrize("kind", ODD)
async def test_what_is_no_file_is_refused(kind: str, what: str, tmp_path: Path) -> None:
    path = tmp_path / SHA
    with odd(kind, path):
        async with asyncio.timeout(60):
            with pytest.raises(OSError) as refused:
                await asyncio.to_thread(OPENED[what], path)
        assert not isinstance(refused.value, FileNotFoundError)
        assert not is_plain(path) and read_json(path) is None


@pytest.mark.parametrize("kind", ODD)
async def test_nobody_writes_a_journal_that_is_none(kind: str, tmp_path: Path) -> None:
    with odd(kind, tmp_path / JOURNAL):
        async with asyncio.timeout(60):
            assert not await asyncio.to_thread(is_being_written, tmp_path)


@pytest.mark.parametrize("kind", ODD)
async def test_no_recording_is_served_that_is_none(kind: str, tmp_path: Path) -> None:
    async with running_app(tmp_path) as (app, opened), opened() as http:
        recorder = app.state.gateway.recorder
        recording = recorder.open("clip", {}, "127.0.0.1", asked=True)
        recording.utterance("Hello.", {})
        recording.audio(0, pcm(RATE), RATE)
        recording.finish("stop")
        await recorder.settled(recording.session_id)
        file = utterance_file(tmp_path / "sessions" / recording.session_id, 0)
        path = f"/api/sessions/{recording.session_id}/audio/0"
        assert (await http.get(path)).status_code == 200
        with odd(kind, file):
            async with asyncio.timeout(60):
                assert (await http.get(path)).status_code == 404


READ_OTHERWISE = {
    "audio/perth.py", "confined/program/__main__.py", "description/document.py", "files/plain_files.py",
    "lexicons/file.py", "settings/__init__.py", "settings/listening.py", "site/edition.py", "site/modules.py",
}  # fmt: skip
"""What the program brings, and what operators name."""
OPENS = ("open", "os.open", "io.open")
READS = ("read_bytes", "read_text")


def opened_in(source: str) -> list[str]:
    """Calls by which a file that is there is opened by its name."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        call, name = ast.unparse(node), ast.unparse(node.func)
        first = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else None
        by_path = name.endswith(".open") and re.fullmatch("[rwa][bt+]*", str(first))
        whole = name.split(".")[-1] in READS and "." in name
        if (name in OPENS or by_path or whole) and "O_EXCL" not in call:
            found.append(call)
    return found


def test_files_of_the_data_folder_are_opened_in_one_place() -> None:
    sources = {path.relative_to(GATEWAY).as_posix(): path for path in GATEWAY.rglob("*.py")}
    found = {name: opened_in(path.read_text(encoding="utf-8")) for name, path in sources.items()}
    assert {name: calls for name, calls in found.items() if calls and name not in READ_OTHERWISE} == {}
    assert opened_in('path.open("rb")') and opened_in("open(path)") and opened_in("self._file.read_text()")
