"""A clip that is sent while it is generated: as a file that grows, or as OpenAI's server-sent events.

The response begins with the first audio, so whatever goes wrong before that is an ordinary error with its
status. What goes wrong later is an event `speech.audio.error`, or a connection that is cut: a file that ends
as if it were complete would be taken for the clip.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import time
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from gateway.api.connection import ClientGoneError, while_connected
from gateway.audio.encoders import Encoder, stream_encoder
from gateway.audio.formats import CONTENT_TYPES
from gateway.audio.note import note_headers
from gateway.edge.outbox import SLOW_CLIENT, Outbox
from gateway.errors import ApiError
from gateway.metrics import Metrics
from gateway.settings import GatewaySettings
from gateway.streams.interruption import Interruption
from gateway.synthesis.synthesis import Outcome, Synthesis

_UNCOMPRESSED = ("pcm", "wav")
EVENT_STREAM = "text/event-stream"


class SpeechResponse(Response):
    """Runs `synthesis`, which is set before the response is used, and is its listener."""

    def __init__(
        self, request: Request, format: str, metrics: Metrics, settings: GatewaySettings, events: bool = False
    ) -> None:
        """`events`: as server-sent events."""
        super().__init__()
        self._request = request
        self._format = format
        self._metrics = metrics
        self._noted = settings.provenance_note
        self._events = events
        self._interruption = Interruption()
        self._outbox = Outbox(
            self._send_pcm, settings.client_buffer_bytes, on_failure=self._interruption.end_with
        )
        self._encoder: Encoder | None = None
        self._encode_seconds = 0.0
        self._sample_rate = 0
        self._send: Send | None = None
        self._begun = False
        self.extra_headers = note_headers(self._noted)
        self.synthesis: Synthesis | None = None

    # ------------------------------------------------------------------------------------------ what is heard

    def queued(self, ticket_id: str, position: int, eta_seconds: float | None) -> None:
        """Nobody to tell: the response has not begun."""

    def started(self, worker_id: str, sample_rate: int) -> None:
        """The rate of the file is known."""
        self._sample_rate = sample_rate

    def audio(self, pcm: bytes) -> None:
        """Into the file, and out."""
        self._outbox.put(pcm)

    def resumable(self, token: str, samples: int) -> None:
        """Nobody to tell."""

    # --------------------------------------------------------------------------------------------- the answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer. Raises ApiError before anything was sent."""
        self._send = send
        with contextlib.suppress(ClientGoneError):
            await while_connected(self._request, self._serve())

    async def _serve(self) -> None:
        try:
            async with self._interruption:
                outcome = await self.synthesis.run()
                await self._outbox.flush()
                await self._finish(outcome)
        except ApiError as error:
            if not self._begun:
                raise
            if error.code != SLOW_CLIENT:
                await self._outbox.flush()
            await self._break_off(error)
        finally:
            self._outbox.drop()

    async def _send_pcm(self, pcm: str | bytes) -> None:
        if self._encoder is None:
            self._encoder = stream_encoder(self._format, self._sample_rate, noted=self._noted)
        await self._send_piece(await self._encoded(self._encoder.encode, pcm))

    async def _finish(self, outcome: Outcome) -> None:
        await self._send_piece(await self._encoded(self._encoder.finish))
        self._metrics.encode_seconds.labels(self._format).observe(self._encode_seconds)
        if self._events:
            await self._send_event({"type": "speech.audio.done", "usage": self._usage(outcome)})
        await self._write(b"", more=False)

    async def _encoded(self, work: Any, *arguments: bytes) -> bytes:
        if self._format in _UNCOMPRESSED:
            return work(*arguments)
        began_at = time.perf_counter()
        data = await asyncio.to_thread(work, *arguments)
        self._encode_seconds += time.perf_counter() - began_at
        return data

    def _usage(self, outcome: Outcome) -> dict[str, int]:
        """What was taken in and given out: characters of text, and patches of audio."""
        patch_seconds = self.synthesis.clip.model.patch_seconds
        characters = len(self.synthesis.clip.request.text)
        patches = round(outcome.audio_seconds / patch_seconds)
        return {"input_tokens": characters, "output_tokens": patches, "total_tokens": characters + patches}

    async def _break_off(self, error: ApiError) -> None:
        if not self._events:
            return  # without an end to the response, upon which the server cuts the connection
        await self._send_event({"type": "speech.audio.error", **error.to_dict()})
        await self._write(b"", more=False)

    # ----------------------------------------------------------------------------------------------- the wire

    async def _send_piece(self, data: bytes) -> None:
        if not data:
            return
        if self._events:
            await self._send_event({"type": "speech.audio.delta", "audio": base64.b64encode(data).decode()})
        else:
            await self._write(data)

    async def _send_event(self, event: dict[str, Any]) -> None:
        text = f"event: {event['type']}\ndata: {json.dumps(event, separators=(',', ':'))}\n\n"
        await self._write(text.encode())

    async def _write(self, data: bytes, more: bool = True) -> None:
        if not self._begun:
            self._begun = True
            await self._send({"type": "http.response.start", "status": 200, "headers": self._head()})
        await self._send({"type": "http.response.body", "body": data, "more_body": more})

    def _head(self) -> list[tuple[bytes, bytes]]:
        content_type = EVENT_STREAM if self._events else content_type_of(self._format, self._sample_rate)
        headers = {
            "Content-Type": content_type,
            "X-Accel-Buffering": "no",
            "X-Sample-Rate": str(self._sample_rate),
            "X-Seed": str(self.synthesis.clip.seed),
            **self.extra_headers,
        }
        return [(name.lower().encode(), value.encode("latin-1")) for name, value in headers.items()]


def content_type_of(format: str, sample_rate: int) -> str:
    """The media type; for PCM with what a player has to know."""
    if format == "pcm":
        return f"{CONTENT_TYPES[format]};rate={sample_rate};channels=1"
    return CONTENT_TYPES[format]
