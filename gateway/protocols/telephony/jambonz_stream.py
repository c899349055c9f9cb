"""`WS /jambonz`: the streaming form of the same, see docs.jambonz.org, "Streaming WebSocket API".

    address  /jambonz?voice=ruth&language=en-US&sampleRate=8000
    server   {"type": "connect", "data": {"sample_rate": 8000, "base64_encoding": false}}
    jambonz  {"type": "stream", "text": "Good morning."}  {"type": "flush"}
             {"type": "clear"}  {"type": "stop"}
    server   raw s16le mono in binary messages, {"type": "error", "error": "..."}

A sentence is spoken when it is complete, the rest on `flush` or after a while. The socket stays open for the
rest of the call, however long nothing is said.
"""

from __future__ import annotations

import json
from typing import Annotated

from fastapi import APIRouter, WebSocket
from pydantic import ConfigDict, Field, ValidationError

from gateway.api.transfer.client_socket import ClientSocket, Serve, serve_checked
from gateway.callers.identity import Caller
from gateway.errors import ApiError, from_validation
from gateway.live.messages import Start
from gateway.protocols.dialogues.socket import DialogueSocket
from gateway.protocols.lenient import Lenient
from gateway.protocols.telephony.jambonz import JAMBONZ
from gateway.protocols.telephony.query import AgentQuery
from gateway.requests import Language, Text, fields_of

router = APIRouter()


class StreamQuery(AgentQuery):
    """What jambonz writes behind the address, and what is written there by hand."""

    model_config = ConfigDict(extra="ignore")

    language: Language | None = None
    sample_rate: Annotated[int, Field(ge=8000, le=48_000, alias="sampleRate")] = 8000

    def to_start(self) -> Start:
        """A live session."""
        return Start(type="start", **self.model_dump(exclude_none=True))


class Message(Lenient):
    """What jambonz says. Words of later versions mean nothing here."""

    type: str
    text: Text = ""


class JambonzSocket(DialogueSocket):
    """One call, which is one dialogue."""

    protocol = JAMBONZ

    def __init__(self, socket: ClientSocket, start: Start, caller: Caller) -> None:
        super().__init__(socket, start, "pcm", caller)

    def _greet(self) -> None:
        facts = {"sample_rate": self._start.sample_rate, "base64_encoding": False}
        self._socket.put(json.dumps({"type": "connect", "data": facts}))

    def _obey(self, message: str) -> None:
        try:
            said = Message.model_validate(fields_of(message))
        except ValidationError as error:
            raise from_validation(error.errors()) from error
        match said.type:
            case "stream" if said.text:
                self._dialogue.append(f"{said.text} ")  # pieces are whole words, whose outer blanks get lost
            case "flush":
                self._dialogue.flush(told=False)
            case "clear":
                self._dialogue.clear()
            case "stop":
                self._dialogue.cancel()

    def idle(self) -> None:
        """The call goes on; a client that has left answers no pings."""
        self._dialogue.keep_alive()

    def _warn(self, code: str, message: str) -> None:
        self._socket.put(_error(message))

    def _last_words(self, problem: ApiError) -> str:
        return _error(problem.message)


async def speak_for_jambonz_call(websocket: WebSocket) -> None:
    """Serve one call."""

    async def ask(caller: Caller) -> Serve:
        given = {name: value for name, value in websocket.query_params.items() if value}
        try:
            start = StreamQuery.model_validate(given).to_start()
        except ValidationError as error:
            raise from_validation(error.errors()) from error
        return lambda socket: JambonzSocket(socket, start, caller).run()

    await serve_checked(websocket, ask)


router.add_websocket_route("/jambonz", speak_for_jambonz_call, "jambonz_stream")


def _error(message: str) -> str:
    return json.dumps({"type": "error", "error": message})
