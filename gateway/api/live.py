"""`WS /ws/live`: text comes while its speech goes out, see `gateway/live/`.

The connection's task speaks; a reader beside it takes the client's messages from the first to the last
moment, and messages to the client wait in an outbox, of which a barge-in drops the audio.
"""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import structlog
from fastapi import APIRouter, WebSocket
from starlette.websockets import WebSocketDisconnect

from gateway.api.client_socket import ClientSocket, serve_socket
from gateway.edge.connections import LIVE_PATH
from gateway.errors import ApiError
from gateway.live.messages import (
    Append,
    Cancel,
    Command,
    Flush,
    Pause,
    Resume,
    Stats,
    parse_command,
    parse_start,
)
from gateway.live.session import LiveSession
from gateway.live.speech import LiveSpeech
from gateway.live.witness import LiveWitness
from gateway.operations.playback import PlaybackReports
from gateway.requests import NATIVE
from gateway.slots.standing import Standing

router = APIRouter()
logger = structlog.get_logger(__name__)

_EXPECTED_SECONDS = 5.0
"""Of audio that a session is charged when it gets a slot; corrected by what it was served."""


async def live(websocket: WebSocket) -> None:
    """Serve one session on this socket."""
    await serve_socket(websocket, lambda socket: LiveConnection(socket).run())


router.add_websocket_route(LIVE_PATH, live, "live")


class LiveConnection:
    """One socket; also the `Outlet` of its session."""

    def __init__(self, socket: ClientSocket) -> None:
        self._socket = socket
        self._gateway = gateway = socket.gateway
        self._outbox = socket.outbox
        self._session = LiveSession(gateway.settings, self)
        self._witness = LiveWitness(None)
        self._playback = PlaybackReports(gateway.metrics)
        self._speech: LiveSpeech | None = None
        self._began_at = time.monotonic()

    async def run(self) -> None:
        """Returns when the socket is closed. Raises WebSocketDisconnect when the client closed it."""
        outcome, problem = "client_gone", None
        try:
            await self._serve()
            outcome = "stop"
        except ApiError as error:
            outcome, problem = error.code, error
        except WebSocketDisconnect:
            raise
        except Exception:
            logger.exception("unhandled error", request_id=self._socket.request_id)
            outcome, problem = "internal_error", ApiError(500, "internal_error", "an internal error occurred")
        finally:
            self._account(outcome)  # before the last word: who has heard it finds the recording complete
        if problem is None:
            await self._socket.end(self._summary())
        else:
            await self._socket.end_with(problem, fatal=True)

    async def _serve(self) -> None:
        gateway = self._gateway
        gateway.check_open()
        caller = gateway.callers.identify(self._socket.connection)
        start = parse_start(await self._socket.first(self._socket.receive_text()))
        standing = caller.standing_for(start.priority, _EXPECTED_SECONDS, otherwise=caller.highest)
        self._check_sessions(standing)
        recorder = gateway.recorder
        facts = start.model_dump(exclude={"type", "record", "priority", "lexicon"}, exclude_none=True)
        self._witness = LiveWitness(recorder.open("live", facts, caller.tenant, asked=start.record))
        request_id = self._socket.request_id
        self._speech = LiveSpeech(gateway, self._session, start, request_id, standing, self._witness)
        self._session.voice = self._speech
        self._session.tenant = standing.tenant
        gateway.live_sessions.add(self._session)
        reader = asyncio.create_task(self._read_commands())
        try:
            async with self._socket.interruption:
                await self._socket.flushed(self._speech.run())
        finally:
            gateway.live_sessions.discard(self._session)
            reader.cancel()
            self._outbox.drop()

    def _check_sessions(self, standing: Standing) -> None:
        """A session counts against `max_streams` while it rests, too."""
        sessions = self._gateway.live_sessions
        open_sessions = sum(session.tenant == standing.tenant for session in sessions)
        if 0 < standing.max_streams <= open_sessions:
            message = f"{open_sessions} live sessions of this client are open, and no more may be"
            raise ApiError(429, "too_many_streams", message)

    # ----------------------------------------------------------------------------------------- what is heard

    def tell(self, message: dict[str, Any]) -> None:
        """A message of the session."""
        try:
            self._outbox.put(json.dumps(message))
        except ApiError as error:
            self._socket.interruption.end_with(error)

    def audio(self, pcm: bytes) -> None:
        """Its next samples."""
        self._outbox.put(pcm)

    def drop_audio(self) -> int:
        """What has not left yet will not."""
        return self._outbox.drop_audio() // 2

    async def _read_commands(self) -> None:
        """Take messages until the client leaves. A wrong one is answered; the session goes on."""
        while True:
            try:
                self._obey(parse_command(await self._socket.receive_text()))
            except ApiError as error:
                self._session.complain(error)
            except WebSocketDisconnect as cause:
                self._socket.interruption.end_with(cause)
                return
            except Exception as cause:
                self._socket.interruption.end_with(cause)
                return

    def _obey(self, command: Command) -> None:
        session = self._session
        match command:
            case Append():
                session.append(command.text)
            case Flush():
                session.flush()
            case Cancel():
                self._witness.event("cancel", played_samples=command.played_samples)
                session.cancel(command.played_samples)
            case Pause():
                self._witness.event("pause")
                session.pause()
            case Resume():
                self._witness.event("resume")
                session.resume()
            case Stats():
                sent_samples = session.timeline.samples
                self._playback.take(command.model_dump(), session.sample_rate, sent_samples)
            case _:
                session.stop()

    # --------------------------------------------------------------------------------------------- accounting

    def _summary(self) -> dict[str, Any]:
        timeline = self._session.timeline
        return {
            "type": "done",
            "epoch": timeline.epoch,
            "utterances": timeline.utterances,
            "samples": timeline.samples,
            "audio_seconds": round(self._speech.audio_seconds, 6),
            "seconds": round(time.monotonic() - self._began_at, 3),
            "migrations": self._speech.migrations,
            "seed": self._speech.seed,
            "session_id": self._witness.session_id,
        }

    def _account(self, outcome: str) -> None:
        """One line and one count per session. The text is nobody's business."""
        metrics, timeline = self._gateway.metrics, self._session.timeline
        metrics.live_sessions.labels(outcome, NATIVE).inc()
        self._gateway.operations.overload.note(outcome)
        self._witness.finish(outcome)
        if self._speech is None:
            return
        metrics.live_utterances.inc(timeline.utterances)
        metrics.audio_seconds.inc(self._speech.audio_seconds)
        logger.info(
            "live session", request_id=self._socket.request_id, outcome=outcome,
            utterances=timeline.utterances, cancellations=timeline.epoch,
            audio_seconds=round(self._speech.audio_seconds, 3),
            seconds=round(time.monotonic() - self._began_at, 3), migrations=self._speech.migrations,
        )  # fmt: skip
