"""A terminal that is closed ends what runs in it as SIGTERM does: what is open may finish."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def ending_at_hangup() -> Iterator[None]:
    """Take SIGHUP for SIGTERM; `nohup`, which has it ignored, keeps its word. For the main thread."""
    before = signal.getsignal(signal.SIGHUP)
    if before is signal.SIG_DFL:
        signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, before)
