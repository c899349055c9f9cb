"""`WS /v1/tts/live`: text goes in piece by piece, a file that grows comes out meanwhile. All is MessagePack.

    client   {"event": "start", "request": {...}}  {"event": "text", "text": "Good morn"}  {"event": "flush"}
             {"event": "stop"}
    server   {"event": "audio", "audio": bytes}  {"event": "finish", "reason": "stop"}

After `finish` a client may start again. A sentence is spoken when it is complete, the rest on flush or stop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from fastapi import APIRouter, WebSocket
from pydantic import ValidationError

from gateway.api.transfer.client_socket import ClientSocket, serve_caller
from gateway.callers.identity import Caller
from gateway.errors import ApiError, from_validation
from gateway.live.messages import Start
from gateway.protocols.dialogues.contexts import Contexts
from gateway.protocols.dialogues.dialogue import Dialogue
from gateway.protocols.dialogues.encoded import EncodedContext
from gateway.protocols.fish.packing import packed, unpacked
from gateway.protocols.fish.request import FISH, SpeechBody
from gateway.protocols.lenient import Lenient
from gateway.requests import Text

router = APIRouter()
_ONE = ""
"""The name of what is being said."""


async def live_for_fish(websocket: WebSocket) -> None:
    """One stretch of speech after the other."""
    await serve_caller(websocket, lambda socket, caller: _Connection(socket, caller).run())


router.add_websocket_route("/v1/tts/live", live_for_fish, "fish-live")


class Message(Lenient):
    """One of the client's."""

    event: Literal["start", "text", "flush", "stop"]
    text: Text = ""
    request: SpeechBody = SpeechBody()


class _Speech(EncodedContext):
    """What is said between start and stop."""

    def __init__(
        self, socket: ClientSocket, start: Start, body: SpeechBody, put: Callable[[bytes], None]
    ) -> None:
        super().__init__(socket.gateway, body.format, start.sample_rate, body.bit_rate)
        self.dialogue = Dialogue(socket.gateway, socket.request_id, start, FISH, self)
        self._put = put

    def _tell_audio(self, data: bytes) -> None:
        if not self.dialogue.cancelled:
            self._put(packed({"event": "audio", "audio": data}))


class _Connection:
    """One socket."""

    def __init__(self, socket: ClientSocket, caller: Caller) -> None:
        self._socket = socket
        self._caller = caller
        self._contexts: Contexts[_Speech] = Contexts(socket.request_id, self._ended)

    async def run(self) -> None:
        """Until the client leaves, or says something wrong. Raises WebSocketDisconnect."""
        problem = await self._socket.outcome(self._serve())
        await self._socket.close(problem, _finish(problem))

    async def _serve(self) -> None:
        async with self._contexts, self._socket.interruption:
            await self._follow(await self._socket.first(self._receive()))
            while True:
                await self._follow(await self._receive())

    async def _receive(self) -> Message:
        fields = unpacked(await self._socket.receive_bytes(), "message")
        try:
            return Message.model_validate(fields)
        except ValidationError as error:
            raise from_validation(error.errors()) from error

    async def _follow(self, message: Message) -> None:
        speech = self._contexts.get(_ONE)
        if (message.event == "start") == (speech is not None):
            reason = "stop what is being said first" if speech else "the first event is start"
            raise ApiError(422, "invalid_message", reason, param="event")
        if message.event == "start":
            body = message.request
            speech = _Speech(self._socket, await body.to_start(self._socket.gateway), body, self._socket.put)
            self._contexts.open(_ONE, speech, self._caller)
        text = message.request.text if message.event == "start" else message.text
        if text:
            speech.dialogue.append(text)
        if message.event == "flush":
            speech.dialogue.flush(told=False)
        elif message.event == "stop":
            speech.dialogue.finish()

    def _ended(self, id: str, failure: ApiError | None) -> None:
        self._socket.put(_finish(failure))


def _finish(failure: ApiError | None) -> bytes:
    said = {"reason": "error", "message": failure.message} if failure else {"reason": "stop"}
    return packed({"event": "finish", **said})
