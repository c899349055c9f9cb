"""Standard error as loggers write it: a line that cannot be written is lost, and holds nobody up."""

from __future__ import annotations

import contextlib
import json
import os
import select
import sys

_PATIENCE_SECONDS = 0.25
"""For whoever reads a pipe or a terminal; who has kept us waiting once is not waited for again."""


class Patience:
    """With who reads a pipe or a terminal."""

    def __init__(self) -> None:
        self._is_stuck = False

    def is_ready(self, target: int) -> bool:
        """Whether as much as PIPE_BUF can be written without waiting, now or in a moment."""
        poll = select.poll()
        poll.register(target, select.POLLOUT)
        self._is_stuck = not poll.poll(0 if self._is_stuck else 1000 * _PATIENCE_SECONDS)
        return not self._is_stuck

    def write(self, target: int, data: bytes) -> bool:
        """Write as much as there is room for; whether that is all. Raises OSError."""
        rest = memoryview(data)
        while rest:
            if not self.is_ready(target):
                return False
            try:
                rest = rest[os.write(target, rest[: select.PIPE_BUF]) :]
            except BlockingIOError:  # a terminal with room for less than a character
                return False
        return True


class StandardError:
    """Lines are lost on a full disk, and while nobody reads a pipe or terminal that holds as much as it can,
    such as a log collector that stands still. How many, is said when somebody reads again.
    """

    def __init__(self) -> None:
        self._patience = Patience()
        self._lost = 0
        self._terminal: int | None = None
        """What is written to where standard error is one."""

    def write(self, text: str) -> None:
        """One line, with its end."""
        with contextlib.suppress(OSError, ValueError):
            try:
                target = sys.stderr.fileno()
            except (OSError, ValueError):  # what tests capture, or a stream that is closed
                sys.stderr.write(text)
                return
            if self._lost and self._patience.is_ready(target):
                lost, self._lost = self._lost, 0
                notice = {"lines": lost, "event": "lines of the log were lost", "level": "warning"}
                self._send(target, f"\n{json.dumps(notice)}\n")
            self._send(target, text)

    def flush(self) -> None:
        """Nothing is held back."""

    def _send(self, target: int, text: str) -> None:
        data = text.encode(errors="backslashreplace")
        self._lost += not self._patience.write(self._way_to(target), data)

    def _way_to(self, target: int) -> int:
        if not os.isatty(target):
            return target
        if self._terminal is None:
            self._terminal = opened_anew(target)
        return self._terminal


def opened_anew(terminal: int) -> int:
    """A descriptor of a terminal that does not wait: it is ready while it has any room, and `terminal` itself
    then waits until it has taken all. That one stays as it is, since other processes write to it, too.
    """
    try:
        return os.open(os.ttyname(terminal), os.O_WRONLY | os.O_NOCTTY | os.O_NONBLOCK)
    except OSError:  # another account's, or one from outside of this container
        return terminal
