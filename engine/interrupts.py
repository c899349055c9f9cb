"""Ctrl-C in a thread that steps an engine itself: between two steps, never inside of one.

A step that is broken off in the middle of its bookkeeping loses blocks of the cache, or names them wrongly.

    with held_back():
        engine.step()        # KeyboardInterrupt comes after it; pressed again, at once
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def held_back() -> Iterator[None]:
    """Ctrl-C waits for the end of this, a second one does not; in other threads than the main one there is
    none.
    """
    handler = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(handler):
        yield
        return
    pressed = False

    def note(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        if pressed:
            handler(number, frame)
        pressed = True

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, handler)
        if pressed:
            handler(signal.SIGINT, None)
