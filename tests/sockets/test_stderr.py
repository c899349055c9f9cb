"""A log that nobody reads holds nobody up: what it has no room for is lost, counted, and said later."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from sockets import stderr
from sockets.stderr import StandardError

LONG = "a long line " * 20_000 + "\n"
"""More than a pipe holds."""


class Pipe:
    """What is standard error for the while; its reader reads when told."""

    def __init__(self) -> None:
        self.ours, self.theirs = os.pipe()

    def read(self) -> str:
        """All that is there by now."""
        os.set_blocking(self.ours, False)
        pieces = []
        while True:
            try:
                pieces.append(os.read(self.ours, 1 << 16))
            except BlockingIOError:
                return b"".join(pieces).decode()


def use(monkeypatch: pytest.MonkeyPatch, descriptor: int) -> None:
    """As standard error; pytest puts its own there again before each test."""
    found = SimpleNamespace(stderr=SimpleNamespace(fileno=lambda: descriptor))
    monkeypatch.setattr(stderr, "sys", found)


@pytest.fixture
def pipe(monkeypatch: pytest.MonkeyPatch) -> Iterator[Pipe]:
    made = Pipe()
    use(monkeypatch, made.theirs)
    monkeypatch.setattr(stderr, "_PATIENCE_SECONDS", 0.01)
    yield made
    for end in (made.ours, made.theirs):
        os.close(end)


def test_lines_come_as_they_are(pipe: Pipe) -> None:
    log = StandardError()
    for line in ("one\n", "zwei ü\n", "lone \ud800\n"):
        log.write(line)
    assert pipe.read() == "one\nzwei ü\nlone \\ud800\n"


def test_what_nobody_reads_is_lost_and_counted(pipe: Pipe) -> None:
    log = StandardError()
    log.write(LONG)
    for _ in range(3):
        log.write("lost\n")
    assert LONG.startswith(pipe.read())
    log.write("heard\n")
    told, heard = pipe.read().strip().split("\n")
    assert '"lines": 4' in told and heard == "heard"
    log.write("and on\n")
    assert pipe.read() == "and on\n"


def test_a_terminal_that_nobody_reads_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is ready with room for a part of a line, and had waited for room for the rest."""
    monkeypatch.setattr(stderr, "_PATIENCE_SECONDS", 0.01)
    ours, theirs = os.openpty()
    use(monkeypatch, theirs)
    log, done = StandardError(), threading.Event()

    def write() -> None:
        for _ in range(1000):
            log.write("a line of a log " * 6 + "\n")
        done.set()

    threading.Thread(target=write, daemon=True).start()
    assert done.wait(10)
    assert os.get_blocking(theirs)
    heard = os.read(ours, 1 << 16)
    assert heard.startswith(b"a line of a log ")
    os.close(ours)
    os.close(theirs)


def test_a_reader_that_is_gone_and_a_full_disk_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    log = StandardError()
    full = os.open("/dev/full", os.O_WRONLY)
    reader, writer = os.pipe()
    os.close(reader)
    for target in (full, writer):
        use(monkeypatch, target)
        log.write("lost\n")
        os.close(target)
        log.write("closed\n")


def test_what_is_captured_gets_it_all(capsys: pytest.CaptureFixture[str]) -> None:
    StandardError().write("a line\n")
    assert capsys.readouterr().err == "a line\n"
