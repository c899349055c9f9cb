"""One connection of Wyoming.

    client  describe                          server  info
            synthesize {text, voice}                  audio-start, audio-chunk..., audio-stop
            synthesize-start {voice}
            synthesize-chunk {text}...                audio-start, audio-chunk...
            synthesize-stop                           audio-stop, synthesize-stopped

A client that streams sends the whole text once more before it stops, for servers that do not: it is ignored.
"""

from __future__ import annotations

import asyncio
import contextlib
import uuid
from typing import Any

import structlog
from pydantic import ValidationError
from starlette.requests import HTTPConnection

from gateway.api.voices.voices import visible_voices
from gateway.callers.identity import Caller
from gateway.edge.connections.keepalive import notice_vanishing
from gateway.edge.outbox import SLOW_CLIENT, Outbox
from gateway.errors import ApiError, from_validation
from gateway.live.messages import Start
from gateway.live.session.states import check_appended
from gateway.protocols.dialogues.dialogue import Dialogue
from gateway.protocols.dialogues.hearing import DialogueListener
from gateway.protocols.wyoming.events import Event, encode, read_event
from gateway.protocols.wyoming.markup import pieces
from gateway.service import Gateway
from gateway.streams.interruption import Interruption
from gateway.voices.catalog import spoken_languages
from sockets.at_once import Deadline
from telemetry.build import VERSION

logger = structlog.get_logger(__name__)

WYOMING = "wyoming"
"""The protocol's name, in metrics and sessions."""
_MADE_BY = {"name": "VoxFleet", "url": ""}
_HEARD_OUT_SECONDS = 1.0
_ASKED_SECONDS = 1.0
"""Seconds of silence after which a client that is not listened to is asked whether it is there."""


class Connection(DialogueListener):
    """One client; it hears one text after the other."""

    def __init__(self, gateway: Gateway, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._gateway = gateway
        self._settings = gateway.settings
        self._reader = reader
        self._writer = writer
        peer = writer.get_extra_info("peername") or ("", 0)
        self._head = HTTPConnection({"type": "http", "path": "", "headers": [], "client": tuple(peer[:2])})
        self._interruption = Interruption()
        self._outbox = Outbox(
            self._write, self._settings.client_buffer_bytes, on_failure=self._interruption.end_with
        )
        self._stall = Deadline(self._settings.client_stall_seconds)
        notice_vanishing(writer.transport, self._settings.client_stall_seconds)
        self._dialogue: Dialogue | None = None
        self._speaking: asyncio.Task[None] | None = None
        self._streams = False
        """Between synthesize-start and synthesize-stop."""
        self._markup: str | None = None
        """What has come of a text that is SSML; None: the text is none."""
        self._rate = 0
        self._samples = 0
        self._begun = False

    async def run(self) -> None:
        """Until the client leaves, or did something wrong."""
        try:
            async with self._interruption:
                await self._serve()
        except ApiError as error:
            if error.code != SLOW_CLIENT:
                with contextlib.suppress(OSError):
                    await self._outbox.flush()
                    await self._write(encode("error", {"text": error.message, "code": error.code}))
                    await self._hear_out()
        except OSError:
            logger.debug("a Wyoming client has left")
        except Exception:
            logger.exception("unhandled error", protocol=WYOMING)
        finally:
            self._outbox.drop()
            if self._speaking is not None:
                self._speaking.cancel()
                await asyncio.gather(self._speaking, return_exceptions=True)
            self._writer.close()

    async def _hear_out(self) -> None:
        """Say no more, and drop what still comes: a connection that is closed with bytes unread is reset, and
        its client loses what it was told last (RFC 1122, 4.2.2.13)."""
        self._check_there()
        self._writer.write_eof()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_HEARD_OUT_SECONDS):
                while await self._reader.read(1 << 16):
                    continue

    async def _serve(self) -> None:
        caller = self._gateway.callers.identify(self._head)
        while (event := await self._next()) is not None:
            await self._obey(event, caller)
        if self._reader.at_eof() and not self._streams:  # it has said all, and may still be there to hear it
            await self._spoken()
            await self._outbox.flush()

    async def _spoken(self) -> None:
        """Until the text of now is. Who has closed one side of a connection looks like who has left it, and
        nobody reads here what else there is to notice: only what is sent to somebody who has left fails."""
        while self._speaking is not None and not self._speaking.done():
            before = self._samples
            done, _ = await asyncio.wait({self._speaking}, timeout=_ASKED_SECONDS)
            if not done and self._samples == before:
                self._say("ping")

    async def _next(self) -> Event | None:
        limit_seconds = self._settings.live_idle_seconds if self._speaking is None else None
        try:
            async with asyncio.timeout(limit_seconds):
                return await read_event(self._reader, self._settings.max_message_bytes)
        except TimeoutError:
            return None

    async def _obey(self, event: Event, caller: Caller) -> None:
        match event.type:
            case "describe":
                self._say("info", {"tts": [await self._program()]})
            case "ping":
                self._say("pong", {"text": event.data.get("text")})
            case "synthesize" if not self._streams:
                await self._open(event, caller, streamed=False)
                self._take(_text_of(event))
                self._finish()
            case "synthesize-start":
                await self._open(event, caller, streamed=True)
                self._streams = True
            case "synthesize-chunk" if self._streams:
                self._take(_text_of(event))
            case "synthesize-stop" if self._streams:
                self._streams = False
                self._finish()

    async def _open(self, event: Event, caller: Caller, *, streamed: bool) -> None:
        """The next text, once the one before is spoken."""
        if self._streams:
            raise ApiError(400, "invalid_event", "synthesize-stop comes before the next synthesize-start")
        await self._spoken()
        self._samples, self._begun = 0, False
        self._markup = "" if event.data.get("text_format") == "ssml" else None
        self._dialogue = Dialogue(self._gateway, uuid.uuid4().hex, _start(event), WYOMING, self)
        self._dialogue.open(caller)
        self._speaking = asyncio.create_task(self._speak(self._dialogue, streamed))

    def _take(self, text: str) -> None:
        """The text, or more of it. Of SSML nothing is said before its end."""
        if self._markup is None:
            self._dialogue.append(text)
        else:
            check_appended(text, len(self._markup), self._settings.max_text_characters, stopping=False)
            self._markup += text

    def _finish(self) -> None:
        """All of the text is there."""
        for piece in pieces(self._markup) if self._markup is not None else ():
            if isinstance(piece, str):
                self._dialogue.append(piece)
            else:
                self._dialogue.append_silence(piece)
        self._dialogue.finish()

    async def _speak(self, dialogue: Dialogue, streamed: bool) -> None:
        try:
            await dialogue.run()
            if not self._begun:
                self._begin()
            self._say("audio-stop", {"timestamp": self._milliseconds})
            if streamed:
                self._say("synthesize-stopped")
            self._speaking = None
        except ApiError as error:
            self._interruption.end_with(error)

    async def _program(self) -> dict[str, Any]:
        voices = await visible_voices(self._head, self._gateway, admin=False)
        languages = spoken_languages(self._gateway.pool)
        described = [
            {
                "name": voice["id"],
                "description": voice["name"],
                "languages": [voice["language"]] if voice["language"] else languages,
                "attribution": _MADE_BY,
                "installed": True,
                "version": None,
                "speakers": None,
            }
            for voice in voices
            if voice["usable"]
        ]
        return {
            "name": "voxfleet",
            "description": "VoxFleet",
            "attribution": _MADE_BY,
            "installed": True,
            "version": VERSION,
            "voices": described,
            "supports_synthesize_streaming": True,
        }

    # ----------------------------------------------------------------------------------------- what is heard

    def started(self, worker_id: str, sample_rate: int) -> None:
        """The rate is known; it stays for the whole text."""
        self._rate = sample_rate

    def audio(self, pcm: bytes) -> None:
        """The next samples."""
        if not self._begun:
            self._begin()
        self._outbox.put(encode("audio-chunk", self._format | {"timestamp": self._milliseconds}, pcm))
        self._samples += len(pcm) // 2

    def refused(self, error: dict[str, Any]) -> None:
        """A sentence cannot be spoken, which is the end."""
        self._interruption.end_with(ApiError(422, error["code"], error["message"]))

    @property
    def _format(self) -> dict[str, int]:
        return {"rate": self._rate, "width": 2, "channels": 1}

    @property
    def _milliseconds(self) -> int:
        return 1000 * self._samples // self._rate if self._rate else 0

    def _begin(self) -> None:
        self._begun = True
        self._rate = self._rate or 24_000
        self._outbox.put(encode("audio-start", self._format | {"timestamp": 0}))

    def _say(self, kind: str, data: dict[str, Any] | None = None) -> None:
        self._outbox.put(encode(kind, data))

    async def _write(self, data: str | bytes) -> None:
        self._check_there()
        self._writer.write(data)
        self._stall.start(self._writer.transport)
        try:
            await self._writer.drain()
        finally:
            self._stall.stop()

    def _check_there(self) -> None:
        """Raises ConnectionResetError; of a connection that is closed uvloop raises RuntimeError."""
        if self._writer.is_closing():
            raise ConnectionResetError


def _start(event: Event) -> Start:
    """The voice that is asked for, by name or by language. Raises ApiError."""
    voice = event.data.get("voice")
    if voice is not None and not isinstance(voice, dict):
        raise ApiError(400, "invalid_value", "voice: is an object", param="voice")
    fields = {}
    if voice and voice.get("name"):
        fields = {"voice": voice["name"]}
    elif voice and voice.get("language"):
        fields = {"language": _hyphenated(voice["language"])}
    try:
        return Start.model_validate({"type": "start", **fields})
    except ValidationError as error:
        raise from_validation(error.errors()) from error


def _hyphenated(language: Any) -> Any:
    """Other servers of Wyoming have languages such as en_US."""
    return language.replace("_", "-") if isinstance(language, str) else language


def _text_of(event: Event) -> str:
    """Raises ApiError."""
    text = event.data.get("text")
    if not isinstance(text, str) or any("\ud800" <= character <= "\udfff" for character in text):
        raise ApiError(400, "invalid_value", "text: is no text", param="text")
    return text
