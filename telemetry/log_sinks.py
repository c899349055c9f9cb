"""Who hears of log events beside standard error. Nobody, unless telemetry is on.

`tell_sinks` is a processor of structlog, `SinkHandler` the same for loggers of the standard library.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

Sink = Callable[[str, Mapping[str, Any]], None]
"""Is told the level, and the event with its fields."""
SINKS: list[Sink] = []
_OWN = ("telemetry", "opentelemetry", "urllib3", "requests")
"""Loggers of who sends: what fails there would be sent there."""


def tell_sinks(logger: object, method: str, event: dict[str, Any]) -> dict[str, Any]:
    """Before the processor that renders."""
    for sink in SINKS:
        sink(method, event)
    return event


class SinkHandler(logging.Handler):
    """Tells of records; one that structlog made has its event as message."""

    def emit(self, record: logging.LogRecord) -> None:
        """Called by the logger."""
        if not SINKS or record.name.partition(".")[0] in _OWN:
            return
        event = record.msg if isinstance(record.msg, dict) else {"event": record.getMessage()}
        for sink in SINKS:
            sink(record.levelname.lower(), {"logger": record.name, **event})
