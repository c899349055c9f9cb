"""A clip in an HTTP response while it is generated: as a file that grows, or in a protocol's own frames.

`growing.py` says when the response begins, and how it ends when something goes wrong.
"""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

from starlette.requests import Request

from gateway.audio.encoders import Encoder, stream_encoder
from gateway.audio.formats import content_type_of
from gateway.callers.identity import Caller
from gateway.errors import ApiError
from gateway.protocols.clip import begin_clip
from gateway.protocols.growing import GrowingResponse
from gateway.requests import TtsRequest
from gateway.service import Gateway
from gateway.streams.listener import Listener
from gateway.synthesis.synthesis import Outcome
from gateway.timing.part import PartTimes

_UNCOMPRESSED = ("pcm", "wav")


class Framing:
    """What stands around the audio of a clip in the body. This one is the file itself."""

    media_type: str | None = None
    """None: the file's."""

    def timed(self, part: PartTimes) -> str:
        """When the words of a part were said, whose audio has come. Nothing where there is no place."""
        return ""

    def audio(self, data: bytes) -> bytes:
        """The next bytes of the file."""
        return data

    def end(self, outcome: Outcome, characters: int) -> bytes:
        """Behind the last of them. `characters`: of the text."""
        return b""

    def broken(self, error: ApiError) -> bytes:
        """Before the connection is cut."""
        return b""


def json_line(content: dict[str, Any]) -> bytes:
    """One of many, in a body of JSON lines."""
    return json.dumps(content, separators=(",", ":")).encode() + b"\n"


class SpeechResponse(GrowingResponse, Listener):
    """Runs the synthesis of `order`, and is its listener. Raises ApiError for who may not ask for it."""

    def __init__(
        self,
        request: Request,
        gateway: Gateway,
        order: TtsRequest,
        protocol: str,
        headers: dict[str, str],
        framing: Framing | None = None,
        caller: Caller | None = None,
    ) -> None:
        """`headers` are added to those that say what the clip is. `caller`: None for who sent `request`."""
        super().__init__(request, gateway)
        self._order = order
        self._metrics = gateway.metrics
        self._noted = gateway.settings.provenance_note
        self._framing = framing or Framing()
        self._encoder: Encoder | None = None
        self._encode_seconds = 0.0
        self._encode_began: float | None = None
        self._sample_rate = 0
        self._synthesis, facts = begin_clip(request, gateway, order, self, protocol, caller)
        self._facts = facts | headers

    # ------------------------------------------------------------------------------------------ what is heard

    def started(self, worker_id: str, sample_rate: int) -> None:
        """The rate of the file is known."""
        self._sample_rate = sample_rate

    def timed(self, part: PartTimes) -> None:
        """For the frames, in its place between the audio."""
        if said := self._framing.timed(part):
            self._outbox.put(said)

    def audio(self, pcm: bytes) -> None:
        """Into the file, and out."""
        self._outbox.put(pcm)

    @property
    def is_behind(self) -> bool:
        """Whether its client reads more slowly than the audio comes."""
        return self._outbox.is_behind

    async def caught_up(self) -> None:
        """When it has read most of it."""
        await self._outbox.caught_up()

    # --------------------------------------------------------------------------------------------- the answer

    async def _make(self) -> None:
        outcome = await self._synthesis.run()
        await self._outbox.flush()
        await self._finish(outcome)

    def _broken(self, error: ApiError) -> bytes:
        return self._framing.broken(error)

    async def _take(self, piece: str | bytes) -> None:
        """What is said of the times of a part, or audio."""
        if isinstance(piece, str):
            await self._write(piece.encode())
            return
        if self._encoder is None:
            self._encoder = stream_encoder(
                self._order.format, self._sample_rate, noted=self._noted, bit_rate=self._order.bit_rate
            )
        await self._send_piece(await self._encoded(self._encoder.encode, piece))

    async def _finish(self, outcome: Outcome) -> None:
        await self._send_piece(await self._encoded(self._encoder.finish))
        self._metrics.encode_seconds.labels(self._order.format).observe(self._encode_seconds)
        if self._encode_began is not None:
            span = self._synthesis.span.child("encode", self._encode_began, format=self._order.format)
            span.set(working_seconds=round(self._encode_seconds, 4))
            span.end()
        await self._write(self._framing.end(outcome, len(self._order.text)))

    async def _encoded(self, work: Any, *arguments: bytes) -> bytes:
        if self._order.format in _UNCOMPRESSED:
            return work(*arguments)
        if self._encode_began is None:
            self._encode_began = time.monotonic()
        began_at = time.perf_counter()
        data = await asyncio.to_thread(work, *arguments)
        self._encode_seconds += time.perf_counter() - began_at
        return data

    # ----------------------------------------------------------------------------------------------- the wire

    async def _send_piece(self, data: bytes) -> None:
        if data:
            await self._write(self._framing.audio(data))

    def _headers(self) -> dict[str, str]:
        media_type = self._framing.media_type or content_type_of(self._order.format, self._sample_rate)
        return {
            "Content-Type": media_type,
            "X-Sample-Rate": str(self._sample_rate),
            "X-Seed": str(self._synthesis.seed),
            **self._facts,
        }
