"""One stretch of speech over a socket: text in, encoded audio with the times of its characters out."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

from gateway.live.messages import Start
from gateway.protocols.dialogues.dialogue import Dialogue
from gateway.protocols.dialogues.encoded import EncodedContext
from gateway.protocols.elevenlabs.messages import Options
from gateway.protocols.elevenlabs.request import ELEVENLABS
from gateway.protocols.elevenlabs.timing import in_milliseconds
from gateway.service import Gateway
from gateway.timing.part import PartTimes


class Context(EncodedContext):
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
        output = options.output
        super().__init__(gateway, output.format, output.sample_rate, output.bit_rate)
        self._request_id, self._options = request_id, options
        self.dialogue = self._begin(start)
        self._id = id
        self._send = send
        self._told_until = 0.0
        """Seconds of audio up to which characters were told."""

    def _begin(self, start: Start) -> Dialogue:
        return Dialogue(self._gateway, self._request_id, start, ELEVENLABS, self, self._options.tags)

    # ------------------------------------------------------------------------------------------ what is heard

    def timed(self, part: PartTimes) -> None:
        """In its place behind the audio."""
        alignment = in_milliseconds(part, self._told_until)
        self._told_until = part.end_seconds
        self._outbox.put(json.dumps({"source": part.source, "alignment": alignment}))

    def refused(self, error: dict[str, Any]) -> None:
        """A sentence was not spoken, which ends nothing."""
        self._send({"message": error["message"], "warning": error["code"], "contextId": self._id})

    async def _take(self, piece: str | bytes) -> None:
        """Times of a part, or audio."""
        if isinstance(piece, str):
            self._tell(None, **json.loads(piece))
        else:
            await super()._take(piece)

    def _tell_audio(self, data: bytes) -> None:
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
