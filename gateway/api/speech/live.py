"""`WS /ws/live`: text comes while its speech goes out, see `gateway/live/`.

The connection's task speaks. A reader beside it takes the client's messages from first to last. Messages to
the client wait in an outbox; a barge-in drops the audio there.
"""

from __future__ import annotations

import json
from typing import Any

from fastapi import APIRouter, WebSocket

from gateway.api.transfer.client_socket import ClientSocket, serve_socket
from gateway.edge.connections.websocket import LIVE_PATH
from gateway.errors import ApiError
from gateway.live.hosted import HostedSession
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
from gateway.operations.measurements.playback import PlaybackReports
from gateway.requests import NATIVE
from gateway.timing.part import PartTimes
from gateway.timing.subtitles import as_fields
from gateway.timing.words import Granularity

router = APIRouter()


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
        self._hosted = HostedSession(gateway, self, socket.request_id, NATIVE)
        self._session = self._hosted.session
        self._playback = PlaybackReports(gateway.metrics)
        self._timestamps: Granularity = "none"

    async def run(self) -> None:
        """Returns when the socket is closed. Raises WebSocketDisconnect when the client closed it."""
        outcome, problem = "client_gone", None
        try:
            problem = await self._socket.outcome(self._serve())
            outcome = problem.code if problem else "stop"
        finally:
            self._hosted.settle(
                outcome, problem.status_code if problem else None
            )  # before the last word: who has heard it finds the recording whole
        if problem is None:
            await self._socket.end(self._summary())
        else:
            await self._socket.end_with(problem, fatal=True)

    async def _serve(self) -> None:
        gateway = self._gateway
        gateway.check_open()
        caller = gateway.callers.identify(self._socket.connection)
        start = parse_start(await self._socket.first(self._socket.receive_text()))
        self._timestamps = start.timestamps
        await gateway.lexicons.refresh(caller.tenant)
        self._hosted.open(start, caller)
        await self._socket.reading(self._read_commands, self._socket.flushed(self._hosted.run()))

    # ----------------------------------------------------------------------------------------- what is heard

    def tell(self, message: dict[str, Any]) -> None:
        """A message of the session."""
        self._socket.put(json.dumps(message))

    def audio(self, pcm: bytes) -> None:
        """Send the next s16le samples."""
        self._outbox.put(pcm)

    def timed(self, index: int, epoch: int, part: PartTimes) -> None:
        """Words of an utterance, or of a part of it."""
        fields = as_fields(part, self._timestamps)
        self.tell({"type": "timestamps", "epoch": epoch, "index": index, **fields})

    def drop_audio(self) -> int:
        """Drop audio that has not left yet; its samples."""
        return self._outbox.drop_audio() // 2

    async def _read_commands(self) -> None:
        """Take messages until the client leaves. A wrong one is answered; the session goes on."""
        while True:
            try:
                self._obey(parse_command(await self._socket.receive_text()))
            except ApiError as error:
                self._session.complain(error)

    def _obey(self, command: Command) -> None:
        session = self._session
        match command:
            case Append():
                session.append(command.text)
            case Flush():
                session.flush()
            case Cancel():
                self._hosted.witness.event("cancel", played_samples=command.played_samples)
                session.cancel(command.played_samples)
            case Pause():
                self._hosted.witness.event("pause")
                session.pause()
            case Resume():
                self._hosted.witness.event("resume")
                session.resume()
            case Stats():
                sent_samples = session.timeline.samples
                self._playback.take(
                    command.model_dump(), self._hosted.kind, session.sample_rate, sent_samples
                )
            case _:
                session.stop()

    # --------------------------------------------------------------------------------------------- accounting

    def _summary(self) -> dict[str, Any]:
        timeline, speech = self._session.timeline, self._hosted.speech
        return {
            "type": "done",
            "epoch": timeline.epoch,
            "utterances": timeline.utterances,
            "samples": timeline.samples,
            "audio_seconds": round(speech.audio_seconds, 6),
            "seconds": round(self._hosted.seconds, 3),
            "migrations": speech.migrations,
            "seed": speech.seed,
            "session_id": self._hosted.witness.session_id,
        }
