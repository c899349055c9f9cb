"""Logging of a gateway process: events with ids, counts and seconds, never a text, a secret or a query
string.
"""

from __future__ import annotations

import logging
import sys

import structlog


def configure_logging(level: str) -> None:
    """One line per event on standard error: readable on a terminal, else JSON. Called once."""
    readable = sys.stderr.isatty()
    renderer = structlog.dev.ConsoleRenderer() if readable else structlog.processors.JSONRenderer()
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(getattr(logging, level.upper())),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format="%(levelname)s %(name)s %(message)s")
