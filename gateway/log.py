"""Logging of a gateway process: events with ids, counts and seconds, never a text, a secret or a query
string.
"""

from __future__ import annotations

import logging
import sys

import structlog

from sockets.untrusted import PrintableFormatter, escape_controls
from telemetry.log_sinks import SinkHandler, tell_sinks


def configure_logging(level: str) -> None:
    """One line per event on standard error: readable on a terminal, else JSON. Called once."""
    readable = sys.stderr.isatty()
    plain = structlog.dev.plain_traceback
    renderer = (
        structlog.dev.ConsoleRenderer(exception_formatter=plain)
        if readable
        else structlog.processors.JSONRenderer()
    )
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            escape_controls,
            tell_sinks,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.upper())),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(PrintableFormatter("%(levelname)s %(name)s %(message)s"))
    logging.basicConfig(level=logging.WARNING, handlers=[handler, SinkHandler()])
