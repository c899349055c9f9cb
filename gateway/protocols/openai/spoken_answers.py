"""Spoken answers as OpenAI's clients get them: a message with `audio`, or events with pieces of it."""

from __future__ import annotations

import asyncio
import base64
import secrets
from typing import Any

from starlette.responses import Response

from gateway.answers.order import AnswerOrder
from gateway.answers.writing import AnswerOutcome
from gateway.api.transfer.connection import CLIENT_GONE
from gateway.audio.formats import encode_clip
from gateway.protocols.openai.answers import Answers, AnswerStream, finished, told_whole
from gateway.protocols.openai.request import PCM_RATE
from gateway.protocols.openai.spoken import AudioOptions, Speaking, SpokenWhole, encoder_of


async def spoken_answer(answers: Answers, order: AnswerOrder, options: AudioOptions) -> Response:
    """Whole, or while it is written and spoken. Raises ApiError."""
    if answers.body.stream:
        return SpokenStream(answers, order, options)
    return await _whole(answers, order, options)


def _audio_id() -> str:
    return f"audio_{secrets.token_hex(12)}"


async def _whole(answers: Answers, order: AnswerOrder, options: AudioOptions) -> Response:
    gateway = answers.gateway
    kept = SpokenWhole(min(gateway.settings.max_clip_seconds, gateway.settings.max_audio_seconds))
    speaking = Speaking(
        gateway,
        answers.request_id,
        options,
        answers.form.protocol,
        answers.body.priority,
        kept.text,
        kept.audio,
    )
    (writing,) = answers.writings([order], [speaking])
    outcome = await finished(answers, speaking.run(writing, answers.caller))
    if outcome is None:
        return Response(status_code=CLIENT_GONE)
    noted = gateway.settings.provenance_note
    file = await asyncio.to_thread(
        encode_clip, b"".join(kept.pcm), PCM_RATE, options.file_format, noted=noted
    )
    audio = {
        "id": _audio_id(),
        "data": base64.b64encode(file).decode(),
        "expires_at": answers.created,
        "transcript": kept.transcript,
    }
    message = {"role": "assistant", "content": None, "refusal": None, "audio": audio}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": outcome.finish_reason}
    return told_whole(answers, [order], [outcome], [choice])


class SpokenStream(AnswerStream):
    """Server-sent events: pieces of the transcript as it is written, and of the file as it is spoken."""

    def __init__(self, answers: Answers, order: AnswerOrder, options: AudioOptions) -> None:
        self._speaking = Speaking(
            answers.gateway,
            answers.request_id,
            options,
            answers.form.protocol,
            answers.body.priority,
            on_text=self._said,
            on_audio=self._heard,
            caught_up=lambda: self._outbox.caught_up(),
            on_waiting=self.put_waiting,
        )
        self._encoder = encoder_of(options, answers.gateway)
        self._compressed = options.format not in ("wav", "pcm16")
        self._audio_id = _audio_id()
        self._opened = False
        super().__init__(answers, [order], [self._speaking])

    def _said(self, text: str) -> None:
        self._put_audio({"transcript": text})

    def _heard(self, pcm: bytes) -> None:
        self._outbox.put(pcm)

    def _put_audio(self, facts: dict[str, Any]) -> None:
        self.put_choice(0, {"delta": self._delta(facts), "logprobs": None}, None)

    def _delta(self, facts: dict[str, Any]) -> dict[str, Any]:
        first = {} if self._opened else {"role": "assistant", "content": None}
        self._opened = True
        return {**first, "audio": {"id": self._audio_id, **facts}}

    async def _outcomes(self) -> list[AnswerOutcome]:
        outcome = await self._speaking.run(self._writings[0], self.answers.caller)
        await self._outbox.flush()
        await self._write_audio(await self._encoded(self._encoder.finish))
        self._put_audio({"expires_at": self.answers.created})
        return [outcome]

    async def _take(self, piece: str | bytes) -> None:
        """Samples become bytes of the file in the order in which they come between events."""
        if isinstance(piece, str):
            await super()._take(piece)
        else:
            await self._write_audio(await self._encoded(self._encoder.encode, piece))

    async def _write_audio(self, data: bytes) -> None:
        if data:
            encoded = base64.b64encode(data).decode()
            content = {"delta": self._delta({"data": encoded}), "logprobs": None}
            await super()._take(self.choice_event(0, content, None))

    async def _encoded(self, work: Any, *arguments: bytes) -> bytes:
        return await asyncio.to_thread(work, *arguments) if self._compressed else work(*arguments)
