"""Logging of a gateway process: events with ids, counts and seconds, never a text, a secret or a query
string.
"""

from __future__ import annotations

import logging
import sys

import structlog

from sockets.stderr import StandardError
from sockets.untrusted import escape_controls
from telemetry.log_sinks import SinkHandler, tell_sinks


def configure_logging(level: str) -> None:
    """One line per event on standard error: readable on a terminal, else JSON, also what libraries say.
    Called once.
    """
    readable = sys.stderr.isatty()
    plain = structlog.dev.plain_traceback
    renderer = (
        structlog.dev.ConsoleRenderer(exception_formatter=plain)
        if readable
        else structlog.processors.JSONRenderer()
    )
    stamp = structlog.processors.TimeStamper(fmt="iso", utc=True)
    said = [structlog.processors.format_exc_info, escape_controls]
    structlog.configure(
        processors=[structlog.processors.add_log_level, stamp, *said, tell_sinks, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.upper())),
        logger_factory=structlog.WriteLoggerFactory(StandardError()),
    )
    handler = logging.StreamHandler(StandardError())
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(
            foreign_pre_chain=[structlog.stdlib.add_logger_name, structlog.stdlib.add_log_level, stamp],
            processors=[structlog.stdlib.ProcessorFormatter.remove_processors_meta, *said, renderer],
        )
    )
    logging.basicConfig(level=logging.WARNING, handlers=[handler, SinkHandler()])
    logging.captureWarnings(True)
