"""`WS /v1/speak`: text goes in piece by piece, raw audio comes out meanwhile.

    client   {"type": "Speak", "text": "Good morn"}  {"type": "Flush"}  {"type": "Clear"}  {"type": "Close"}
    server   {"type": "Metadata"}, audio in binary messages, {"type": "Flushed"}, {"type": "Cleared"}

A sentence is spoken when it is complete, the rest on Flush or after a while. Clear is a barge-in.
"""

from __future__ import annotations

from fastapi import APIRouter, WebSocket

from gateway.api.transfer.client_socket import ClientSocket
from gateway.callers.identity import Caller
from gateway.protocols.deepgram.link import SpeakLink, serve_link
from gateway.protocols.deepgram.messages import Command, Messages, Speak
from gateway.protocols.deepgram.request import SpeakQuery

router = APIRouter()


async def speak_socket(websocket: WebSocket) -> None:
    """One dialogue."""
    await serve_link(websocket, SpeakSocket)


router.add_websocket_route("/v1/speak", speak_socket, "speak_socket")


class SpeakSocket(SpeakLink):
    """One socket, which is one dialogue."""

    messages = Messages(Speak | Command)

    def __init__(self, socket: ClientSocket, query: SpeakQuery, caller: Caller) -> None:
        super().__init__(socket, query, caller)
        self._flushed = self._cleared = 0
        self._owed = False
        """Whether text came since the last audio."""

    def _greet(self) -> None:
        self._tell("Metadata", **self._facts, model_uuid=self._model_uuid)

    def _follow(self, message: Speak | Command) -> None:
        match message.type:
            case "Speak":
                self._dialogue.append(message.text)
                self._owed |= bool(message.text.strip())
            case "Flush":
                self._dialogue.flush()
            case "Clear":
                self._dialogue.clear()
                self._owed = False
                self._tell("Cleared", sequence_id=self._cleared)
                self._cleared += 1
            case "Close":
                self._dialogue.finish()
            case "KeepAlive":
                self._dialogue.keep_alive()

    # ----------------------------------------------------------------------------------------- what is heard

    def audio(self, pcm: bytes) -> None:
        """The next samples."""
        self._owed = False
        super().audio(pcm)

    def flushed(self) -> None:
        """All before a Flush is on its way."""
        if self._owed:
            self._dialogue.be_silent()
        self._tell("Flushed", sequence_id=self._flushed)
        self._flushed += 1
