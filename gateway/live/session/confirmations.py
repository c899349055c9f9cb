"""Pauses and resumptions on their way to the worker; the client hears of each once the worker confirms it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable


class Confirmations:
    """The open confirmations of one session. A pause is True, a resumption False."""

    def __init__(self, tell: Callable[[bool], None]) -> None:
        """`tell`: says to the client that the session pauses or goes on."""
        self._tell = tell
        self._open: deque[bool] = deque()

    def asked(self, paused: bool, *, at_worker: bool) -> None:
        """The client asked for it. Without a worker that speaks, nobody will confirm: it holds at once."""
        if at_worker:
            self._open.append(paused)
        else:
            self._tell(paused)

    def confirmed(self, paused: bool) -> None:
        """The worker confirms the oldest one."""
        if self._open:
            self._open.popleft()
            self._tell(paused)

    def settle(self) -> None:
        """No worker will confirm any more: all that is open holds."""
        while self._open:
            self._tell(self._open.popleft())
