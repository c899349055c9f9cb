"""The trace that a request belongs to, as HTTP headers and our own protocol carry it: W3C Trace Context.

    00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
       trace                            parent span      sampled

https://www.w3.org/TR/trace-context/. `tracestate` is not passed on, which the specification allows.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

TRACEPARENT_PATTERN = r"00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}"
"""A `traceparent` of version 00, as we write it."""
_HEADER = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_LONGEST = 128
_SAMPLED = 1


@dataclass(frozen=True)
class TraceContext:
    """A span of somebody else's, of which ours are children."""

    trace_id: int
    span_id: int
    sampled: bool
    """Its sender keeps the trace."""

    @classmethod
    def parse(cls, header: str) -> TraceContext | None:
        """None for what is no `traceparent`. Later versions are read as far as this one goes."""
        found = _HEADER.fullmatch(header) if len(header) <= _LONGEST else None
        if found is None or found[1] == "ff" or (found[1] == "00" and found[5]):
            return None
        trace_id, span_id = int(found[2], 16), int(found[3], 16)
        if not trace_id or not span_id:
            return None
        return cls(trace_id, span_id, bool(int(found[4], 16) & _SAMPLED))

    def __str__(self) -> str:
        return traceparent(self.trace_id, self.span_id, self.sampled)


def traceparent(trace_id: int, span_id: int, sampled: bool) -> str:
    """The header, of version 00."""
    return f"00-{trace_id:032x}-{span_id:016x}-{sampled:02x}"
