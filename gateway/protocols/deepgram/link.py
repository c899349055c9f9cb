"""What the sockets of `/v1/speak` and `/v2/speak` have in common: one dialogue."""

from __future__ import annotations

import asyncio
import json
import math
import uuid
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

from fastapi import WebSocket

from gateway.api.transfer.client_socket import ClientSocket, Serve, serve_checked
from gateway.callers.identity import Caller
from gateway.edge.connections.websocket import PINGED_AT
from gateway.errors import ApiError
from gateway.protocols.deepgram.controls import Controls
from gateway.protocols.deepgram.messages import Messages
from gateway.protocols.deepgram.request import DEEPGRAM, SpeakQuery, read_query
from gateway.protocols.dialogues.socket import DialogueSocket


class SpeakLink(DialogueSocket):
    """One socket."""

    protocol = DEEPGRAM
    messages: ClassVar[Messages]
    """What its client may say."""

    def __init__(self, socket: ClientSocket, query: SpeakQuery, caller: Caller) -> None:
        self._model = query.model
        self._controls = Controls()
        super().__init__(socket, query.to_start(), query.streamed_format, caller, self._controls)

    @abstractmethod
    def _follow(self, message: Any) -> None:
        """Do what the client says. Raises ApiError, which it is warned of."""

    def _obey(self, message: str) -> None:
        self._follow(self.messages.read(message))

    # ----------------------------------------------------------------------------------------- what is heard

    def idle(self) -> None:
        """Pings are a sign of life: clients send them by themselves, and no KeepAlive."""
        pinged_at = self._socket.connection.scope["extensions"].get(PINGED_AT, -math.inf)
        if pinged_at > asyncio.get_running_loop().time() - self._socket.gateway.settings.live_idle_seconds:
            self._dialogue.keep_alive()

    @property
    def _facts(self) -> dict[str, str]:
        """Facts about the connection, and the voice that speaks."""
        return {"request_id": self._socket.request_id, "model_name": self._model, "model_version": "1"}

    @property
    def _model_uuid(self) -> str:
        return str(uuid.uuid5(uuid.NAMESPACE_URL, self._model))

    def _warn(self, code: str, message: str) -> None:
        self._tell("Warning", code=code.upper(), description=message, warn_msg=message)

    def _last_words(self, problem: ApiError) -> str:
        return _message("Error", code=problem.code.upper(), description=problem.message)

    def _tell(self, kind: str, **fields: Any) -> None:
        self._socket.put(_message(kind, **fields))


async def serve_link(
    websocket: WebSocket, link: Callable[[ClientSocket, SpeakQuery, Caller], SpeakLink]
) -> None:
    """Serve one client."""

    async def ask(caller: Caller) -> Serve:
        query = await read_query(websocket.query_params, websocket.app.state.gateway)
        query.to_start()
        return lambda socket: link(socket, query, caller).run()

    await serve_checked(websocket, ask)


def _message(kind: str, **fields: Any) -> str:
    return json.dumps({"type": kind, **fields})
