"""One clip, put together from what one worker after another delivers.

A `Clip` holds the latents of the present part as far as they were committed, so that another worker can go on
from exactly there, and how many samples went to the client. `relay` runs one attempt: it takes frames in
sequence, commits the latents, and only then hands the audio on. When it raises `StreamBroken`, the clip is
whole up to its last patch and the next attempt starts with `start_request(clip, ...)`. The listener hears one
voice; no patch is lost, sent twice, or made by a worker that lost its lease.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable

from gateway.settings import GatewaySettings
from gateway.slots.pool import Lease
from gateway.streams.clip import Clip
from gateway.streams.start import start_request
from gateway.streams.takes import Takes
from gateway.workers.client import FrameStream, StreamBroken, WorkerClient
from telemetry import NO_SPAN, Span
from worker.protocol import Frame, FrameKind, ModelDescription

_ENDINGS = ("stop", "length", "runaway")


class StreamMoved(Exception):
    """The attempt was ended on purpose, to be continued on another worker."""


class _TakeCut(Exception):
    """The worker is not wanted to go on with the part as it speaks it now."""


async def relay(
    clip: Clip,
    lease: Lease,
    client: WorkerClient,
    settings: GatewaySettings,
    on_start: Callable[[], None],
    takes: Takes,
    may_leave: Callable[[], bool] = lambda: False,
    opened: Callable[[FrameStream], None] = lambda stream: None,
    keep: bool = False,
    span: Span = NO_SPAN,
) -> None:
    """One attempt on the leased worker: returns when the present part of the clip is complete, or has to be
    spoken again.

    `on_start` is called once the worker took the request; `takes` gets each patch of PCM, and may have the
    part spoken again. `may_leave` is called when the worker is being emptied: whether
    there is room elsewhere. `opened` gets the stream, with which the attempt can be paused. `keep`: the slot
    is used again when this part is complete. `span`: what the worker does is a part of it. Raises
    StreamBroken, StreamMoved, `ticket.ended_by`, and what `WorkerClient.generate` raises.
    """
    if lease.worker.model is not None:
        clip.begin(lease.worker.model)
        await clip.prepare()
    wire_id = f"{lease.ticket.id}-{lease.epoch}-{clip.number}-{clip.part}"
    start = start_request(clip, f"{wire_id}-{clip.take}" if clip.take else wire_id, lease.epoch)
    takes.begin()
    start.claim = lease.claim(keep or not clip.is_last_part or takes.may_repeat)
    if clip.is_watched:
        start.watch = True
    if lease.worker.status is not None and lease.worker.status.traced:
        start.traceparent = span.traceparent
    with contextlib.suppress(_TakeCut):
        async with client.generate(start) as stream:
            lease.worker.accepted()
            _check_model(clip, lease.worker.model, stream)
            on_start()
            opened(stream)
            attempt = _Attempt(clip, lease, stream, settings, takes, may_leave)
            await stream.each_frame(attempt.take)


class _Attempt:
    """Takes the frames of one request to a worker: one part of the clip, or the rest of it."""

    def __init__(
        self,
        clip: Clip,
        lease: Lease,
        stream: FrameStream,
        settings: GatewaySettings,
        takes: Takes,
        may_leave: Callable[[], bool],
    ) -> None:
        self._clip = clip
        self._lease = lease
        self._stream = stream
        self._takes = takes
        self._may_leave = may_leave
        self._watch = _EngineWatch(settings.stall_timeout_seconds)

    def take(self, frame: Frame) -> None:
        """Take in one frame. Raises StreamBroken, StreamMoved, `ticket.ended_by`, what `takes` raises."""
        clip = self._clip
        if self._lease.ticket.ended_by is not None:
            raise self._lease.ticket.ended_by
        if self._lease.worker.moving_out and self._may_leave():
            raise StreamMoved
        expected = len(clip.latents)
        if frame.sequence != expected:
            raise StreamBroken("sequence", f"patch {frame.sequence} came instead of {expected}")
        self._watch.see(frame.step, resting=self._stream.paused)
        if frame.kind is not FrameKind.HEARTBEAT:
            cut = _take(clip, frame, self._stream, self._takes)
            if frame.flaw and (cut or frame.last):
                self._lease.worker.figures.flaws[frame.flaw] += 1
            if cut:
                raise _TakeCut


def _check_model(clip: Clip, model: ModelDescription | None, stream: FrameStream) -> None:
    """A clip stays with the model it was begun with."""
    if model is None or (model.revision, model.sample_rate) != (stream.model_revision, stream.sample_rate):
        raise StreamBroken("model", "the worker changed its model")
    if clip.model is None:
        clip.begin(model)
    if clip.model.revision != model.revision:
        raise StreamBroken("model", "the worker serves another model than the one that began the clip")
    clip.taken = True


def _take(clip: Clip, frame: Frame, stream: FrameStream, takes: Takes) -> bool:
    """Commit, then forward. True where the take was cut instead."""
    pcm = b""
    if frame.pcm:
        if len(frame.latents) != clip.latent_bytes or frame.samples > clip.model.patch_samples:
            raise StreamBroken("corrupt", "a patch has latents or samples of another shape")
        if clip.is_too_long:
            raise StreamBroken("corrupt", "the worker speaks for longer than it was told")
        if takes.cuts(frame):
            takes.cut(frame)
            return True
        pcm = clip.commit_pause() + frame.pcm
        clip.commit(frame.latents, frame.samples, frame.silent)
    if not frame.last:
        takes.patch(pcm)
    elif frame.finish_reason in _ENDINGS:
        takes.end(pcm, frame.finish_reason, frame.flaw)
    else:
        reason = f"the worker ended the request: {frame.finish_reason}"
        raise StreamBroken("failed", stream.failure.message if stream.failure else reason)
    return False


class _EngineWatch:
    """Notices an engine that stands still behind a worker whose heartbeats go on."""

    def __init__(self, limit_seconds: float) -> None:
        self._limit_seconds = limit_seconds
        self._step = -1
        self._moved_at = time.monotonic()

    def see(self, step: int, resting: bool) -> None:
        """`resting`: the request is paused, and the engine has nothing to do for it."""
        now = time.monotonic()
        if step != self._step or resting:
            self._step, self._moved_at = step, now
        elif now - self._moved_at > self._limit_seconds:
            raise StreamBroken("stalled", "the engine of the worker stands still")
