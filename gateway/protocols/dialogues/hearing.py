"""Who hears a dialogue of `gateway/protocols/dialogues/dialogue.py`."""

from __future__ import annotations

from typing import Any

from gateway.streams.listener import Listener


class DialogueListener(Listener):
    """What is heard of a dialogue beside its audio."""

    def flushed(self) -> None:
        """All that was appended before a flush is on its way; told once for each that is to be told."""

    def began(self, sentence: str) -> None:
        """A sentence is being spoken: the audio that comes is its own."""

    def spoke(self) -> None:
        """A sentence is spoken: there is room for more text."""

    def refused(self, error: dict[str, Any]) -> None:
        """A sentence was not spoken; the dialogue goes on."""

    def drop_audio(self) -> int:
        """Forget audio that has not left yet; its samples."""
        return 0

    def idle(self) -> None:
        """Nothing was said for so long that the dialogue will end, unless `keep_alive` is called."""
