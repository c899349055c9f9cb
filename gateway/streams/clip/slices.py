"""Long texts are read a slice at a time, in one thread, which all of them take in turns.

Reading is Python's work, which no two threads do at once: a second one would not be faster, and cost the
event loop its turn. A text that nobody waits for any more is not read on.
"""

from __future__ import annotations

import asyncio
import contextvars
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

_SLICE_SECONDS = 0.02
_thread = ThreadPoolExecutor(1, "reading")


async def in_slices(steps: Iterator[object]) -> None:
    """Go through `steps`, between other texts."""
    loop, context = asyncio.get_running_loop(), contextvars.copy_context()
    while await loop.run_in_executor(_thread, context.run, _goes_on, steps):
        pass


def _goes_on(steps: Iterator[object]) -> bool:
    """A slice of them; False at their end."""
    until = time.monotonic() + _SLICE_SECONDS
    return any(time.monotonic() >= until for _ in steps)
