"""What `voxfleet serve` prints: the children's lines under their names, loading progress, and the URL when
ready.

On a terminal, loading is a live bar per worker; elsewhere (a log file, a service manager) it is one plain
line per stage, so that logs stay readable.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
from pathlib import Path
from typing import IO

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.text import Text

from gateway.files.kept_secrets import read_secret
from sockets.stderr import Patience, opened_anew
from sockets.untrusted import printable_lines
from voxfleet.processes.service import Health, Service

CHILD_STYLES = ("cyan", "magenta", "blue", "yellow", "green")


class Output(Console):
    """Whoever reads it may go, as a program behind a pipe: what is said then is lost, and nothing ends."""

    def on_broken_pipe(self) -> None:
        """Nobody reads it any more."""
        self.quiet = True
        nobody = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nobody, self.file.fileno())  # what is left in its buffer goes there at the end
        os.close(nobody)


class _Terminal(io.TextIOBase):
    """A terminal that stands still is not waited for: what it has no room for is lost."""

    def __init__(self, terminal: IO[str]) -> None:
        self.terminal = terminal
        self._way = opened_anew(terminal.fileno())
        self._patience = Patience()

    def fileno(self) -> int:
        return self.terminal.fileno()

    def isatty(self) -> bool:
        return True

    @property
    def encoding(self) -> str:
        return self.terminal.encoding

    def write(self, text: str) -> int:
        self._patience.write(self._way, text.encode(self.encoding, "replace"))
        return len(text)


class ServeConsole:
    """A `ServiceObserver` that prints. Use it as a context manager: leaving it gives the terminal back."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Output(highlight=False, soft_wrap=True)
        self._is_terminal = False
        """Whether somebody reads it now, and not a log that was given colours (FORCE_COLOR)."""
        with contextlib.suppress(OSError, ValueError):  # no file of the system
            if os.isatty(self._console.file.fileno()):
                self._console.file = _Terminal(self._console.file)
                self._is_terminal = True
        self._progress = Progress(
            TextColumn("{task.description:>9}", style="bold"),
            BarColumn(),
            TextColumn("{task.fields[stage]}"),
            TimeElapsedColumn(),
            console=self._console,
            transient=True,
        )
        self._bars: dict[str, TaskID] = {}
        self._stages: dict[str, str] = {}
        self._styles: dict[str, str] = {}
        self._patience = Patience()
        self._lost = 0
        """Lines that nobody could be told, since the last that was."""

    def __enter__(self) -> ServeConsole:
        if self._console.is_terminal:
            self._progress.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        if self._console.is_terminal:
            self._progress.stop()

    def say(self, message: str, style: str = "") -> None:
        """A line of the supervisor's own."""
        self._print("voxfleet", "bold", Text(message, style))

    def say_admin_page(self, page: str, token_file: Path) -> None:
        """On a terminal with the token that the gateway made and keeps there; a log would keep it for others.

        What stands behind `#` stays in the browser: no server gets or logs it. Where there is no such file,
        the gateway has said why.
        """
        if not self._is_terminal:
            opened = f", opened by the token in {token_file.absolute()}" if token_file.exists() else ""
            self.say(f"the fleet: {page}{opened}")
            return
        try:
            token = read_secret(token_file)
        except (OSError, ValueError) as error:
            self.say(f"the admin token cannot be read: {error}", "red")
        else:
            self.say(f"the fleet, for you alone: {page}#token={token}" if token else f"the fleet: {page}")

    def on_line(self, service: Service, line: str) -> None:
        style = self._styles.setdefault(service.name, CHILD_STYLES[len(self._styles) % len(CHILD_STYLES)])
        self._print(
            service.name, style, Text.from_ansi(readable(line) if self._console.is_terminal else line)
        )

    def on_health(self, service: Service, health: Health) -> None:
        stage = "ready" if health.healthy else (health.stage or "starting")
        if self._console.is_terminal:
            self._show_bar(service.name, health, stage)
        elif self._stages.get(service.name) != stage:
            self.say(f"{service.name}: {stage}")
        self._stages[service.name] = stage

    def on_down(self, service: Service, reason: str, delay_seconds: float) -> None:
        self._stages.pop(service.name, None)
        self._drop_bar(service.name)
        self.say(f"{service.name} {reason}; starting it again in {delay_seconds:.1f} s", "red")

    def _show_bar(self, name: str, health: Health, stage: str) -> None:
        if health.healthy:
            if self._stages.get(name) != "ready":
                self.say(f"{name}: ready")
            self._drop_bar(name)
            return
        if name not in self._bars:
            self._bars[name] = self._progress.add_task(name, total=None, stage=stage)
        total = None if health.progress is None else 1.0
        self._progress.update(self._bars[name], total=total, completed=health.progress or 0.0, stage=stage)

    def _drop_bar(self, name: str) -> None:
        if name in self._bars:
            self._progress.remove_task(self._bars.pop(name))

    def _print(self, name: str, name_style: str, message: Text) -> None:
        """Waits for nobody: who does not read what is there already hears later how much was lost."""
        if not self._is_read():
            self._lost += 1
            return
        if self._lost:
            lost, self._lost = self._lost, 0
            self.say(f"{lost} lines were lost: nobody read what was there", "red")
        with contextlib.suppress(OSError):  # a full disk: the line is lost, and its child goes on being heard
            self._console.print(Text.assemble((f"{name:>9} | ", name_style), message))

    def _is_read(self) -> bool:
        try:
            return self._patience.is_ready(self._console.file.fileno())
        except (OSError, ValueError):  # no file of the system
            return True


def readable(line: str) -> str:
    """A JSON log line as `event key=value ...` for people; any other line as it is.

    >>> readable('{"event": "ready", "level": "info", "timestamp": "...", "seconds": 2.5}')
    'ready seconds=2.5'
    """
    if not line.startswith("{"):
        return line
    try:
        entry = json.loads(line)
    except ValueError:
        return line
    event = entry.pop("event", "")
    level = entry.get("level", "info")
    shown = [
        f"{name}={value}" for name, value in entry.items() if name not in ("level", "timestamp", "logger")
    ]
    words = [*([str(level).upper()] if level != "info" else []), str(event), *shown]
    return printable_lines(" ".join(words))
