"""One stretch of speech over a socket whose audio is encoded as a file that grows."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Callable

from gateway.audio.encoders import Encoder, stream_encoder
from gateway.edge.outbox import Outbox
from gateway.protocols.dialogues.dialogue import Dialogue
from gateway.protocols.dialogues.hearing import DialogueListener
from gateway.service import Gateway

_INLINE = ("pcm", "wav", "ulaw", "alaw")
"""Formats that are made quickly enough for the event loop."""


class EncodedContext(DialogueListener):
    """A context of `contexts.py`, which encodes what it hears."""

    dialogue: Dialogue

    def __init__(self, gateway: Gateway, format: str, sample_rate: int, bit_rate: int | None) -> None:
        """`format`, `bit_rate`: as in `encode_clip`."""
        self._gateway = gateway
        self._is_inline = format in _INLINE
        self._failure: Exception | None = None
        self._outbox = Outbox(self._take, gateway.settings.client_buffer_bytes, on_failure=self._fail)
        noted = gateway.settings.provenance_note
        self._encoder: Encoder = stream_encoder(format, sample_rate, noted=noted, bit_rate=bit_rate)

    async def run(self) -> None:
        """Until all is said and sent, or it is cancelled. Raises ApiError."""
        try:
            await self.dialogue.run()
            await self._outbox.flush()
            if self._failure is not None:
                raise self._failure
            if not self.dialogue.cancelled:
                await self._tell_encoded(self._encoder.finish)
        finally:
            self._outbox.drop()

    def audio(self, pcm: bytes) -> None:
        """To be encoded, and sent."""
        self._outbox.put(pcm)

    def drop_audio(self) -> int:
        """What is not encoded yet will not be; in samples."""
        return self._outbox.drop_audio() // 2

    @abstractmethod
    def _tell_audio(self, data: bytes) -> None:
        """The next bytes of the file."""

    def _fail(self, error: Exception) -> None:
        self._failure = error
        self.dialogue.cancel()

    async def _take(self, piece: str | bytes) -> None:
        """Audio; of text subclasses know what it means."""
        await self._tell_encoded(self._encoder.encode, piece)

    async def _tell_encoded(self, work: Callable[..., bytes], *pcm: str | bytes) -> None:
        data = work(*pcm) if self._is_inline else await asyncio.to_thread(work, *pcm)
        if data:
            self._tell_audio(data)
