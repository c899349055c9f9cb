"""Timers of a live session: one that can be put off, and the watch over clients that fell silent."""

from __future__ import annotations

from collections.abc import Callable

from gateway.slots.line.positions import CallLater

_LAST_CALL_SECONDS = 15.0
"""Between the warning of an idle session and its end; less where the limit itself is."""

LOOKS = 5
"""How often a silent session looks whether somebody waits for its slot, before it gives that back anyway."""


class Alarm:
    """A timer that can be set again and put off."""

    def __init__(self, later: CallLater) -> None:
        self._later = later
        self._setting = 0
        self._handle: object = None

    def set(self, seconds: float, ring: Callable[[], None]) -> None:
        """Ring in so many seconds, and at no time that was set before."""
        self.clear()
        setting = self._setting
        self._handle = self._later(seconds, lambda: ring() if setting == self._setting else None)

    def clear(self) -> None:
        """Do not ring."""
        self._setting += 1
        handle, self._handle = self._handle, None
        cancel = getattr(handle, "cancel", None)  # uvloop's are none of asyncio's
        if cancel is not None:  # or it would keep the session alive until its time
            cancel()


class IdleWatch:
    """Warns, then ends, when neither text nor speech came for `limit_seconds`."""

    def __init__(
        self,
        limit_seconds: float,
        later: CallLater,
        clock: Callable[[], float],
        busy: Callable[[], bool],
        warn: Callable[[float], None],
        end: Callable[[], None],
    ) -> None:
        """`busy`: whether silence is no fault of the client. `warn` gets the seconds that are left."""
        self._limit_seconds = limit_seconds
        self._alarm = Alarm(later)
        self._clock = clock
        self._busy = busy
        self._warn = warn
        self._end = end
        self._quiet_since = clock()
        """When the last of text and speech came, or will have been played."""

    def start(self) -> None:
        """Start to watch."""
        self._alarm.set(self._limit_seconds, self._look)

    def stop(self) -> None:
        """Watch no more."""
        self._alarm.clear()

    def touch(self, audio_seconds: float = 0.0) -> None:
        """The client said something, or gets so much to hear."""
        self._quiet_since = max(self._quiet_since, self._clock()) + audio_seconds

    def hush(self) -> None:
        """What the client has not played yet, it will not."""
        self._quiet_since = self._clock()

    def _look(self) -> None:
        if self._busy():
            self.touch()
        if (left := self._quiet_since + self._limit_seconds - self._clock()) > 0:
            self._alarm.set(left, self._look)
            return
        seconds, since = min(_LAST_CALL_SECONDS, self._limit_seconds), self._quiet_since
        self._warn(seconds)
        self._alarm.set(seconds, lambda: self._look_again(since))

    def _look_again(self, since: float) -> None:
        if self._quiet_since > since or self._busy():
            self._look()
        else:
            self._end()
