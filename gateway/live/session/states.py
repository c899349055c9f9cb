"""The states of a live session, and the two sides that it talks to."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, Protocol

from gateway.errors import ApiError
from gateway.timing.part import PartTimes


class State(StrEnum):
    """The states of a session."""

    QUEUED = "queued"
    """Waits for a slot."""
    ACTIVE = "active"
    """Has one: speaks, or waits a moment for text."""
    PAUSED = "paused"
    """Keeps it, and rests."""
    CANCELLING = "cancelling"
    """The worker is being told to drop an utterance."""
    RELEASED = "released"
    """Gave it back: the pause was long, or there was nothing to say."""
    ENDED = "ended"


def check_appended(text: str, waiting: int, limit: int, *, stopping: bool) -> None:
    """Raise ApiError 422 for text that comes too late, or is too much where `waiting` characters wait."""
    if stopping:
        raise ApiError(422, "session_stopping", "nothing can be appended after stop", param="type")
    if waiting + len(text) > limit:
        message = f"{waiting} characters wait to be spoken and {len(text)} came, at most {limit} may wait"
        raise ApiError(422, "too_much_text", message, param="text")


class Outlet(Protocol):
    """Where the client hears from the session."""

    def tell(self, message: dict[str, Any]) -> None:
        """Send a message."""

    def audio(self, pcm: bytes) -> None:
        """The next s16le samples. Raises ApiError when the client leaves too much unread."""

    def timed(self, index: int, epoch: int, part: PartTimes) -> None:
        """When the words of an utterance, or of a part of it, were said: in all text and all audio."""

    def drop_audio(self) -> int:
        """Forget audio that has not left yet; its samples."""


class Voice(Protocol):
    """Who has the slot and speaks."""

    def wake(self) -> None:
        """Something has changed: look what there is to do."""

    def ask(self, paused: bool) -> bool:
        """Have the worker pause or go on. False when nothing is spoken there: nobody will confirm."""

    def cut(self) -> bool:
        """Drop the utterance that is spoken. True when a worker has to be told, which ends in `settled`."""

    def let_go(self) -> None:
        """Give the slot back, or the place in the queue."""

    def is_awaited(self) -> bool:
        """Whether it has a slot for which somebody waits."""

    def fail(self, error: ApiError) -> None:
        """End the session."""
