"""Audio that was encoded before, by its content: a voice is encoded once for as many gateways as ask."""

from __future__ import annotations

import hashlib
from collections import OrderedDict

from worker.protocol import EncodeResponse

MAX_BYTES = 64 << 20
Key = tuple[str, str]
"""Hash of the file, role."""


class AudioCache:
    """The latest answers of `POST /encode`, at most MAX_BYTES of latents, used on one event loop."""

    def __init__(self) -> None:
        self._bytes = 0
        self._answers: OrderedDict[Key, EncodeResponse] = OrderedDict()

    @staticmethod
    def key(audio: bytes, role: str) -> Key:
        """What an answer is kept under. Hashes all of it: not for the event loop."""
        return hashlib.sha256(audio).hexdigest(), role

    def get(self, key: Key) -> EncodeResponse | None:
        """The answer that was given."""
        if key in self._answers:
            self._answers.move_to_end(key)
        return self._answers.get(key)

    def put(self, key: Key, answer: EncodeResponse) -> None:
        """Keep an answer, and drop those that were asked for longest ago."""
        self._answers[key] = answer
        self._bytes += len(answer.latents.data)
        while self._bytes > MAX_BYTES:
            _, dropped = self._answers.popitem(last=False)
            self._bytes -= len(dropped.latents.data)
