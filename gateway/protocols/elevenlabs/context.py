"""One stretch of speech over a socket: text in, encoded audio with the times of its characters out."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import Callable
from typing import Any

from gateway.audio.encoders import Encoder, stream_encoder
from gateway.edge.outbox import Outbox
from gateway.live.messages import Start
from gateway.protocols.dialogues.dialogue import Dialogue
from gateway.protocols.dialogues.hearing import DialogueListener
from gateway.protocols.elevenlabs.messages import Options
from gateway.protocols.elevenlabs.request import ELEVENLABS
from gateway.protocols.elevenlabs.timing import in_milliseconds
from gateway.service import Gateway
from gateway.timing.part import PartTimes

_INLINE = ("pcm", "ulaw", "alaw")
"""Formats that are made quickly enough for the event loop."""


class Context(DialogueListener):
    """A dialogue, and what its client hears of it."""

    tells_turns = False
    """Whether the client hears when what was flushed is said."""

    def __init__(
        self,
        gateway: Gateway,
        request_id: str,
        id: str | None,
        start: Start,
        options: Options,
        send: Callable[[dict[str, Any]], None],
    ) -> None:
        """`options`: of the socket. `send` puts a message into the socket's outbox."""
        self._gateway, self._request_id, self._options = gateway, request_id, options
        self.dialogue = self._begin(start)
        self._id = id
        self._send = send
        self._output = output = options.output
        self._failure: Exception | None = None
        self._outbox = Outbox(self._take, gateway.settings.client_buffer_bytes, on_failure=self._fail)
        self._encoder: Encoder = stream_encoder(
            output.format,
            output.sample_rate,
            noted=gateway.settings.provenance_note,
            bit_rate=output.bit_rate,
        )
        self._told_until = 0.0
        """Seconds of audio up to which characters were told."""

    def _begin(self, start: Start) -> Dialogue:
        return Dialogue(self._gateway, self._request_id, start, ELEVENLABS, self, self._options.tags)

    async def run(self) -> None:
        """Until all is said and sent, or it is cancelled. Raises ApiError."""
        try:
            await self.dialogue.run()
            await self._outbox.flush()
            if self._failure is not None:
                raise self._failure
            if not self.dialogue.cancelled:
                self._tell_audio(await self._encoded(self._encoder.finish))
        finally:
            self._outbox.drop()

    # ------------------------------------------------------------------------------------------ what is heard

    def timed(self, part: PartTimes) -> None:
        """In its place behind the audio."""
        alignment = in_milliseconds(part, self._told_until)
        self._told_until = part.end_seconds
        self._outbox.put(json.dumps({"source": part.source, "alignment": alignment}))

    def audio(self, pcm: bytes) -> None:
        """To be encoded, and sent."""
        self._outbox.put(pcm)

    def refused(self, error: dict[str, Any]) -> None:
        """A sentence was not spoken, which ends nothing."""
        self._send({"message": error["message"], "warning": error["code"], "contextId": self._id})

    def drop_audio(self) -> int:
        """What is not encoded yet will not be; in samples."""
        return self._outbox.drop_audio() // 2

    def _fail(self, error: Exception) -> None:
        self._failure = error
        self.dialogue.cancel()

    async def _take(self, piece: str | bytes) -> None:
        """Times of a part, or audio."""
        if isinstance(piece, str):
            self._tell(None, **json.loads(piece))
        else:
            self._tell_audio(await self._encoded(self._encoder.encode, piece))

    async def _encoded(self, work: Callable[..., bytes], *pcm: bytes) -> bytes:
        if self._output.format in _INLINE:
            return work(*pcm)
        return await asyncio.to_thread(work, *pcm)

    def _tell_audio(self, data: bytes) -> None:
        if data:
            self._tell(base64.b64encode(data).decode())

    def _tell(
        self, audio: str | None, alignment: dict[str, Any] | None = None, source: str | None = None
    ) -> None:
        """`source`: not ElevenLabs', whose clients pass over it."""
        if self.dialogue.cancelled:
            return
        said = {"audio": audio, "isFinal": None, "contextId": self._id}
        said |= {"alignment": alignment, "normalizedAlignment": alignment}
        self._send(said if source is None else {**said, "alignmentSource": source})


def as_text(message: dict[str, Any]) -> str:
    """A message as it goes over the wire: without a context where there is but one, and else with the names
    without capitals that some of its fields have in ElevenLabs' documents, too.
    """
    id = message.get("contextId")
    if id is None:
        said = {name: value for name, value in message.items() if name != "contextId"}
    else:
        said = {**message, "context_id": id, **({"is_final": True} if message.get("isFinal") else {})}
    return json.dumps(said, separators=(",", ":"))
