"""Messages of a stream: chunks of audio, the times of words, the end."""

from __future__ import annotations

import base64
import time
from typing import Any

from gateway.timing.part import PartTimes

_MORE, _ALL = 206, 200
"""Status codes of a chunk and of the end."""


class Messages:
    """What is said of the audio of one context. `step_time`: milliseconds since the chunk before."""

    def __init__(self, context_id: str | None) -> None:
        self._facts = {} if context_id is None else {"context_id": context_id}
        self._at = time.monotonic()

    def chunk(self, data: bytes, **facts: Any) -> dict[str, Any]:
        """A chunk."""
        before, self._at = self._at, time.monotonic()
        chunk = {
            "type": "chunk",
            "data": base64.b64encode(data).decode(),
            "done": False,
            "status_code": _MORE,
            "step_time": round(1000 * (self._at - before), 3),
        }
        return self._said(chunk, facts)

    def timestamps(self, part: PartTimes, **facts: Any) -> dict[str, Any]:
        """When the words of a part were said. `source` is not Cartesia's, whose clients pass over it."""
        words = {
            "words": [part.written(word) for word in part.words],
            "start": [round(word.start_seconds, 3) for word in part.words],
            "end": [round(word.end_seconds, 3) for word in part.words],
        }
        said = {"type": "timestamps", "done": False, "status_code": _MORE, "word_timestamps": words}
        return self._said({**said, "source": part.source}, facts)

    def done(self) -> dict[str, Any]:
        """The end."""
        return self._said({"type": "done", "done": True, "status_code": _ALL}, {})

    def flush_done(self, flush_id: int) -> dict[str, Any]:
        """All before a flush is on its way."""
        said = {"type": "flush_done", "done": False, "flush_done": True, "status_code": _MORE}
        return self._said(said, {"flush_id": flush_id})

    def _said(self, message: dict[str, Any], facts: dict[str, Any]) -> dict[str, Any]:
        return {**message, **facts, **self._facts}
