"""How long a worker that does not serve will probably be away: it restarts, or loads for the first time.

The estimate is a moving average of its absences so far, from the moment in which it ceased to serve until the
next process served. A worker that was only unreachable for a moment comes back as the same process; such
absences are short and tell nothing of a restart.
"""

from __future__ import annotations

from gateway.slots.capacity.estimates import EtaTuning, ServiceTime

FIRST_GUESS_SECONDS = 15.0
"""How long a process starts and loads its model, as long as none was seen to."""


class Absence:
    """How long one worker is away, and will be."""

    def __init__(self) -> None:
        self._lengths = ServiceTime(EtaTuning(FIRST_GUESS_SECONDS))
        self._since: float | None = None
        """None while it serves, and before it was ever heard of."""
        self._served: str | None = None
        """The process that served last, by its boot id."""

    def note(self, serving: bool, boot_id: str | None, now: float) -> None:
        """Something was heard of the worker, and this is how it is."""
        if not serving:
            if self._since is None:
                self._since = now
            return
        if self._since is not None and boot_id != self._served:
            self._lengths.observe(now - self._since)
        self._since, self._served = None, boot_id

    def remaining(self, now: float) -> float:
        """Seconds until it serves again, probably."""
        return self._lengths.remaining(0.0 if self._since is None else now - self._since)
