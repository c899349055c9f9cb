"""Outputs that follow each other closely leave together: a fast text model writes thousands of tokens a
second, and a frame for each would cost gateway and client more than the model.

An output after a moment of silence leaves at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

MOST_GATHERED = 32
"""As many with all that may be told of them fit a frame."""


class Gathering:
    """Hands outputs to `send`, a list at a time and at most every `seconds`; 0: each by itself."""

    def __init__(self, seconds: float, send: Callable[[list[Any]], None]) -> None:
        self._seconds, self._send = seconds, send
        self._loop = asyncio.get_running_loop()
        self._outputs: list[Any] = []
        self._sent_at = float("-inf")
        self._timer: asyncio.TimerHandle | None = None

    def put(self, output: Any) -> None:
        """Now, or with the next ones."""
        self._outputs.append(output)
        wait_seconds = self._sent_at + self._seconds - self._loop.time()
        if wait_seconds <= 0 or len(self._outputs) >= MOST_GATHERED:
            self.flush()
        elif self._timer is None:
            self._timer = self._loop.call_later(wait_seconds, self.flush)

    def take(self) -> list[Any]:
        """What has not left, which is the caller's now."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        outputs, self._outputs = self._outputs, []
        return outputs

    def flush(self) -> None:
        """Send what was gathered."""
        if outputs := self.take():
            self._sent_at = self._loop.time()
            self._send(outputs)
