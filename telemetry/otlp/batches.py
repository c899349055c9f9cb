"""What waits to be sent, and the threads that send it, one for each signal.

batch = Batch("traces", exporter.export, exporter.shutdown)
sender = Sender([batch, ...])
batch.note(something)      # takes a microsecond; all that can wait is done by the batch's thread

The SDK's own processors want to be given finished records. Here the threads make them, at different times,
which takes half the time of making each within a request. A signal that its receiver refuses is tried for
seconds; the others do not wait for it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Generic, TypeVar

logger = logging.getLogger(__name__)

SECONDS = 10.0
"""Between two times that a signal is sent: each message costs a millisecond, however small it is."""
MOST_WAITING = 2048
MOST_SENT = 512
"""In one message. When so many wait, they are sent at once."""

Noted = TypeVar("Noted")


class Batch(Generic[Noted]):
    """What was noted of one signal since it was sent last. Of too many the oldest are dropped."""

    def __init__(
        self,
        signal: str,
        send: Callable[[list[Noted]], bool],
        close: Callable[[], object],
        most: int = MOST_WAITING,
        full: int = MOST_SENT,
    ) -> None:
        """`send` is called in the sender's thread, with `full` at most, and says whether the receiver took
        them; `close` after the last of them.
        """
        self.signal = signal
        self.close = close
        self.woken = threading.Event()
        """Set when it is to be sent without waiting."""
        self._send = send
        self._waiting: deque[Noted] = deque(maxlen=most)
        self._most = most
        self._full = full
        self._pushed_out = 0
        self._not_taken = 0

    @property
    def dropped(self) -> dict[str, int]:
        """How many never reached a receiver, by the reason: too many waited, or it did not take them."""
        return {"queue_full": self._pushed_out, "not_taken": self._not_taken}

    def note(self, noted: Noted) -> None:
        """Take note of something to be sent. Never waits."""
        if len(self._waiting) == self._most:
            self._pushed_out += 1
        self._waiting.append(noted)
        if len(self._waiting) == self._full:
            self.woken.set()

    def send(self) -> None:
        """Send all that waits."""
        while count := min(len(self._waiting), self._full):
            if not self._sent([self._waiting.popleft() for _ in range(count)]):
                self._not_taken += count

    def _sent(self, noted: list[Noted]) -> bool:
        try:
            return self._send(noted)
        except Exception:
            logger.exception("telemetry could not be sent and is dropped")
            return False


class Sender:
    """Sends what waits in `batches`: every `SECONDS`, one as soon as it is full, and all when stopped."""

    def __init__(self, batches: Sequence[Batch[Any]]) -> None:
        self._batches = batches
        self._stopping = False
        self._threads = [
            threading.Thread(
                target=self._run,
                args=(batch, SECONDS * place / len(batches)),
                name=f"telemetry-{batch.signal}",
                daemon=True,
            )
            for place, batch in enumerate(batches, start=1)
        ]

    def start(self) -> None:
        """Start the threads that send, once."""
        for thread in self._threads:
            thread.start()

    def wake(self) -> None:
        """Have the threads send now."""
        for batch in self._batches:
            batch.woken.set()

    def stop(self, seconds: float) -> bool:
        """Send what waits and end. Whether it did within `seconds`; the end of the process does not wait."""
        until = time.monotonic() + seconds
        self._stopping = True
        self.wake()
        for thread in self._threads:
            thread.join(max(0.0, until - time.monotonic()))
        return not any(thread.is_alive() for thread in self._threads)

    def _run(self, batch: Batch[Any], seconds: float) -> None:
        """`seconds`: until the first time."""
        stopping = False
        while not stopping:
            batch.woken.wait(seconds)
            batch.woken.clear()
            seconds = SECONDS
            stopping = self._stopping  # what is noted before that is sent
            batch.send()
        batch.close()
