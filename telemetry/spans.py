"""What is told of a request while it runs. These classes forget it; `telemetry.otlp.traces` keeps it.

span = tracing.begin("speech", protocol="voxfleet")
with span.child("queue"):
    ...
span.end(slow=True)
"""

from __future__ import annotations

from contextvars import ContextVar
from types import TracebackType
from typing import Self

from telemetry.traceparent import TraceContext

Attribute = str | int | float | bool
INCOMING: ContextVar[TraceContext | None] = ContextVar("incoming", default=None)
"""What the client said of the request that is being served: its `traceparent`."""


class Span:
    """A stretch of time within a request. Used as a context, it ends with the block."""

    __slots__ = ()

    @property
    def traceparent(self) -> str | None:
        """The header that puts another process's spans into this trace; None where it is not told."""
        return None

    @property
    def exemplar(self) -> dict[str, str] | None:
        """Labels of a measurement that leads to the trace; None for one that is not kept, as far as known."""
        return None

    @property
    def ids(self) -> tuple[int, int] | None:
        """The ids of the trace and the span."""
        return None

    def child(self, name: str, began: float | None = None, **attributes: Attribute) -> Span:
        """A stretch of time within this one, from `time.monotonic()` on, or from `began`."""
        return self

    def event(self, name: str, **attributes: Attribute) -> None:
        """Add something that happened now."""

    def set(self, **attributes: Attribute) -> None:
        """Set attributes."""

    def keep(self) -> None:
        """The trace is worth keeping, whatever becomes of it; those who work on it hear so."""

    def end(self, error: str = "", slow: bool = False, at: float | None = None) -> None:
        """It is over, or was `at` that time of `time.monotonic()`. Twice is a no-op.

        `error`: the code of what went wrong. A trace with an error, or a slow one, is kept.
        """

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end("" if kind is None else kind.__name__)


NO_SPAN = Span()
CURRENT: ContextVar[Span] = ContextVar("current", default=NO_SPAN)
"""The span of the request that is being served; log events name it."""


class Tracing:
    """Where spans of requests begin. This one forgets them."""

    on = False

    def begin(
        self,
        name: str,
        parent: TraceContext | None = None,
        began: float | None = None,
        **attributes: Attribute,
    ) -> Span:
        """The outermost span of this process for a request; `parent`: of whoever asked for it."""
        return NO_SPAN
