"""An answer that is spoken while it is written: `"modalities": ["text", "audio"]` of a chat.

What a text model writes goes, sentence by sentence, into a live session of a speech model, so the first audio
comes after the first sentence. Two slots are used, of a worker of each kind; when either worker dies another
one goes on. Text that the speech has not come to yet waits here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from gateway.adapters.naming import named_model
from gateway.answers.answer import Answer, Written
from gateway.answers.several import together
from gateway.answers.thinking import Aloud
from gateway.answers.writing import AnswerOutcome, Writing
from gateway.audio.encoders import stream_encoder
from gateway.callers.identity import Caller
from gateway.errors import ApiError
from gateway.live.messages import Start
from gateway.protocols.dialogues.dialogue import Dialogue
from gateway.protocols.dialogues.hearing import DialogueListener
from gateway.protocols.lenient import Lenient
from gateway.protocols.openai.request import PCM_RATE, known_voice, voice_id
from gateway.requests import Name
from gateway.service import Gateway
from gateway.voices.catalog import served_models

_APPENDED_CHARACTERS = 400
"""Characters that go into the live session before they are spoken: a long sentence, half a minute."""
_FORMATS = {"pcm16": "pcm"}
"""OpenAI's names for formats that have others here."""


class AudioOptions(Lenient):
    """How an answer is spoken."""

    voice: Annotated[Name, BeforeValidator(voice_id)] = "default"
    """A name or id, or an object with it as its `id`."""
    format: Literal["wav", "mp3", "flac", "opus", "aac", "pcm16"] = "wav"
    """pcm16: s16le at 24 kHz, without a header."""
    model: Name | None = None
    """Which speech model speaks, where there are several; "model:adapter" with an adapter."""
    adapter: Name | None = None
    """An adapter to speak with, by id or name."""

    @property
    def file_format(self) -> str:
        """As formats are called here."""
        return _FORMATS.get(self.format, self.format)


class Speaking(DialogueListener):
    """A `Reader` of one answer, which is spoken meanwhile."""

    def __init__(
        self,
        gateway: Gateway,
        request_id: str,
        options: AudioOptions,
        protocol: str,
        priority: str | None,
        on_text: Callable[[str], None],
        on_audio: Callable[[bytes], None],
        caught_up: Callable[[], Awaitable[None]] | None = None,
        on_waiting: Callable[[int, float | None, bool], None] = lambda position, eta_seconds, speech: None,
    ) -> None:
        """`on_text`: what will be said of the answer; `on_audio`: s16le samples at `PCM_RATE`. `caught_up`:
        returns when the client has read most of it, for which the speech waits between two sentences.
        `on_waiting`: its place in line, and whether what waits is its speech.
        """
        self._gateway, self._options, self._priority = gateway, options, priority
        self._request_id, self._protocol = request_id, protocol
        self._on_text, self._on_audio, self._caught_up = on_text, on_audio, caught_up
        self._on_waiting = on_waiting
        self._changed = asyncio.Event()
        self._answer: Answer | None = None
        self._aloud: Aloud | None = None
        """Once it is known whether the answer begins within a thought."""
        self._dialogue: Dialogue | None = None
        self._waiting = ""
        """Text that the live session has not got yet."""
        self._written = False

    async def run(self, writing: Writing, caller: Caller) -> AnswerOutcome:
        """Returns when the answer is written and spoken. Raises ApiError."""
        start = await self._start(caller)
        self._dialogue = Dialogue(
            self._gateway, self._request_id, start, self._protocol, self, accompanies=True
        )
        self._dialogue.open(caller)
        try:
            results = await together(self._write(writing), self._dialogue.run(), self._feed())
        finally:
            self._dialogue = self._answer = None  # which refer to this
        return results[0]

    async def _start(self, caller: Caller) -> Start:
        """Raises ApiError, before anything is written, where nobody could speak it."""
        gateway, options = self._gateway, self._options
        voice = await known_voice(gateway, options.voice, caller.tenant)
        named = named_model(options.model, served_models(gateway.pool))
        if named["model"] is None:
            named = {"model": options.model}
        start = Start(
            type="start",
            voice=voice,
            sample_rate=PCM_RATE,
            priority=self._priority,
            **{"adapter": options.adapter, **named},
        )
        speaker = await gateway.speaker_of(start.request("x"), caller.tenant)
        if problem := gateway.pool.why_unservable(speaker.requirement(start.model)):
            raise problem
        return start

    async def _write(self, writing: Writing) -> AnswerOutcome:
        self._answer = writing.answer
        outcome = await writing.run()
        self._dialogue.stand_alone()
        if self._aloud is not None:
            self._say(self._aloud.rest())
        self._written = True
        self._changed.set()
        return outcome

    # --------------------------------------------------------------------------------------- of the answer

    def waits(self, position: int, eta_seconds: float | None) -> None:
        """For its turn to be written."""
        self._on_waiting(position, eta_seconds, False)

    def wrote(self, written: Written) -> None:
        """More to say."""
        self._dialogue.persist()
        if self._aloud is None:
            self._aloud = Aloud(thinking=self._answer.thinking)
        self._say(self._aloud.add(written.text))

    def _say(self, text: str) -> None:
        if text:
            self._waiting += text
            self._on_text(text)
            self._changed.set()

    async def _feed(self) -> None:
        """Text goes into the live session as the speech, and the client, come near it."""
        dialogue = self._dialogue
        most = min(_APPENDED_CHARACTERS, self._gateway.settings.live_text_characters)
        while self._waiting or not self._written:
            await self._changed.wait()
            self._changed.clear()
            if self._caught_up is not None:
                await self._caught_up()
            room = most - dialogue.waiting_characters
            if self._waiting and room > 0:
                text, self._waiting = self._waiting[:room], self._waiting[room:]
                dialogue.append(text)
        dialogue.finish()

    # --------------------------------------------------------------------------------------- of its speech

    def queued(self, ticket_id: str, position: int, eta_seconds: float | None) -> None:
        """For its turn to be spoken."""
        self._on_waiting(position, eta_seconds, True)

    def audio(self, pcm: bytes) -> None:
        """The next samples."""
        self._on_audio(pcm)

    def spoke(self) -> None:
        """There is room for more text."""
        self._changed.set()

    def refused(self, error: dict[str, Any]) -> None:
        """A sentence was not spoken; the answer goes on."""


def encoder_of(options: AudioOptions, gateway: Gateway) -> Any:
    """Samples at `PCM_RATE` to what a client asked for, as it comes."""
    return stream_encoder(options.file_format, PCM_RATE, noted=gateway.settings.provenance_note)


class SpokenWhole:
    """Transcript and samples of an answer that is sent when all of it is there."""

    def __init__(self, longest_seconds: float) -> None:
        self.transcript = ""
        self.pcm: list[bytes] = []
        self._bytes_left = round(2 * PCM_RATE * longest_seconds)
        self._longest_seconds = longest_seconds

    def text(self, text: str) -> None:
        """Kept."""
        self.transcript += text

    def audio(self, pcm: bytes) -> None:
        """Kept too. Raises ApiError when there is more than a file that is sent whole may have."""
        self._bytes_left -= len(pcm)
        if self._bytes_left < 0:
            message = f"audio: at most {self._longest_seconds:g} s of speech are sent whole: ask for a stream"
            raise ApiError(422, "audio_too_long", message, param="audio")
        self.pcm.append(pcm)
