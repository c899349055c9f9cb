"""How long a listener waits for an utterance that comes while nothing is said."""

from __future__ import annotations

from collections.abc import Callable


class FirstAudio:
    """From text that is complete to its first audio.

    Text that comes while something else is still being spoken waits for that, and is not measured. Neither is
    what the client paused or cut off.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.heard: Callable[[float], None] = lambda seconds: None
        """Told the seconds."""
        self._clock = clock
        self.since: float | None = None
        """When it was complete; None when nobody waits."""

    def awaited(self) -> None:
        """There is something to say, where there was nothing."""
        self.since = self._clock()

    def came(self) -> None:
        """Audio goes out: the wait for it, if any, is over."""
        if self.since is not None:
            seconds, self.since = self._clock() - self.since, None
            self.heard(seconds)

    def forget(self) -> None:
        """The client does not wait any more."""
        self.since = None
