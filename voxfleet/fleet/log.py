"""The log of a fleet's controller, and of its actors in Ray: readable lines on standard output.

Tracebacks have lines of code and no values of variables, since tokens and secrets are among those.
"""

from __future__ import annotations

import sys
from typing import Any

import structlog

from sockets.untrusted import escape_controls


def get_logger(name: str) -> Any:
    """The logger of a module, whatever structlog itself is configured to."""
    processors = [
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
        structlog.processors.format_exc_info,
        escape_controls,
        structlog.dev.ConsoleRenderer(
            colors=sys.stdout.isatty(), exception_formatter=structlog.dev.plain_traceback
        ),
    ]
    return structlog.wrap_logger(None, processors=processors, logger_factory_args=(name,))
