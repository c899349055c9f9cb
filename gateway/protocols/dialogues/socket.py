"""One dialogue over one socket: messages come in, raw audio goes out in binary ones."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from gateway.api.transfer.client_socket import ClientSocket
from gateway.audio.encoders import stream_encoder
from gateway.callers.identity import Caller
from gateway.errors import ApiError
from gateway.live.messages import Start
from gateway.protocols.dialogues.dialogue import Dialogue
from gateway.protocols.dialogues.hearing import DialogueListener
from gateway.protocols.tags import Tags


class DialogueSocket(DialogueListener):
    """One socket, in the words of a protocol."""

    protocol: ClassVar[str]

    def __init__(
        self, socket: ClientSocket, start: Start, format: str, caller: Caller, tags: Tags | None = None
    ) -> None:
        """`start` names the sample rate. `format`: of the audio, without a container."""
        self._socket = socket
        self._start = start
        self._encoder = stream_encoder(format, start.sample_rate, noted=False)
        self._sample_bytes = 2 if format == "pcm" else 1
        self._dialogue = Dialogue(socket.gateway, socket.request_id, start, self.protocol, self, tags)
        self._caller = caller

    async def run(self) -> None:
        """Returns when the socket is closed. Raises WebSocketDisconnect when the client closed it."""
        problem = await self._socket.outcome(self._serve())
        await self._socket.close(problem, problem and self._last_words(problem))

    @abstractmethod
    def _greet(self) -> None:
        """The first message."""

    @abstractmethod
    def _obey(self, message: str) -> None:
        """Do what the client says. Raises ApiError, which it is warned of."""

    @abstractmethod
    def _warn(self, code: str, message: str) -> None:
        """Of something that went wrong; the dialogue goes on."""

    @abstractmethod
    def _last_words(self, problem: ApiError) -> str:
        """Why the dialogue ends."""

    async def _speak(self) -> None:
        """Until the client wants no more and all is said."""
        await self._dialogue.run()

    async def _serve(self) -> None:
        self._dialogue.open(self._caller)
        self._greet()
        await self._socket.reading(self._read, self._socket.flushed(self._speak()))

    async def _read(self) -> None:
        """Take messages until the client leaves. A wrong one is answered; the dialogue goes on."""
        while True:
            try:
                self._obey(await self._socket.receive_text())
            except ApiError as error:
                self._warn(error.code, error.message)

    # ----------------------------------------------------------------------------------------- what is heard

    def audio(self, pcm: bytes) -> None:
        """The next samples."""
        self._socket.outbox.put(self._encoder.encode(pcm))

    def drop_audio(self) -> int:
        """What has not left yet will not; in samples."""
        return self._socket.outbox.drop_audio() // self._sample_bytes

    def refused(self, error: dict[str, Any]) -> None:
        """A sentence was not spoken."""
        self._warn(error["code"], error["message"])
