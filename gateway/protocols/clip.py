"""A request for a clip, whichever protocol it came by: who asks, what is recorded, and the clip as a file."""

from __future__ import annotations

import asyncio
import time

from starlette.requests import Request
from starlette.responses import Response

from gateway.api.transfer.connection import CLIENT_GONE, ClientGoneError, while_connected
from gateway.audio.formats import content_type_of, encode_clip
from gateway.audio.note import note_headers
from gateway.callers.identity import Caller
from gateway.requests import TtsRequest, check_limits
from gateway.service import Gateway
from gateway.sessions.witness import witness_clip
from gateway.streams.listener import Listener
from gateway.synthesis.synthesis import Outcome, Synthesis
from gateway.timing.part import PartTimes


def begin_clip(
    request: Request,
    gateway: Gateway,
    order: TtsRequest,
    listener: Listener,
    protocol: str,
    caller: Caller | None = None,
    *,
    longest_seconds: float | None = None,
    whole: bool = False,
) -> tuple[Synthesis, dict[str, str]]:
    """The synthesis of `order`, and what the answer's headers say of it already.

    `caller`: whose clip it is; None for whoever sent `request`. `longest_seconds`: less than other clips may
    have. `whole`: the listener hears nothing before the end of the clip. Raises ApiError: who asks is not
    known, or asks for too much.
    """
    caller = caller or gateway.callers.identify(request)
    witness = witness_clip(gateway.recorder, order, caller.tenant, listener, protocol=protocol)
    synthesis = Synthesis(
        gateway, order, request.state.request_id, witness, caller.standing(order), witness=witness,
        protocol=protocol, longest_seconds=longest_seconds, whole=whole,
    )  # fmt: skip
    headers = note_headers(gateway.settings.provenance_note)
    if witness.session_id is not None:
        headers["X-Session-Id"] = witness.session_id
    return synthesis, headers


class Collector(Listener):
    """The listener of a clip that is sent whole."""

    def __init__(self) -> None:
        self.chunks: list[bytes] = []
        self.parts: list[PartTimes] = []
        """Where the request asks for times."""

    def audio(self, pcm: bytes) -> None:
        """Kept until the clip is complete."""
        self.chunks.append(pcm)

    def timed(self, part: PartTimes) -> None:
        """Kept too."""
        self.parts.append(part)


async def finished_clip(
    request: Request,
    gateway: Gateway,
    order: TtsRequest,
    collector: Collector,
    protocol: str,
    caller: Caller | None = None,
    text_field: str = "text",
) -> tuple[Outcome, bytes, dict[str, str]]:
    """How it went, the whole file, and headers of the answer. Raises ApiError, ClientGoneError."""
    made = made_clip(request, gateway, order, collector, protocol, caller, text_field)
    return await while_connected(request, made)


async def made_clip(
    request: Request,
    gateway: Gateway,
    order: TtsRequest,
    collector: Collector,
    protocol: str,
    caller: Caller | None = None,
    text_field: str = "text",
) -> tuple[Outcome, bytes, dict[str, str]]:
    """The same for a client who is watched by somebody else. Raises ApiError."""
    check_limits(order, gateway.settings, text_field, whole=True)
    longest = min(gateway.settings.max_clip_seconds, gateway.settings.max_audio_seconds)
    synthesis, facts = begin_clip(
        request, gateway, order, collector, protocol, caller, longest_seconds=longest, whole=True
    )
    outcome = await synthesis.run()
    began_at = time.monotonic()
    pcm = b"".join(collector.chunks)
    noted = gateway.settings.provenance_note
    with synthesis.span.child("encode", format=order.format):
        file = await asyncio.to_thread(
            encode_clip, pcm, outcome.sample_rate, order.format, noted=noted, bit_rate=order.bit_rate
        )
    gateway.metrics.encode_seconds.labels(order.format).observe(time.monotonic() - began_at)
    return outcome, file, facts


async def whole_clip(
    request: Request,
    gateway: Gateway,
    order: TtsRequest,
    protocol: str,
    headers: dict[str, str],
    caller: Caller | None = None,
    text_field: str = "text",
) -> Response:
    """A response with the whole file, whose headers say how it went; `headers` are added. Raises ApiError."""
    try:
        outcome, file, facts = await finished_clip(
            request, gateway, order, Collector(), protocol, caller, text_field
        )
    except ClientGoneError:
        return Response(status_code=CLIENT_GONE)
    return Response(file, headers=_headers(outcome, order.format) | facts | headers)


def _headers(outcome: Outcome, format: str) -> dict[str, str]:
    return {
        "Content-Type": content_type_of(format, outcome.sample_rate),
        "Content-Disposition": f'inline; filename="speech.{format.partition("-")[0]}"',
        **clip_headers(outcome),
    }


def clip_headers(outcome: Outcome) -> dict[str, str]:
    """What became of a clip that is complete."""
    return {
        "X-Sample-Rate": str(outcome.sample_rate),
        "X-Audio-Seconds": f"{outcome.audio_seconds:.6f}",
        "X-Queue-Seconds": f"{outcome.queue_seconds:.6f}",
        "X-First-Audio-Seconds": f"{outcome.first_audio_seconds:.6f}",
        "X-Finish-Reason": outcome.finish_reason,
        "X-Seed": str(outcome.seed),
        "X-Migrations": str(outcome.migrations),
    }
