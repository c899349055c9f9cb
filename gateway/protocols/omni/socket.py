"""`WS /v1/audio/speech/stream`, as vLLM-Omni has it: text goes in piece by piece, files come out.

    client   {"type": "session.config", "voice": "ruth", "response_format": "wav"}
             {"type": "input.text", "text": "Good morn"}  {"type": "input.done"}  {"type": "session.close"}
    server   {"type": "audio.start", "utterance_index": 0, "sentence_index": 0, "sentence_text": "...", ...}
             a file in a binary message, or pcm in several
             {"type": "audio.done", ...}  {"type": "session.done", ...}  {"type": "error", "message": "..."}

The connection's task reads; what is spoken after one configuration is a dialogue in a task of its own.
"""

from __future__ import annotations

import asyncio
import contextlib

from fastapi import APIRouter, WebSocket
from starlette.websockets import WebSocketDisconnect

from gateway.api.transfer.client_socket import ClientSocket, serve_caller
from gateway.callers.identity import Caller
from gateway.errors import ApiError
from gateway.protocols.dialogues.contexts import Contexts
from gateway.protocols.omni.messages import Close, Config, Done, Input, Message, read_message
from gateway.protocols.omni.speaker import Speaker, error_message
from gateway.protocols.openai.request import known_voice
from gateway.protocols.openai.speech import are_followed
from gateway.voices.catalog import served_models

router = APIRouter()


async def speech_stream(websocket: WebSocket) -> None:
    """Serve one client."""
    await serve_caller(websocket, lambda socket, caller: Connection(socket, caller).run())


router.add_websocket_route("/v1/audio/speech/stream", speech_stream, "omni_speech_stream")


class Connection:
    """One socket."""

    def __init__(self, socket: ClientSocket, caller: Caller) -> None:
        self._socket, self._caller = socket, caller
        self._contexts: Contexts[Speaker] = Contexts(socket.request_id, self._ended)
        self._speaker: Speaker | None = None

    async def run(self) -> None:
        """Returns when the socket is closed. Raises WebSocketDisconnect when the client closed it."""
        problem = await self._socket.outcome(self._serve())
        await self._socket.close(problem, problem and error_message(problem.code, problem.message))

    async def _serve(self) -> None:
        async with self._contexts, self._socket.interruption:
            await self._read()
            await self._say_the_rest()

    async def _read(self) -> None:
        """Until the client wants no more. The first message has to be right, a later one that is wrong is
        answered.
        """
        await self._configure(read_message(await self._socket.first(self._socket.receive_text())))
        while True:
            try:
                message = read_message(await self._socket.receive_text())
                if isinstance(message, Close):
                    return
                await self._follow(message)
            except ApiError as error:
                self._socket.put(error_message(error.code, error.message))

    async def _say_the_rest(self) -> None:
        """Unless the client leaves: a file would be made for nobody, and noticed when it is complete."""
        leaving = asyncio.create_task(self._leave())
        try:
            await self._contexts.finish(None)
        finally:
            leaving.cancel()

    async def _leave(self) -> None:
        try:
            while True:
                with contextlib.suppress(ApiError):
                    await self._socket.receive_text()
        except WebSocketDisconnect as gone:
            self._socket.interruption.end_with(gone)

    async def _follow(self, said: Message) -> None:
        match said:
            case Input():
                self._speaker.append(said.text)
            case Done():
                self._speaker.end_text()
            case Config() if self._speaker.amid_text:
                message = "session.config: a text has begun, which input.done ends"
                raise ApiError(422, "invalid_message", message, param="type")
            case Config():
                await self._configure(said)

    async def _configure(self, config: Message) -> None:
        """Speak so from now on, once all is said that came before."""
        if not isinstance(config, Config):
            raise ApiError(422, "invalid_message", "the first message is session.config", param="type")
        gateway, tenant = self._socket.gateway, self._caller.tenant
        start = config.to_start(served_models(gateway.pool))
        start.voice = await known_voice(gateway, config.voice, tenant)
        if start.instructions and not await are_followed(start.request("a"), gateway, tenant):
            start.instructions = None
        await self._contexts.finish(None)
        utterance = self._speaker.utterance if self._speaker else 0
        self._speaker = Speaker(self._socket, config, start, utterance)
        self._contexts.open("", self._speaker, self._caller)

    def _ended(self, id: str, failure: ApiError | None) -> None:
        if failure is not None:
            self._socket.interruption.end_with(failure)
