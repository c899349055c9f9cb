"""One context of a socket: its transcript comes in pieces, its audio goes out meanwhile."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gateway.audio.encoders import stream_encoder
from gateway.errors import ApiError
from gateway.live.messages import Start
from gateway.protocols.cartesia.events import Messages
from gateway.protocols.cartesia.request import CARTESIA, CUES, Generation
from gateway.protocols.dialogues.dialogue import Dialogue
from gateway.protocols.dialogues.hearing import DialogueListener
from gateway.protocols.tags import Tags
from gateway.service import Gateway
from gateway.timing.part import PartTimes

_IDLE = "session_idle"


class Context(DialogueListener):
    """A dialogue, and what its client hears of it."""

    def __init__(
        self,
        gateway: Gateway,
        request_id: str,
        start: Start,
        first: Generation,
        send: Callable[[dict[str, Any]], None],
    ) -> None:
        """`first`: the message that opens it. `send` puts a message into the socket's outbox."""
        self.dialogue = Dialogue(gateway, request_id, start, CARTESIA, self, Tags(CUES))
        self._send = send
        self._encoder = stream_encoder(first.output_format.format, start.sample_rate, noted=False)
        self._messages = Messages(first.context_id)
        self._flushes = 0
        """Flushes that the client asked for, and that wait for their audio."""
        self._flushed = 0
        """Flushes that the client was told of."""
        self._failure: ApiError | None = None

    async def run(self) -> None:
        """Until all is said, or it is cancelled. Raises ApiError."""
        try:
            await self.dialogue.run()
        except ApiError as error:
            if error.code != _IDLE:
                raise
        if self._failure is not None:
            raise self._failure
        self._tell(self._messages.done())

    def take(self, message: Generation) -> None:
        """More of the transcript, or its end. Raises ApiError."""
        if self.dialogue.finishing:
            error = "the transcript of this context is complete: open another one"
            raise ApiError(400, "context_closed", error, param="context_id")
        if message.transcript:
            self.dialogue.append(message.transcript)
        if not message.keep_on:
            self.dialogue.finish()
        elif message.flush:
            self._flush()
        elif message.max_buffer_delay_ms == 0 and message.transcript.strip():
            self.dialogue.flush(told=False)

    def _flush(self) -> None:
        self._flushes += 1  # before it is told
        try:
            self.dialogue.flush()
        except ApiError:
            self._flushes -= 1
            raise

    # ------------------------------------------------------------------------------------------ what is heard

    def timed(self, part: PartTimes) -> None:
        """Words, after their audio."""
        self._tell(self._messages.timestamps(part, **self._facts))

    def audio(self, pcm: bytes) -> None:
        """The next samples."""
        self._tell(self._messages.chunk(self._encoder.encode(pcm), **self._facts))

    def flushed(self) -> None:
        """All before a flush is on its way."""
        self._flushes -= 1
        self._flushed += 1
        self._tell(self._messages.flush_done(self._flushed))

    def refused(self, error: dict[str, Any]) -> None:
        """A sentence cannot be spoken: the context ends with that."""
        self._failure = ApiError(422, error["code"], error["message"], param="transcript")
        self.dialogue.cancel()

    @property
    def _facts(self) -> dict[str, int]:
        """Which flush a chunk belongs to, where there are any."""
        return {"flush_id": self._flushed + 1} if self._flushes else {}

    def _tell(self, *messages: dict[str, Any]) -> None:
        if not self.dialogue.cancelled:
            for message in messages:
                self._send(message)
