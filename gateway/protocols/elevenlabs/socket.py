"""`stream-input`, one stretch of speech over a socket, and `multi-stream-input`, several of them.

The connection's task reads; each context speaks in a task of its own, which ends with the connection.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, WebSocket

from gateway.api.transfer.client_socket import ClientSocket, Serve, serve_or_refuse
from gateway.callers.identity import Caller, given_key
from gateway.errors import ApiError
from gateway.protocols.dialogues.contexts import Contexts, Said
from gateway.protocols.elevenlabs import errors
from gateway.protocols.elevenlabs.context import Context, as_text
from gateway.protocols.elevenlabs.messages import Message, Options, read_message
from gateway.protocols.elevenlabs.request import VoiceSettings, known_voice
from gateway.service import Gateway

router = APIRouter()

_PATH = "/v1/text-to-speech/{voice_id}"
_DEFAULT_CONTEXT = "default"
_CLOSED = {"code": "context_closed", "message": "no text comes after the end: this is not spoken"}


async def stream_input(websocket: WebSocket) -> None:
    """One stretch of speech."""
    await serve(websocket, lambda socket: Connection(socket, multi=False))


async def multi_stream_input(websocket: WebSocket) -> None:
    """Several, each with a `context_id`."""
    await serve(websocket, lambda socket: Connection(socket, multi=True))


router.add_websocket_route(_PATH + "/stream-input", stream_input, "elevenlabs-stream-input")
router.add_websocket_route(_PATH + "/multi-stream-input", multi_stream_input, "elevenlabs-multi-stream-input")


async def serve(websocket: WebSocket, connection: Callable[[ClientSocket], Connection]) -> None:
    """One client."""

    async def ask(gateway: Gateway) -> Serve:
        if given_key(websocket):
            gateway.callers.identify(websocket)
        return lambda socket: connection(socket).run()

    await serve_or_refuse(websocket, ask)


class Finished(Exception):
    """The one context of a socket is over, or the client wants the socket closed."""


class Connection:
    """One socket."""

    read = staticmethod(read_message)
    as_text = staticmethod(as_text)
    context: type[Context] = Context
    farewell_seconds: float | None = 1.5
    """For contexts to be said after `close_socket`; clients wait two seconds."""

    def __init__(self, socket: ClientSocket, *, multi: bool) -> None:
        self._socket = socket
        self._gateway = socket.gateway
        self._multi = multi
        self._contexts: Contexts[Context] = Contexts(socket.request_id, self._ended)
        self._caller: Caller | None = None
        self._voice = ""
        self._options: Options | None = None

    async def run(self) -> None:
        """Returns when the socket is closed. Raises WebSocketDisconnect when the client closed it."""
        problem = await self._socket.outcome(self._serve())
        await self._socket.close(problem, problem and self.as_text(errors.message(problem)))

    async def _serve(self) -> None:
        with contextlib.suppress(Finished):
            async with self._contexts, self._socket.interruption:
                await self._read()

    # ---------------------------------------------------------------------------------------- from the client

    async def _read(self) -> None:
        self._gateway.check_open()
        self._options = Options(self._socket.connection.query_params)
        await self._prepare()
        message = self.read(await self._socket.first(self._socket.receive_text()))
        self._caller = self._gateway.callers.identify(self._socket.connection, message.api_key)
        while True:
            await self._follow(message)
            if message.close_socket:
                await self._contexts.finish(self.farewell_seconds)
                raise Finished
            message = self.read(await self._socket.receive_text())

    async def _prepare(self) -> None:
        self._voice = await known_voice(self._gateway, self._socket.connection.path_params["voice_id"])

    def _id(self, message: Message) -> str:
        """The id of the context that the message is about."""
        return (message.context_id or _DEFAULT_CONTEXT) if self._multi else ""

    async def _follow(self, message: Message) -> None:
        """Obey. Of several contexts, one that may not have what it asks for ends alone."""
        try:
            await self._obey(message)
        except ApiError as error:
            if not self._multi:
                raise
            self._contexts.cancel(self._id(message), self._socket.outbox)
            self._ended(self._id(message), error)

    async def _obey(self, message: Message) -> None:
        id = self._id(message)
        context = self._contexts.get(id)
        if message.text == "" and not message.flush and not message.close_context:
            if context is not None:
                self._rest(context)
            elif not self._multi:
                raise Finished  # nothing was said, and nothing is to be
            return
        if context is None:
            if not message.text:
                return
            context = self._open(id, self._voice, message.voice_settings)
        self._speak(context, message)
        if message.close_context:
            self._close(id, context)

    def _speak(self, context: Context, message: Message) -> None:
        dialogue = context.dialogue
        if dialogue.finishing:
            if message.text and message.text.strip():
                context.refused(_CLOSED)
            return
        if message.text and (dialogue.has_text or message.text.strip()):
            dialogue.append(message.text)
        elif message.text:  # a blank opens a context, and keeps one that nothing was said in
            dialogue.keep_alive()
        if message.flush or (self._options.speaks_at_once and message.text and message.text.strip()):
            dialogue.flush(told=context.tells_turns)

    def _rest(self, context: Context) -> None:
        """No text: the end of the one context, and of several a sign of life."""
        if self._multi:
            context.dialogue.keep_alive()
        elif not context.dialogue.finishing:
            context.dialogue.finish()

    def _close(self, id: str, context: Context) -> None:
        """Say what there is; when asked again, be silent."""
        if not context.dialogue.finishing:
            context.dialogue.finish()
        elif self._contexts.cancel(id, self._socket.outbox):
            self._ended(id, None)

    def _open(self, id: str, voice: str, settings: VoiceSettings | None) -> Context:
        self._contexts.check_room()
        start = self._options.start(self._gateway, voice, settings)
        context = self.context(
            self._gateway, self._socket.request_id, id or None, start, self._options, self._send
        )
        self._contexts.open(id, context, self._caller)
        return context

    def _ended(self, id: str, failure: ApiError | None) -> None:
        if not self._multi:
            if failure is None:
                self._send({"audio": None, "isFinal": True})
            self._socket.interruption.end_with(failure or Finished())
        elif failure is not None:
            self._send(errors.message(failure, id))
        else:
            self._send({"isFinal": True, "contextId": id})

    def _send(self, message: dict[str, Any]) -> None:
        self._socket.put(Said.of(message.get("contextId"), self.as_text(message)))
