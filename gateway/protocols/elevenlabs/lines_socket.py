"""`/v1/text-to-dialogue/stream-input` and `.../multi-stream-input`: how newer models of ElevenLabs are asked.

What is said stands in `inputs`, each with its voice. Names of fields have no capitals, times of characters
count from where the audio is that a message brings, and `is_final_audio_for_turn` follows what was flushed.
"""

from __future__ import annotations

import json
import re
from typing import Any

from fastapi import APIRouter, WebSocket

from gateway.live.messages import Start
from gateway.protocols.dialogues.cast import Cast
from gateway.protocols.elevenlabs.context import Context
from gateway.protocols.elevenlabs.messages import LinesMessage, Message, read_lines
from gateway.protocols.elevenlabs.request import known_voice
from gateway.protocols.elevenlabs.socket import Connection, serve
from gateway.protocols.elevenlabs.timing import in_milliseconds
from gateway.timing.part import PartTimes

router = APIRouter()

_PATH = "/v1/text-to-dialogue"
_TURN_ENDS = "turn"
"""Between the audio and its times: all before a flush is on its way."""
_PASSED = "passed "
"""There, too: milliseconds of audio behind the times that were told before."""


async def lines_input(websocket: WebSocket) -> None:
    """One stretch of speech."""
    await serve(websocket, lambda socket: LinesConnection(socket, multi=False))


async def multi_lines_input(websocket: WebSocket) -> None:
    """Several, each with a `context_id`."""
    await serve(websocket, lambda socket: LinesConnection(socket, multi=True))


router.add_websocket_route(_PATH + "/stream-input", lines_input, "elevenlabs-lines-input")
router.add_websocket_route(_PATH + "/multi-stream-input", multi_lines_input, "elevenlabs-multi-lines-input")


class LinesContext(Context):
    """Of several voices; knows how much audio has come before its times of characters.

    Some clients find the place of times by the audio that they have got, others by adding up the times that
    they were told: for those a `normalized_alignment` without a character tells first how long the audio is.
    """

    tells_turns = True
    _samples = 0
    _samples_before = 0
    """Of the voices that have ended."""
    _told_ms = 0.0
    """Up to where in the audio times were told."""

    def _begin(self, start: Start) -> Cast:
        if not self._options.tells_times:
            start = start.model_copy(update={"timestamps": "none"})
        most_characters = self._gateway.settings.max_text_characters
        return Cast(super()._begin, start, self._turned, most_characters)

    def _turned(self) -> None:
        self._samples_before = self._samples

    def audio(self, pcm: bytes) -> None:
        """To be encoded, and sent."""
        self._samples += len(pcm) // 2
        super().audio(pcm)

    def flushed(self) -> None:
        """A turn is on its way."""
        self._outbox.put(_TURN_ENDS)

    async def _take(self, piece: str | bytes) -> None:
        if piece == _TURN_ENDS:
            self._send({"isFinalAudioForTurn": True, "contextId": self._id})
        elif isinstance(piece, str) and piece.startswith(_PASSED):
            passed = [int(piece.removeprefix(_PASSED))]
            times = {"chars": [""], "char_start_times_ms": [0], "char_durations_ms": passed}
            self._send({"audio": "", "normalized_alignment": times, "contextId": self._id})
        else:
            await super()._take(piece)

    def _tell(self, audio: str | None, alignment: Any = None, source: str | None = None) -> None:
        super()._tell(audio or "", alignment, source)

    def timed(self, part: PartTimes) -> None:
        """Behind the audio, and so before the place of a message."""
        alignment = in_milliseconds(part, 0.0)
        here = round(1000 * (self._samples - self._samples_before) / self._options.output.sample_rate)
        alignment["charStartTimesMs"] = [start - here for start in alignment["charStartTimesMs"]]
        before = 1000 * self._samples_before / self._options.output.sample_rate
        self._outbox.put(f"{_PASSED}{round(before + here - self._told_ms)}")
        self._told_ms = before + 1000 * part.end_seconds
        self._outbox.put(json.dumps({"source": part.source, "alignment": alignment}))


def as_text(message: dict[str, Any]) -> str:
    """A message as it goes over the wire."""
    said = {name: value for name, value in message.items() if value is not None and name != _UNUSED}
    return json.dumps(_without_capitals(said), separators=(",", ":"))


_UNUSED = "normalizedAlignment"


def _without_capitals(fields: dict[str, Any]) -> dict[str, Any]:
    return {
        re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", name): _without_capitals(value)
        if isinstance(value, dict)
        else value
        for name, value in fields.items()
    }


class LinesConnection(Connection):
    """One socket."""

    read = staticmethod(read_lines)
    as_text = staticmethod(as_text)
    context = LinesContext
    farewell_seconds = None

    async def _prepare(self) -> None:
        """Each message names its voice."""

    async def _obey(self, message: LinesMessage) -> None:
        id = self._id(message)
        context = self._contexts.get(id)
        for line in message.inputs or ():
            voice = await known_voice(self._gateway, line.voice_id)
            if context is None:
                context = self._open(id, voice, message.voice_settings)
            elif line.new_turn:
                self._speak(context, Message(flush=True))
            if not context.dialogue.finishing:
                context.dialogue.turn_to(voice)
            self._speak(context, Message(text=line.text))
        if context is None:
            if message.close_context:
                self._ended(id, None)
            return
        self._speak(context, Message(flush=message.flush))
        if message.keep_alive:
            context.dialogue.keep_alive()
        if message.close_context:
            self._close(id, context)
