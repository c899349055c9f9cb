"""What a peer sent, made fit for a terminal.

    printable("slt\\x1b[2J\\n12:00 [info] forged")      # 'slt\\\\x1b[2J\\\\n12:00 [info] forged'

Control characters move the cursor, hide what was written and begin new lines, so that a log shows what never
happened. JSON escapes them by itself; what people read needs this.
"""

from __future__ import annotations

import re
from typing import Any

_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_WITH_LINES = ("exception", "stack")
"""Fields of a log event that have several lines: tracebacks."""


def printable(text: str) -> str:
    """The text with control characters, line breaks and changes of direction as escape sequences."""
    return _UNPRINTABLE.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def printable_lines(text: str) -> str:
    """`printable` applied to each line, so that a traceback keeps its lines."""
    return "\n".join(map(printable, text.split("\n")))


def escape_controls(logger: object, method: str, event: dict[str, Any]) -> dict[str, Any]:
    """A processor of structlog, before the one that renders."""
    for name, value in event.items():
        if isinstance(value, str):
            event[name] = printable_lines(value) if name in _WITH_LINES else printable(value)
    return event
