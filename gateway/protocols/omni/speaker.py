"""What is spoken after one configuration, and what its client hears of it.

A file stands between `audio.start` and `audio.done`, sent whole or, as pcm, while it is generated. It holds a
sentence or all text up to an `input.done`, after which comes `session.done`.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from typing import Any

from gateway.api.transfer.client_socket import ClientSocket
from gateway.audio.formats import encode_clip
from gateway.edge.outbox import Outbox
from gateway.errors import ApiError
from gateway.live.messages import Start
from gateway.live.session.states import check_appended
from gateway.protocols.dialogues.dialogue import Dialogue
from gateway.protocols.dialogues.hearing import DialogueListener
from gateway.protocols.omni.messages import Config
from sockets.outbox import send

OMNI = "vllm-omni"
"""The protocol's name, in metrics and sessions."""
_ALL = 1 << 40
"""Bytes of samples that are counted elsewhere."""
_END_OF_FILE = ""
"""Where in line a file ends: its `audio.done` is written once its size is known."""


class Speaker(DialogueListener):
    """A dialogue."""

    def __init__(self, socket: ClientSocket, config: Config, start: Start, utterance: int) -> None:
        """`utterance`: how many texts were ended on this socket before."""
        self._socket, self._config = socket, config
        self._settings = socket.gateway.settings
        self.dialogue = Dialogue(socket.gateway, socket.request_id, start, OMNI, self)
        most = self._settings.client_buffer_bytes if config.stream_audio else _ALL
        self._outbox = Outbox(self._take, most, on_failure=socket.interruption.end_with)
        self._whole_text = config.split_granularity == "none"
        self._pieces: list[str] = []
        """Of a text whose end has not come yet, where that is waited for."""
        self._characters = 0
        """Of those."""
        self._texts: deque[str] = deque()
        """Those that are being spoken, or will be."""
        self.amid_text = False
        """Whether text came since the last `input.done`."""
        self.utterance = utterance
        self._sentences = 0
        """That were begun since the last `session.done`."""
        self._open = False
        """Whether the client was told of the beginning of one, and not of its end."""
        self._rate = start.sample_rate or 0
        self._ends: deque[dict[str, Any]] = deque()
        """The `audio.done` of files that are not all sent."""
        self._bytes = 0
        """Sent of the file that is next to end."""
        self._pcm: list[bytes] = []
        """Of a file that is sent whole."""
        self._held = 0
        """Bytes of samples of all such files that are not sent yet."""

    async def run(self) -> None:
        """Until all is said, and sent. Raises ApiError."""
        try:
            await self.dialogue.run()
            await self._outbox.flush()
        finally:
            self._outbox.drop()

    # ---------------------------------------------------------------------------------------- from the client

    def append(self, text: str) -> None:
        """More text. Raises ApiError when too much waits, and goes on."""
        if self._whole_text:
            self._check_room(text)
            self._pieces.append(text)
            self._characters += len(text)
            self.dialogue.keep_alive()
        else:
            self.dialogue.append(text)
        self.amid_text |= bool(text)

    def _check_room(self, text: str) -> None:
        most = self._settings.max_clip_characters
        if not self._config.stream_audio and self._characters + len(text) > most:
            message = f"a file that is sent whole has at most {most} characters: ask for stream_audio"
            raise ApiError(422, "text_too_long", message, param="text")
        waiting = self.dialogue.waiting_characters + self._characters
        check_appended(text, waiting, self._settings.max_text_characters, stopping=False)

    def end_text(self) -> None:
        """Say what is left. Raises ApiError."""
        text = "".join(self._pieces)
        self._pieces, self._characters, self.amid_text = [], 0, False
        self._texts.append(text)
        try:
            if text:
                self.dialogue.append(text)
            self.dialogue.flush()
        except ApiError:
            self._texts.pop()
            raise

    # ------------------------------------------------------------------------------------------ what is heard

    def started(self, worker_id: str, sample_rate: int) -> None:
        """It has a slot."""
        self._rate = sample_rate

    def began(self, sentence: str) -> None:
        """A sentence is being spoken, which may be one of several in a file."""
        if self._open:
            return
        self._open = True
        text = self._texts[0] if self._whole_text and self._texts else sentence
        facts: dict[str, Any] = {"sentence_text": text, "format": self._config.response_format}
        if self._config.response_format == "pcm":
            facts |= {"sample_rate": self._rate, "channels": 1}
        self._outbox.put(json.dumps(self._message("audio.start", sentence_index=self._sentences, **facts)))

    def audio(self, pcm: bytes) -> None:
        """The next samples. Raises ApiError where they are more than one holds for a client."""
        if not self._open:
            return
        if not self._config.stream_audio:
            self._held += len(pcm)
            if self._held > 2 * self._rate * self._settings.max_clip_seconds:
                message = (
                    f"files of {self._settings.max_clip_seconds:g} s are held at most: ask for stream_audio"
                )
                raise ApiError(422, "text_too_long", message, param="text")
        self._outbox.put(pcm)

    def spoke(self) -> None:
        """A sentence is spoken."""
        if not self._whole_text:
            self._end_file()

    def flushed(self) -> None:
        """All of a text is."""
        self._end_file()
        self._texts.popleft()
        self._outbox.put(json.dumps(self._message("session.done", total_sentences=self._sentences)))
        self.utterance += 1
        self._sentences = 0

    def refused(self, error: dict[str, Any]) -> None:
        """A sentence was not spoken, which ends nothing."""
        self._outbox.put(error_message(error["code"], error["message"]))

    def drop_audio(self) -> int:
        """What is not encoded yet will not be; in samples."""
        return self._outbox.drop_audio() // 2

    def _end_file(self) -> None:
        if self._open:
            self._open = False
            self._ends.append(self._message("audio.done", sentence_index=self._sentences))
            self._outbox.put(_END_OF_FILE)
            self._sentences += 1

    def _message(self, kind: str, **facts: Any) -> dict[str, Any]:
        return {"type": kind, "utterance_index": self.utterance, **facts}

    # ------------------------------------------------------------------------------------------- on its way

    async def _take(self, piece: str | bytes) -> None:
        """The next message, or samples."""
        if piece == _END_OF_FILE:
            if self._pcm:
                await self._send_file()
            sizes = {"total_bytes": self._bytes, "error": not self._bytes}
            self._socket.put(json.dumps(self._ends.popleft() | sizes))
            self._bytes = 0
        elif isinstance(piece, str):
            self._socket.put(piece)
        elif self._config.stream_audio:
            self._bytes += len(piece)
            self._socket.put(piece)
        else:
            self._pcm.append(piece)

    async def _send_file(self) -> None:
        """However large it is: the next one waits for it."""
        pcm, self._pcm = b"".join(self._pcm), []
        noted, format = self._settings.provenance_note, self._config.response_format
        file = await asyncio.to_thread(encode_clip, pcm, self._rate, format, noted=noted)
        self._bytes = len(file)
        await self._socket.outbox.flush()
        await send(self._socket.connection, file)
        self._held -= len(pcm)


def error_message(code: str, message: str) -> str:
    """`code` is not vLLM-Omni's, whose clients pass over it."""
    return json.dumps({"type": "error", "message": message, "code": code})
