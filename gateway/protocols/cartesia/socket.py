"""`WS /tts/websocket`: contexts, each a transcript that comes in pieces and is spoken meanwhile.

    client  {"context_id": "a", "transcript": "Good morn", "continue": true, "voice": …, "output_format": …}
            {"context_id": "a", "transcript": "ing.", "continue": false, …}
            {"context_id": "a", "cancel": true}
    server  {"type": "chunk", "context_id": "a", "data": base64}  …  {"type": "done", "context_id": "a"}

The connection's task reads; each context speaks in a task of its own, which ends with the connection.
"""

from __future__ import annotations

import json
import uuid
from typing import Any

from fastapi import APIRouter, WebSocket
from pydantic import ValidationError

from gateway.api.transfer.client_socket import ClientSocket, serve_caller
from gateway.callers.identity import Caller
from gateway.errors import ApiError, from_validation
from gateway.protocols.cartesia import errors
from gateway.protocols.cartesia.context import Context
from gateway.protocols.cartesia.request import Generation
from gateway.protocols.dialogues.contexts import Contexts, Said
from gateway.requests import fields_of

router = APIRouter()


async def speak_in_contexts(websocket: WebSocket) -> None:
    """Serve one client."""
    query = websocket.query_params
    key = query.get("api_key") or query.get("access_token")
    await serve_caller(websocket, lambda socket, caller: _Connection(socket, caller).run(), key)


router.add_websocket_route("/tts/websocket", speak_in_contexts, "cartesia")


class _Connection:
    """One socket."""

    def __init__(self, socket: ClientSocket, caller: Caller) -> None:
        self._socket = socket
        self._gateway = socket.gateway
        self._caller = caller
        self._contexts: Contexts[Context] = Contexts(socket.request_id, self._ended)

    async def run(self) -> None:
        """Returns when the socket is closed. Raises WebSocketDisconnect when the client closed it."""
        await self._socket.close(await self._socket.outcome(self._serve()))

    async def _serve(self) -> None:
        async with self._contexts, self._socket.interruption:
            while True:
                await self._take()

    # ---------------------------------------------------------------------------------------- from the client

    async def _take(self) -> None:
        """A message; a wrong one is answered, and the other contexts go on."""
        context_id = None
        try:
            fields = fields_of(await self._socket.receive_text())
            context_id = _context_id(fields)
            if fields.get("cancel"):
                self._contexts.cancel(context_id, self._socket.outbox)
            else:
                await self._generate(context_id, _generation(fields))
        except ApiError as error:
            self._send(errors.message(error, self._socket.request_id, context_id))

    async def _generate(self, context_id: str, message: Generation) -> None:
        message.context_id = context_id
        context = self._contexts.get(context_id)
        if context is None:
            context = await self._open(context_id, message)
        context.take(message)

    async def _open(self, context_id: str, first: Generation) -> Context:
        self._contexts.check_room()
        first.check_raw()
        start = await first.to_start(self._gateway)
        context = Context(self._gateway, self._socket.request_id, start, first, self._send)
        self._contexts.open(context_id, context, self._caller)
        return context

    def _ended(self, context_id: str, failure: ApiError | None) -> None:
        """Its last word is its own, unless it failed."""
        if failure is not None:
            self._send(errors.message(failure, self._socket.request_id, context_id))

    def _send(self, message: dict[str, Any]) -> None:
        text = json.dumps(message, separators=(",", ":"))
        self._socket.put(Said.of(message.get("context_id"), text))


def _context_id(fields: dict[str, Any]) -> str:
    """The context that a message is about; one without a name gets one."""
    given = fields.get("context_id")
    return given if isinstance(given, str) and 0 < len(given) <= 256 else str(uuid.uuid4())


def _generation(fields: dict[str, Any]) -> Generation:
    """Raises ApiError."""
    try:
        return Generation.model_validate(fields)
    except ValidationError as error:
        raise from_validation(error.errors()) from error
