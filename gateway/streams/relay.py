"""One attempt to make something at a worker, of which the attempts before may have made the beginning.

A `Piece` holds what was committed so far, so that another worker can go on from exactly there. `relay` takes
frames in sequence and has each committed, and only then handed on. When it raises `StreamBroken`, the piece
is whole up to its last frame. Its client hears one voice, or reads one answer: nothing is lost, sent twice,
or made by a worker that lost its lease.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from gateway.settings import GatewaySettings
from gateway.slots.pool import Lease
from gateway.workers.client import FrameStream, RequestRejected, StreamBroken, WorkerClient
from telemetry import NO_SPAN, Span
from worker.protocol import AnyModel, Frame, FrameKind, Start

_STALLS_WITHOUT_CONTENT = 30
"""So many times as long as an engine may stand still, its steps may bring nothing to a request: that may have
to wait in the engine for others, and a long prompt takes a slow device minutes.
"""
_BEATS_PER_SECOND = 50.0
"""Heartbeats, of which a worker sends four; each takes time from everybody's audio."""
_MOST_BEATS = 1000
"""At once: those of a while in which this gateway stood still."""


class StreamMoved(Exception):
    """The attempt was ended on purpose, to be continued on another worker."""


class _NotWanted(Exception):
    """The worker is not wanted to go on as it does now."""


class Piece(Protocol):
    """What is made: a part of a clip (`spoken.py`), an answer (`gateway/answers/answer.py`)."""

    @property
    def committed(self) -> int:
        """Patches or tokens: the number of the next frame."""

    @property
    def more_follows(self) -> bool:
        """Whether the slot is used again when this is complete."""

    async def prepare(self, model: AnyModel) -> None:
        """A worker with this model is about to be asked."""

    def start(self, lease: Lease) -> Start:
        """The message that makes a worker go on with it."""

    def accepted(self, model: AnyModel | None, stream: FrameStream) -> None:
        """A worker took it, which was known to serve `model`. Raises StreamBroken for another one."""

    def take(self, frame: Frame, stream: FrameStream, lease: Lease) -> bool:
        """Commit a frame, then hand it on. False: the worker is not wanted to go on.

        Raises StreamBroken for what no worker may say, and what the listener raises.
        """


async def relay(
    piece: Piece,
    lease: Lease,
    client: WorkerClient,
    settings: GatewaySettings,
    on_start: Callable[[], None],
    may_leave: Callable[[], bool] = lambda: False,
    opened: Callable[[FrameStream], None] = lambda stream: None,
    keep: bool = False,
    span: Span = NO_SPAN,
) -> None:
    """One attempt on the leased worker: returns when the piece is complete, or `Piece.take` wants no more.

    `on_start` is called once the worker took the request. `may_leave` is called when the worker is being
    emptied: whether there is room elsewhere. `opened` gets the stream, with which the attempt can be paused.
    `keep`: the slot is used again when this is complete. `span`: what the worker does is a part of it. Raises
    StreamBroken, StreamMoved, `ticket.ended_by`, and what `WorkerClient.generate` raises; but a worker that
    rejects a piece which another has begun, without a try, is at fault itself.
    """
    if lease.worker.model is not None:
        await piece.prepare(lease.worker.model)
    start = piece.start(lease)
    start.claim = lease.claim(keep or piece.more_follows)
    if lease.worker.status is not None and lease.worker.status.traced:
        start.traceparent = span.traceparent
    taken = False
    try:
        async with client.generate(start) as stream:
            taken = True
            lease.worker.trust.accepted()
            piece.accepted(lease.worker.model, stream)
            on_start()
            opened(stream)
            attempt = _Attempt(piece, lease, stream, settings, may_leave)
            try:
                await stream.each_frame(attempt.take)
            finally:
                attempt.end()
    except _NotWanted:
        return
    except RequestRejected as error:
        if taken or not piece.committed:
            raise
        raise StreamBroken("corrupt", f"it rejects what another worker has begun: {error}") from error


class _Attempt:
    """Takes the frames of one request to a worker."""

    def __init__(
        self,
        piece: Piece,
        lease: Lease,
        stream: FrameStream,
        settings: GatewaySettings,
        may_leave: Callable[[], bool],
    ) -> None:
        self._piece = piece
        self._lease = lease
        self._stream = stream
        self._may_leave = may_leave
        self._watch = _EngineWatch(settings.stall_timeout_seconds)
        self._began_at, self._samples, self._rested = time.monotonic(), 0, False

    def take(self, frame: Frame) -> None:
        """Take in one frame. Raises StreamBroken, StreamMoved, `ticket.ended_by`, what the piece raises."""
        if self._lease.ticket.ended_by is not None:
            raise self._lease.ticket.ended_by
        if self._lease.worker.moving_out and self._may_leave():
            raise StreamMoved
        expected = self._piece.committed
        if frame.sequence != expected:
            raise StreamBroken("sequence", f"number {frame.sequence} came instead of {expected}")
        self._watch.see(frame.step, brings=frame.units > 0, resting=self._stream.resting)
        self._samples += frame.samples
        self._rested |= self._stream.resting
        if frame.kind is not FrameKind.HEARTBEAT and not self._piece.take(frame, self._stream, self._lease):
            raise _NotWanted

    def end(self) -> None:
        """Note how fast the audio came, unless the worker had to rest meanwhile."""
        if self._samples and not self._rested:
            seconds, audio_seconds = (
                time.monotonic() - self._began_at,
                self._samples / self._stream.sample_rate,
            )
            self._lease.worker.trust.paced(seconds, audio_seconds)


class _EngineWatch:
    """Notices an engine that stands still, or has lost a request, while the worker's heartbeats go on."""

    def __init__(self, limit_seconds: float) -> None:
        self._limit_seconds = limit_seconds
        self._step = -1
        self._moved_at = self._brought_at = time.monotonic()
        self._counted_at, self._beats = self._moved_at, 0.0

    def see(self, step: int, *, brings: bool, resting: bool) -> None:
        """`brings`: a patch or a token. `resting`: the engine has nothing to do for the request."""
        now = time.monotonic()
        if brings or resting:
            self._brought_at = now
        if not brings:
            self._count(now)
        if step > self._step or resting:
            self._step, self._moved_at = step, now
        elif now - self._moved_at > self._limit_seconds:
            raise StreamBroken("stalled", "the engine of the worker stands still")
        if now - self._brought_at > _STALLS_WITHOUT_CONTENT * self._limit_seconds:
            raise StreamBroken("stalled", "the engine of the worker makes nothing of the request")

    def _count(self, now: float) -> None:
        passed, self._counted_at = now - self._counted_at, now
        self._beats = max(0.0, self._beats - passed * _BEATS_PER_SECOND) + 1
        if self._beats > _MOST_BEATS:
            raise StreamBroken("corrupt", "the worker sends heartbeats without end")
