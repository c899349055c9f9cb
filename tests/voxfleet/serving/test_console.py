"""What people see of `voxfleet serve`: plain lines in a log, bars and readable events on a terminal."""

from __future__ import annotations

import contextlib
import io
import os
import pty
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console
from rich.text import Text

from sockets import stderr
from tests.voxfleet.conftest import PATIENCE_SECONDS, ROOT, voxfleet
from voxfleet.processes.service import Health, Service
from voxfleet.serving.console import Output, ServeConsole, readable


async def never(pid: int) -> Health | None:
    return None


@pytest.fixture
def printed() -> io.StringIO:
    return io.StringIO()


def service(console: ServeConsole, name: str = "worker-0") -> Service:
    return Service(name, [], {}, never, console)


def console_on(printed: io.StringIO, terminal: bool) -> ServeConsole:
    return ServeConsole(
        Console(file=printed, force_terminal=terminal, width=100, highlight=False, soft_wrap=True)
    )


def test_a_log_gets_one_line_per_stage_and_no_escape_codes(printed: io.StringIO) -> None:
    with console_on(printed, terminal=False) as console:
        worker = service(console)
        for progress in (0.1, 0.2, 0.3):
            console.on_health(worker, Health(stage="weights", progress=progress))
        console.on_health(worker, Health(stage="warm-up", progress=0.9))
        console.on_health(worker, Health(healthy=True))
        console.on_health(worker, Health(healthy=True))
    assert printed.getvalue().splitlines() == [
        " voxfleet | worker-0: weights",
        " voxfleet | worker-0: warm-up",
        " voxfleet | worker-0: ready",
    ]


def test_a_restarted_child_reports_its_stages_again(printed: io.StringIO) -> None:
    with console_on(printed, terminal=False) as console:
        worker = service(console)
        console.on_health(worker, Health(healthy=True))
        console.on_down(worker, "was ended by SIGKILL", 0.5)
        console.on_health(worker, Health(healthy=True))
    assert printed.getvalue().count("worker-0: ready") == 2
    assert "worker-0 was ended by SIGKILL; starting it again in 0.5 s" in printed.getvalue()


def test_a_log_keeps_the_lines_of_children_as_they_are(printed: io.StringIO) -> None:
    line = '{"event": "ready", "markup": "[bold]", "path": "' + "x" * 300 + '"}'
    with console_on(printed, terminal=False) as console:
        console.on_line(service(console), line)
    assert printed.getvalue() == f" worker-0 | {line}\n"


def test_a_terminal_gets_readable_events(printed: io.StringIO) -> None:
    with console_on(printed, terminal=True) as console:
        console.on_line(service(console), '{"event": "ready", "seconds": 2.5, "level": "info"}')
    assert "ready seconds=2.5" in printed.getvalue()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (
            '{"event": "lost", "level": "warning", "logger": "a", "timestamp": "t", "id": 3}',
            "WARNING lost id=3",
        ),
        ('{"no": "event"}', " no=event"),
        ("{not json", "{not json"),
        ("Traceback (most recent call last):", "Traceback (most recent call last):"),
        ("", ""),
    ],
)
def test_only_json_events_are_rewritten(line: str, expected: str) -> None:
    assert readable(line) == expected


def terminal_output(master: int) -> Iterator[str]:
    """What arrives at a terminal until its last writer is gone."""
    with contextlib.suppress(OSError):
        while chunk := os.read(master, 65536):
            yield chunk.decode(errors="replace")


def test_ctrl_c_on_a_terminal_ends_the_server_once_and_cleanly() -> None:
    master, slave = pty.openpty()
    command = voxfleet("serve", "--model", "synthetic", "--port", "0", "--workers", "1")
    server = subprocess.Popen(
        command,
        cwd=ROOT,
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**os.environ, "OMP_NUM_THREADS": "1", "TERM": "xterm"},
        preexec_fn=lambda: os.login_tty(slave),
    )
    os.close(slave)
    output, interrupted = "", False
    for text in terminal_output(master):
        output += text
        if "VoxFleet is ready" in output and "/admin#token=" in output and not interrupted:
            os.write(master, b"\x03")
            interrupted = True
    os.close(master)
    assert server.wait(timeout=PATIENCE_SECONDS) == 0, output
    assert "stopping" in output
    assert "Traceback" not in output
    assert "starting it again" not in output


def test_a_line_that_cannot_be_printed_ends_nothing() -> None:
    """As where the output is a file on a full disk: who relays a child's lines would end."""
    with io.TextIOWrapper(io.FileIO("/dev/full", "w"), write_through=True) as full:
        ServeConsole(Console(file=full)).say("gateway: ready")
        with pytest.raises(OSError, match="No space left"):
            full.write("\n")


def test_a_reader_of_the_output_that_goes_ends_nothing() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    with open(writer, "w") as unread:
        console = ServeConsole(Output(file=unread))
        for line in ("gateway: ready", "worker-0: ready"):
            console.say(line)
    assert isinstance(ServeConsole()._console, Output)


def test_a_reader_that_stands_still_holds_up_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A paused terminal, or a log collector: children would be heard, restarted and ended by nobody."""
    monkeypatch.setattr(stderr, "_PATIENCE_SECONDS", 0.01)
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writing, b"." * 4096)
    os.set_blocking(writing, True)
    with open(reading, "rb") as reader, open(writing, "w") as file:
        console = ServeConsole(Output(file=file, highlight=False))
        for number in range(3):
            console.say(f"lost {number}")
        reader.read(1 << 16)
        console.say("heard")
        os.set_blocking(reading, False)
        told = reader.read().decode().strip(".").splitlines()
    assert told == [" voxfleet | 3 lines were lost: nobody read what was there", " voxfleet | heard"]


def test_a_terminal_that_stands_still_holds_up_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """With room for a part of a line it is ready, and had been waited for until it had room for the rest."""
    monkeypatch.setattr(stderr, "_PATIENCE_SECONDS", 0.01)
    ours, theirs = os.openpty()
    done = threading.Event()

    def print_much() -> None:
        with ServeConsole(Output(file=file, highlight=False, soft_wrap=True)) as console:
            console.on_health(SimpleNamespace(name="worker-0"), Health(healthy=False, stage="loading"))
            for _ in range(1000):
                console.say("a line of a child " * 6)
        done.set()

    with open(theirs, "w") as file:
        threading.Thread(target=print_much, daemon=True).start()
        is_done = done.wait(10)
        heard = os.read(ours, 1 << 16)
        os.close(ours)  # which ends whoever still waits for it
        assert is_done and b"a line of a child" in heard


PAGE = "http://127.0.0.1:8006/admin"
TOKEN = "the-admin-token-of-tests"


def said_on_a_terminal(token_file: Path) -> str:
    ours, theirs = os.openpty()
    with open(theirs, "w") as file:
        ServeConsole(Output(file=file, highlight=False, soft_wrap=True)).say_admin_page(PAGE, token_file)
        heard = os.read(ours, 1 << 16).decode()
        os.close(ours)
    return heard


def test_a_terminal_alone_gets_the_admin_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Colours may be asked for where a log is kept, and make it no terminal."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    token_file, log = tmp_path / "admin-token", tmp_path / "log"
    token_file.write_text(TOKEN)
    assert f"{PAGE}#token={TOKEN}" in said_on_a_terminal(token_file)
    monkeypatch.chdir(tmp_path)
    with log.open("w") as file:
        ServeConsole(Output(file=file, highlight=False, soft_wrap=True)).say_admin_page(
            PAGE, Path("admin-token")
        )
    assert TOKEN not in log.read_text()
    assert f"{PAGE}, opened by the token in {token_file}" in Text.from_ansi(log.read_text()).plain


def test_without_a_file_of_the_token_the_page_alone_is_said(tmp_path: Path, printed: io.StringIO) -> None:
    assert said_on_a_terminal(tmp_path / "none").rstrip().endswith(PAGE)
    console_on(printed, terminal=False).say_admin_page(PAGE, tmp_path / "none")
    assert printed.getvalue() == f" voxfleet | the fleet: {PAGE}\n"
