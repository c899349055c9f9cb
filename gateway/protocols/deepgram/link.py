"""What the sockets of `/v1/speak` and `/v2/speak` have in common: one dialogue."""

from __future__ import annotations

import asyncio
import json
import math
import uuid
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import structlog
from fastapi import WebSocket
from starlette.websockets import WebSocketDisconnect

from gateway.api.transfer.client_socket import DONE, ClientSocket, serve_socket
from gateway.audio.encoders import stream_encoder
from gateway.callers.identity import Caller
from gateway.edge.connections.websocket import PINGED_AT
from gateway.errors import ApiError, error_response
from gateway.protocols.deepgram.controls import Controls
from gateway.protocols.deepgram.messages import Messages
from gateway.protocols.deepgram.request import DEEPGRAM, SpeakQuery, read_query
from gateway.protocols.dialogue import Dialogue
from gateway.protocols.hearing import DialogueListener
from gateway.service import Gateway
from sockets.outbox import send

logger = structlog.get_logger(__name__)


class SpeakLink(DialogueListener):
    """One socket."""

    messages: ClassVar[Messages]
    """What its client may say."""

    def __init__(self, socket: ClientSocket, query: SpeakQuery, caller: Caller) -> None:
        self._socket = socket
        self._model = query.model
        self._start = query.to_start()
        self._encoder = stream_encoder(query.streamed_format, self._start.sample_rate, noted=False)
        self._sample_bytes = 2 if query.streamed_format == "pcm" else 1
        self._controls = Controls()
        self._dialogue = Dialogue(
            socket.gateway, socket.request_id, self._start, DEEPGRAM, self, self._controls
        )
        self._caller = caller

    async def run(self) -> None:
        """Returns when the socket is closed. Raises WebSocketDisconnect when the client closed it."""
        problem = None
        try:
            self._dialogue.open(self._caller)
            self._greet()
            await self._serve()
        except ApiError as error:
            problem = error
        connection = self._socket.connection
        if problem is None:
            await connection.close(DONE)
        else:
            await send(connection, _message("Error", code=problem.code.upper(), description=problem.message))
            await connection.close(problem.close_code, problem.code)

    @abstractmethod
    def _greet(self) -> None:
        """The first message."""

    @abstractmethod
    def _obey(self, message: Any) -> None:
        """Do what the client says. Raises ApiError, which it is warned of."""

    async def _speak(self) -> None:
        """Until the client wants no more and all is said."""
        await self._dialogue.run()

    async def _serve(self) -> None:
        reader = asyncio.create_task(self._read())
        try:
            async with self._socket.interruption:
                await self._socket.flushed(self._speak())
        finally:
            reader.cancel()
            self._socket.outbox.drop()

    async def _read(self) -> None:
        """Take messages until the client leaves. A wrong one is answered; the dialogue goes on."""
        while True:
            try:
                self._obey(self.messages.read(await self._socket.receive_text()))
            except ApiError as error:
                self._warn(error.code, error.message)
            except Exception as cause:
                self._socket.interruption.end_with(cause)
                if not isinstance(cause, WebSocketDisconnect):
                    logger.exception("unhandled error", request_id=self._socket.request_id)
                return

    # ----------------------------------------------------------------------------------------- what is heard

    def audio(self, pcm: bytes) -> None:
        """The next samples."""
        self._socket.outbox.put(self._encoder.encode(pcm))

    def drop_audio(self) -> int:
        """What has not left yet will not; in samples."""
        return self._socket.outbox.drop_audio() // self._sample_bytes

    def idle(self) -> None:
        """Pings are a sign of life: clients send them by themselves, and no KeepAlive."""
        pinged_at = self._socket.connection.scope["extensions"].get(PINGED_AT, -math.inf)
        if pinged_at > asyncio.get_running_loop().time() - self._socket.gateway.settings.live_idle_seconds:
            self._dialogue.keep_alive()

    def refused(self, error: dict[str, Any]) -> None:
        """A sentence was not spoken."""
        self._warn(error["code"], error["message"])

    @property
    def _facts(self) -> dict[str, str]:
        """Facts about the connection, and the voice that speaks."""
        return {"request_id": self._socket.request_id, "model_name": self._model, "model_version": "1"}

    @property
    def _model_uuid(self) -> str:
        return str(uuid.uuid5(uuid.NAMESPACE_URL, self._model))

    def _warn(self, code: str, description: str) -> None:
        self._tell("Warning", code=code.upper(), description=description, warn_msg=description)

    def _tell(self, kind: str, **fields: Any) -> None:
        self._socket.put(_message(kind, **fields))


async def serve_link(
    websocket: WebSocket, link: Callable[[ClientSocket, SpeakQuery, Caller], SpeakLink]
) -> None:
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
    await serve_socket(websocket, lambda socket: link(socket, query, caller).run())


def _message(kind: str, **fields: Any) -> str:
    return json.dumps({"type": kind, **fields})
