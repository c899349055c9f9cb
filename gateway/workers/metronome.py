"""How late this process itself runs, so that it doesn't blame workers for being slow on a machine that is.

A task ticks every 25 ms and notes how late each tick came. On an idle machine that is a millisecond; when the
processor is short, or something held up the event loop, it is as long as frames of healthy workers may be
late too. Deadlines on workers are stretched by a few times the worst lateness of the last second.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable

TICK_SECONDS = 0.025
WINDOW_SECONDS = 1.0
_STRETCH = 4.0


class Metronome:
    """`run()` ticks until cancelled."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._late: deque[tuple[float, float]] = deque()
        """(moment, lateness) of the last second, latenesses falling: the first is the worst."""
        self._due_at: float | None = None

    async def run(self) -> None:
        """Tick until cancelled."""
        while True:
            self._due_at = self._clock() + TICK_SECONDS
            await asyncio.sleep(TICK_SECONDS)
            self.note(self._clock() - self._due_at)

    def note(self, late_seconds: float) -> None:
        """A tick came so late."""
        now = self._clock()
        while self._late and self._late[-1][1] <= late_seconds:
            self._late.pop()
        self._late.append((now, late_seconds))
        self._forget(now)

    @property
    def lateness_seconds(self) -> float:
        """The worst of the last second; a tick that is overdue counts already."""
        now = self._clock()
        self._forget(now)
        overdue = 0.0 if self._due_at is None else now - self._due_at
        return max(self._late[0][1] if self._late else 0.0, overdue, 0.0)

    def allowance(self, deadline_seconds: float) -> float:
        """What to add to a deadline on a worker: nothing on a machine in good order, at most twice of it."""
        late_seconds = self.lateness_seconds
        return min(_STRETCH * late_seconds, 2 * deadline_seconds) if late_seconds > TICK_SECONDS else 0.0

    def _forget(self, now: float) -> None:
        while self._late and self._late[0][0] < now - WINDOW_SECONDS:
            self._late.popleft()
