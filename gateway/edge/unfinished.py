"""Answers that are left without their end, so that nobody takes them for the whole: the server cuts them.

uvicorn logs each as a fault of the application, at ERROR. One that says so is none, nor is one that is
cancelled, which happens to what is left when the gateway ends.
"""

from __future__ import annotations

import asyncio
import logging
from contextvars import ContextVar

_UNFINISHED = "ASGI callable returned without completing response."
_on_purpose = ContextVar("unfinished_on_purpose", default=False)


def leave_unfinished() -> None:
    """Mark the answer of the current request as one that is cut off on purpose."""
    _on_purpose.set(True)


class UnfinishedFilter(logging.Filter):
    """Keeps answers that were left unfinished on purpose out of the log `uvicorn.error`."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether it tells of anything but an answer that was left so."""
        if record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError):
            return False
        return not (record.msg == _UNFINISHED and _on_purpose.get())
