"""`WS /v1/speak`: text goes in piece by piece, raw audio comes out meanwhile.

    client   {"type": "Speak", "text": "Good morn"}  {"type": "Flush"}  {"type": "Clear"}  {"type": "Close"}
    server   {"type": "Metadata"}, audio in binary messages, {"type": "Flushed"}, {"type": "Cleared"}

A sentence is spoken when it is complete, the rest on Flush or after a while. Clear is a barge-in.
"""

from __future__ import annotations

import asyncio
import json
import uuid
from typing import Annotated, Any, Literal

import structlog
from fastapi import APIRouter, WebSocket
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from starlette.websockets import WebSocketDisconnect

from gateway.api.transfer.client_socket import DONE, ClientSocket, serve_socket
from gateway.audio.encoders import stream_encoder
from gateway.callers.identity import Caller
from gateway.errors import ApiError, error_response, from_validation
from gateway.protocols.deepgram.request import DEEPGRAM, SpeakQuery, read_query
from gateway.protocols.dialogue import Dialogue, DialogueListener
from gateway.requests import Text, fields_of
from gateway.service import Gateway
from sockets.outbox import send

_SILENCE_SECONDS = 0.1
"""Of text without words."""

router = APIRouter()
logger = structlog.get_logger(__name__)


class _Message(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True)


class Speak(_Message):
    """More text."""

    type: Literal["Speak"]
    text: Text


class Command(_Message):
    """What is said without a text; KeepAlive: the client is there."""

    type: Literal["Flush", "Clear", "Close", "KeepAlive"]


_messages: TypeAdapter[Speak | Command] = TypeAdapter(Annotated[Speak | Command, Field(discriminator="type")])


async def speak_socket(websocket: WebSocket) -> None:
    """Serve one client; one whose head is wrong is refused before the socket opens, as its SDK expects."""
    gateway: Gateway = websocket.app.state.gateway
    try:
        gateway.check_open()
        caller = gateway.callers.identify(websocket)
        query = await read_query(websocket.query_params, gateway)
        query.to_start()
    except ApiError as error:
        await websocket.send_denial_response(error_response(error, websocket.scope))
        return
    await serve_socket(websocket, lambda socket: SpeakSocket(socket, query, caller).run())


router.add_websocket_route("/v1/speak", speak_socket, "speak_socket")


class SpeakSocket(DialogueListener):
    """One socket, which is one dialogue."""

    def __init__(self, socket: ClientSocket, query: SpeakQuery, caller: Caller) -> None:
        self._socket = socket
        self._query = query
        self._start = query.to_start()
        self._encoder = stream_encoder(query.streamed_format, self._start.sample_rate, noted=False)
        self._sample_bytes = 2 if query.streamed_format == "pcm" else 1
        self._dialogue = Dialogue(socket.gateway, socket.request_id, self._start, DEEPGRAM, self)
        self._caller = caller
        self._flushed = self._cleared = 0
        self._owed = False
        """Whether text came since the last audio."""

    async def run(self) -> None:
        """Returns when the socket is closed. Raises WebSocketDisconnect when the client closed it."""
        problem = None
        try:
            self._dialogue.open(self._caller)
            self._tell("Metadata", **self._metadata())
            await self._serve()
        except ApiError as error:
            problem = error
        connection = self._socket.connection
        if problem is None:
            await connection.close(DONE)
        else:
            await send(connection, _message("Error", code=problem.code.upper(), description=problem.message))
            await connection.close(problem.close_code, problem.code)

    async def _serve(self) -> None:
        reader = asyncio.create_task(self._read())
        try:
            async with self._socket.interruption:
                await self._socket.flushed(self._dialogue.run())
        finally:
            reader.cancel()
            self._socket.outbox.drop()

    def _metadata(self) -> dict[str, Any]:
        voice = self._query.model
        return {
            "request_id": self._socket.request_id,
            "model_name": voice,
            "model_version": "1",
            "model_uuid": str(uuid.uuid5(uuid.NAMESPACE_URL, voice)),
        }

    # ---------------------------------------------------------------------------------------- from the client

    async def _read(self) -> None:
        """Take messages until the client leaves. A wrong one is answered; the dialogue goes on."""
        while True:
            try:
                self._obey(_parse(await self._socket.receive_text()))
            except ApiError as error:
                self._warn(error.code, error.message)
            except Exception as cause:
                self._socket.interruption.end_with(cause)
                if not isinstance(cause, WebSocketDisconnect):
                    logger.exception("unhandled error", request_id=self._socket.request_id)
                return

    def _obey(self, message: Speak | Command) -> None:
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
        self._socket.outbox.put(self._encoder.encode(pcm))

    def drop_audio(self) -> int:
        """What has not left yet will not; in samples."""
        return self._socket.outbox.drop_audio() // self._sample_bytes

    def flushed(self) -> None:
        """All before a Flush is on its way. Some clients wait for audio after any text, words or not."""
        if self._owed:
            self.audio(bytes(2 * round(_SILENCE_SECONDS * self._start.sample_rate)))
        self._tell("Flushed", sequence_id=self._flushed)
        self._flushed += 1

    def refused(self, error: dict[str, Any]) -> None:
        """A sentence was not spoken."""
        self._warn(error["code"], error["message"])

    def _warn(self, code: str, description: str) -> None:
        self._tell("Warning", code=code.upper(), description=description, warn_msg=description)

    def _tell(self, kind: str, **fields: Any) -> None:
        self._socket.put(_message(kind, **fields))


def _message(kind: str, **fields: Any) -> str:
    return json.dumps({"type": kind, **fields})


def _parse(text: str) -> Speak | Command:
    """Raises ApiError."""
    fields = fields_of(text)
    try:
        return _messages.validate_python(fields)
    except ValidationError as error:
        first = error.errors()[0]
        if first["type"].startswith("union_tag") or not first["loc"]:
            known = "Speak, Flush, Clear, Close or KeepAlive"
            raise ApiError(400, "invalid_message", f"type must be {known}", param="type") from error
        raise from_validation([{**first, "loc": first["loc"][1:]}]) from error
