"""Noticing that nothing was heard, or said, for a while, with one timer however much there is.

silence = Silence(0.25)
silence.start(on_silence)
silence.broken()                    # as often as one likes: costs a look at the clock
silence.stop()
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Silence:
    """Calls back after each `seconds` of silence.

    It holds the callback only while it watches: a stream and its watch that held each other would stay in
    memory until the garbage collector finds them.
    """

    def __init__(self, seconds: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._seconds = seconds
        self._on_silence: Callable[[], None] | None = None
        self._broken_at = self._loop.time()
        self._timer: asyncio.TimerHandle | None = None

    def start(self, on_silence: Callable[[], None]) -> None:
        """Begin to watch, as if something had been heard just now."""
        self._on_silence = on_silence
        self.broken()
        self._look_after(self._seconds)

    def broken(self) -> None:
        """Something is heard, or said."""
        self._broken_at = self._loop.time()

    def stop(self) -> None:
        """Watch no longer."""
        self._on_silence = None
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def passed(self) -> None:
        """The time is over: call back, and begin anew unless that ended the watch."""
        self._on_silence()
        if self._on_silence is not None:
            self._look_after(self._seconds)

    def _look_after(self, seconds: float, then: Callable[[], None] | None = None) -> None:
        self._timer = self._loop.call_later(seconds, self._look, then or self.passed)

    def _look(self, then: Callable[[], None]) -> None:
        """`then` says what to do if it is still silent."""
        left_seconds = self._broken_at + self._seconds - self._loop.time()
        if left_seconds > 0:
            self._look_after(left_seconds)
        else:
            then()
