"""The kinds of models that a worker can serve: what is the same for none of them on their way to the wire.

speech.py  `StartRequest` to `SpeechRequest`, `SpeechOutput` to `Frame`
text.py    `StartTextRequest` to `TextRequest`, `TextOutput`s to `Frame`
"""

from __future__ import annotations

from typing import Any, Protocol

from engine.errors import RequestError
from worker.kinds.speech import SpeechKind
from worker.protocol import Counters, Frame, Start


class ModelKind(Protocol):
    """Made of a loaded engine. Requests and outputs are those of the engine."""

    start: type[Start]
    """How a gateway opens a request."""
    gathers: bool
    """Outputs that follow each other closely leave in one frame."""

    def is_quick(self, start: Any) -> bool:
        """Whether a request is prepared in a moment, on the event loop."""

    def request(self, start: Any) -> Any:
        """For the engine. Raises RequestError."""

    def begun(self, request: Any) -> int:
        """Patches or tokens that were made before."""

    def accepted(self, request: Any) -> dict[str, int]:
        """Fields of `Accepted` that this kind has."""

    def size(self, request: Any) -> dict[str, int]:
        """How much goes in, for the log; never what."""

    def ending(self, request_id: str, index: int, reason: str) -> Any:
        """An output that is nothing but the end of a request."""

    def fault(self, ending: Any, start: Any) -> RequestError | None:
        """What of the request is to blame for an output that is its failure; None for nothing."""

    def frame(self, outputs: list[Any], start: Any, index: int, step: int) -> Frame:
        """Outputs in a row, of which the first is number `index`; one unless the kind `gathers`."""

    def count(self, frame: Frame, counters: Counters) -> None:
        """Count a frame that goes out."""


def kind_of(engine: Any) -> ModelKind:
    """The kind of model behind an engine. The text one is imported where there is such an engine."""
    if engine.info.kind == "text":
        from worker.kinds.text import TextKind

        return TextKind(engine)
    return SpeechKind(engine)
