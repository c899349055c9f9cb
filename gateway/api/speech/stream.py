"""`WS /ws/tts`: queue news, then PCM while it is generated, then how it went.

The connection's task runs the synthesis, which puts messages into an outbox and never waits for the client. A
reader beside it, active from the first to the last moment, notices `{"type": "cancel"}` and a client that
leaves, queued or streaming, and interrupts the synthesis.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import structlog
from fastapi import APIRouter, WebSocket
from starlette.websockets import WebSocketDisconnect

from gateway.api.transfer.client_socket import ClientSocket, serve_socket
from gateway.bodies import parse_message
from gateway.errors import ApiError, internal_error
from gateway.operations.measurements.objectives import Kind
from gateway.operations.measurements.playback import PlaybackReports
from gateway.requests import NATIVE
from gateway.sessions.witness import witness_clip
from gateway.streams.listener import Listener
from gateway.streams.resumption.opening import Opening, read_opening
from gateway.synthesis.synthesis import Outcome, Synthesis
from gateway.timing.part import PartTimes
from gateway.timing.subtitles import as_fields
from gateway.timing.words import Granularity

router = APIRouter()
logger = structlog.get_logger(__name__)


async def stream(websocket: WebSocket) -> None:
    """Serve one request on this socket."""
    await serve_socket(websocket, lambda socket: StreamSession(socket).run())


router.add_websocket_route("/ws/tts", stream, "stream")


class CancelledByClient(Exception):
    """The client asked for the end of its request."""


class StreamSession(Listener):
    """One connection; also the `Listener` of its synthesis."""

    def __init__(self, socket: ClientSocket) -> None:
        self._socket = socket
        self._gateway = socket.gateway
        self._outbox = socket.outbox
        self._announced = False
        self._playback: PlaybackReports | None = None
        self._model: str | None = None
        self._kind: Kind
        """Of what is asked for, and then of what is heard."""
        self._sample_rate = self._samples = 0
        """Of the audio: its rate, and how many its client was sent, those before a resumption included."""
        self._timestamps: Granularity = "none"
        self._session_id: str | None = None
        """What the stream is recorded as."""
        self._samples_before: int | None = None
        """Of a clip that is resumed: what its client has."""

    async def run(self) -> None:
        """Returns when the socket is closed. Raises WebSocketDisconnect when the client closed it."""
        try:
            outcome = await self._serve()
        except CancelledByClient:
            await self._socket.end({"type": "cancelled"})
        except ApiError as error:
            await self._end_with(error)
        except WebSocketDisconnect:
            raise
        except Exception:
            logger.exception("unhandled error", request_id=self._socket.request_id)
            await self._end_with(internal_error())
        else:
            await self._socket.end({**_done_message(outcome), "session_id": self._session_id})

    async def _serve(self) -> Outcome:
        opening = await self._socket.first(self._read_opening())
        request, tenant = opening.request, opening.standing.tenant
        self._kind = Kind.of(model=request.model, voice=request.voice, protocol=NATIVE, tenant=tenant)
        self._samples_before = opening.clip.samples if opening.clip else None
        self._samples = self._samples_before or 0
        self._timestamps = opening.request.timestamps
        self._model = opening.request.model
        return await self._socket.reading(self._read_until_cancel, self._speak(opening))

    async def _speak(self, opening: Opening) -> Outcome:
        async with self._gateway.successions.take_over(opening.token, self._socket.interruption):
            return await self._socket.flushed(self._synthesis(opening).run())

    def _synthesis(self, opening: Opening) -> Synthesis:
        witness = witness_clip(
            self._gateway.recorder, opening.request, opening.standing.tenant, self, resumed=bool(opening.clip)
        )
        self._session_id = witness.session_id
        return Synthesis(
            self._gateway, opening.request, self._socket.request_id, witness, opening.standing,
            clip=opening.clip, token=opening.token, witness=witness,
        )  # fmt: skip

    async def _read_opening(self) -> Opening:
        gateway = self._gateway
        caller = gateway.callers.identify(self._socket.connection)
        message = await self._socket.receive_text()
        limit = gateway.settings.max_resume_bytes
        return await read_opening(message, self._socket.receive_text, gateway.resume_tokens, caller, limit)

    # ------------------------------------------------------------------------------------------ what is heard

    def queued(self, ticket_id: str, position: int, eta_seconds: float | None) -> None:
        kind = "queue_update" if self._announced else "queued"
        self._announced = True
        eta_seconds = None if eta_seconds is None else round(eta_seconds, 3)
        message = {"type": kind, "ticket_id": ticket_id, "position": position, "eta_seconds": eta_seconds}
        self._outbox.put(json.dumps(message))

    def started(self, worker_id: str, sample_rate: int) -> None:
        self._sample_rate = sample_rate
        worker = self._gateway.pool.workers.get(worker_id)
        if worker is not None and worker.model is not None:
            self._kind = replace(self._kind, model=worker.model.name)
        message = {
            "type": "started",
            "request_id": self._socket.request_id,
            "worker_id": worker_id,
            "sample_rate": sample_rate,
            "session_id": self._session_id,
        }
        if self._samples_before is not None:
            message["resumed_at_sample"] = self._samples_before
        self._outbox.put(json.dumps(message))

    def audio(self, pcm: bytes) -> None:
        self._samples += len(pcm) // 2
        self._outbox.put(pcm)

    def spoken(self) -> None:
        self._outbox.put(json.dumps({"type": "audio_done"}))

    def timed(self, part: PartTimes) -> None:
        self._outbox.put(json.dumps({"type": "timestamps", **as_fields(part, self._timestamps)}))

    def resumable(self, token: str, samples: int, keep: int | None) -> None:
        message = {"type": "resume_token", "token": token, "samples": samples}
        self._outbox.put(json.dumps(message if keep is None else {**message, "keep": keep}))

    @property
    def is_behind(self) -> bool:
        return self._outbox.is_behind

    async def caught_up(self) -> None:
        await self._outbox.caught_up()

    async def _read_until_cancel(self) -> None:
        """Read reports of the playback until another message comes, which ends the synthesis."""
        while True:
            message = parse_message(await self._socket.receive_text())
            if not isinstance(message, dict) or message.get("type") != "stats":
                break
            if self._playback is None:
                resumed = self._samples_before is not None
                self._playback = PlaybackReports(self._gateway.metrics, resumed=resumed, model=self._model)
            self._playback.take(message, self._kind, self._sample_rate, self._samples)
        if message == {"type": "cancel"}:
            raise CancelledByClient
        problem = 'after the request only {"type": "cancel"} and {"type": "stats", ...} are understood'
        raise ApiError(422, "invalid_message", problem, param="type")

    async def _end_with(self, error: ApiError) -> None:
        if error.code == "cancelled":
            await self._socket.end({"type": "cancelled"})
        else:
            await self._socket.end_with(error)


def _done_message(outcome: Outcome) -> dict[str, Any]:
    return {
        "type": "done",
        "audio_seconds": round(outcome.audio_seconds, 6),
        "first_audio_seconds": round(outcome.first_audio_seconds, 6),
        "queue_seconds": round(outcome.queue_seconds, 6),
        "rtf": round(outcome.real_time_factor, 6),
        "finish_reason": outcome.finish_reason,
        "seed": outcome.seed,
        "migrations": outcome.migrations,
    }
