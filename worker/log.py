"""Logging of a worker process: structlog lines on standard error, the standard library's loggers included.

Pretty on a terminal, else one JSON object per line. What clients send is personal data: events carry ids,
counts and durations, never text, audio or secrets, and tracebacks are printed without local variables for
that reason.
"""

from __future__ import annotations

import logging
import sys
from typing import Literal

import structlog

from sockets.stderr import StandardError
from sockets.untrusted import escape_controls
from telemetry.log_sinks import SinkHandler


def configure_logging(
    log_format: Literal["auto", "json", "pretty"] = "auto", log_level: str = "info"
) -> None:
    """Set up logging of the whole process; called once, by its entry point."""
    pretty = sys.stderr.isatty() if log_format == "auto" else log_format == "pretty"
    shared = [
        structlog.contextvars.merge_contextvars,
        structlog.stdlib.add_logger_name,
        structlog.stdlib.add_log_level,
        structlog.stdlib.ExtraAdder(),
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    renderer: structlog.typing.Processor
    if pretty:
        plain = structlog.dev.plain_traceback
        renderer = structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), exception_formatter=plain)
    else:
        renderer = structlog.processors.JSONRenderer()
    render = [structlog.processors.format_exc_info, escape_controls, renderer]
    structlog.configure(
        processors=[*shared, structlog.stdlib.ProcessorFormatter.wrap_for_formatter],
        logger_factory=structlog.stdlib.LoggerFactory(),
        cache_logger_on_first_use=True,
    )
    handler = logging.StreamHandler(StandardError())
    remove_meta = structlog.stdlib.ProcessorFormatter.remove_processors_meta
    handler.setFormatter(
        structlog.stdlib.ProcessorFormatter(foreign_pre_chain=shared, processors=[remove_meta, *render])
    )
    logging.basicConfig(handlers=[handler, SinkHandler()], level=log_level.upper(), force=True)
    for name in ("uvicorn", "httpx"):  # httpx would tell of every registration, once a second
        logging.getLogger(name).setLevel(logging.WARNING)
    logging.captureWarnings(True)
