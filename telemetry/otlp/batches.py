"""What waits to be sent, and the thread that sends it.

batch = Batch(exporter.export)
with_others = Sender([batch, ...], exporters)
batch.note(something)      # takes a microsecond; all that can wait is done by the thread

The SDK's own processors have a thread for each signal and want to be given finished records. Here one thread
makes the records of all signals, one after the other, which takes half the time of making each within a
request, and of sending each signal by itself.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Generic, Protocol, TypeVar

logger = logging.getLogger(__name__)

SECONDS = 10.0
"""Between two times that all is sent: each message costs a millisecond, however small it is."""
MOST_WAITING = 2048
MOST_SENT = 512
"""In one message. When so many wait, they are sent at once."""

Noted = TypeVar("Noted")


class Batch(Generic[Noted]):
    """What was noted of one signal since it was sent last. Of too many the oldest are dropped."""

    def __init__(
        self, send: Callable[[list[Noted]], object], most: int = MOST_WAITING, full: int = MOST_SENT
    ) -> None:
        """`send` is called in the sender's thread, with `full` at most."""
        self._send = send
        self._waiting: deque[Noted] = deque(maxlen=most)
        self._full = full
        self.wake: Callable[[], None] = lambda: None
        """Called when it is full."""

    def note(self, noted: Noted) -> None:
        """Never waits."""
        self._waiting.append(noted)
        if len(self._waiting) == self._full:
            self.wake()

    def send(self) -> None:
        """All that waits."""
        while count := min(len(self._waiting), self._full):
            try:
                self._send([self._waiting.popleft() for _ in range(count)])
            except Exception:
                logger.exception("telemetry could not be sent and is dropped")


class Exporter(Protocol):
    """What an exporter of any signal can do."""

    def shutdown(self) -> Any:
        """Nothing more will be sent."""


class Sender:
    """Sends what waits in `batches`: every `SECONDS`, when one of them is full, and when it is stopped."""

    def __init__(self, batches: Sequence[Batch[Any]], exporters: Sequence[Exporter]) -> None:
        self._batches = batches
        self._exporters = exporters
        self._woken = threading.Event()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="telemetry", daemon=True)
        for batch in batches:
            batch.wake = self.wake

    def start(self) -> None:
        """Once."""
        self._thread.start()

    def wake(self) -> None:
        """Send now."""
        self._woken.set()

    def stop(self, seconds: float) -> bool:
        """Send what waits and end. Whether it did within `seconds`; the end of the process does not wait."""
        self._stopping = True
        self.wake()
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def _run(self) -> None:
        stopping = False
        while not stopping:
            self._woken.wait(SECONDS)
            self._woken.clear()
            stopping = self._stopping  # what is noted before that is sent
            for batch in self._batches:
                batch.send()
        for exporter in self._exporters:
            exporter.shutdown()
