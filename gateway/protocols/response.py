"""A clip in an HTTP response while it is generated: as a file that grows, or in a protocol's own frames.

The response begins with the first audio, so whatever goes wrong before that is an ordinary error with its
status. After an error later on the connection is cut, with the protocol's last words where it has any: a
response that ends as if it were complete would be taken for the clip.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from gateway.api.connection import ClientGoneError, while_connected
from gateway.audio.encoders import Encoder, stream_encoder
from gateway.audio.formats import content_type_of
from gateway.callers.identity import Caller
from gateway.edge.outbox import SLOW_CLIENT, Outbox
from gateway.errors import ApiError
from gateway.protocols.clip import begin_clip
from gateway.requests import TtsRequest
from gateway.service import Gateway
from gateway.streams.interruption import Interruption
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


class SpeechResponse(Response, Listener):
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
        super().__init__()
        self._request = request
        self._order = order
        self._metrics = gateway.metrics
        self._noted = gateway.settings.provenance_note
        self._framing = framing or Framing()
        self._interruption = Interruption()
        self._outbox = Outbox(
            self._take, gateway.settings.client_buffer_bytes, on_failure=self._interruption.end_with
        )
        self._encoder: Encoder | None = None
        self._encode_seconds = 0.0
        self._encode_began: float | None = None
        self._sample_rate = 0
        self._send: Send | None = None
        self._begun = False
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

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer. Raises ApiError before anything was sent."""
        self._send = send
        with contextlib.suppress(ClientGoneError):
            await while_connected(self._request, self._serve())

    async def _serve(self) -> None:
        try:
            async with self._interruption:
                outcome = await self._synthesis.run()
                await self._outbox.flush()
                await self._finish(outcome)
        except ApiError as error:
            if not self._begun:
                raise
            if error.code != SLOW_CLIENT:
                await self._outbox.flush()
            # There is no end to the response, upon which the server cuts the connection.
            await self._write(self._framing.broken(error))
        finally:
            self._outbox.drop()

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
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

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

    async def _write(self, data: bytes) -> None:
        if not data:
            return
        if not self._begun:
            self._begun = True
            await self._send({"type": "http.response.start", "status": 200, "headers": self._head()})
        await self._send({"type": "http.response.body", "body": data, "more_body": True})

    def _head(self) -> list[tuple[bytes, bytes]]:
        media_type = self._framing.media_type or content_type_of(self._order.format, self._sample_rate)
        headers = {
            "Content-Type": media_type,
            "X-Accel-Buffering": "no",
            "X-Sample-Rate": str(self._sample_rate),
            "X-Seed": str(self._synthesis.seed),
            **self._facts,
        }
        return [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]
