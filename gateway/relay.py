"""One clip, put together from what one worker after another delivers.

A `Clip` holds every patch that was committed: its latents, so that another worker can go on from exactly
there, and how many samples went to the client. `relay` runs one attempt: it takes frames in sequence, commits
the latents, and only then hands the audio on. When it raises `StreamBroken`, the clip is whole up to its last
patch and the next attempt starts with `clip.start_request(...)`. The listener hears one voice; no patch is
lost, sent twice, or made by a worker that lost its lease.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from gateway.pool import Lease
from gateway.requests import TtsRequest
from gateway.settings import GatewaySettings
from gateway.worker_client import FrameStream, StreamBroken, WorkerClient
from worker.protocol import FrameKind, Latents, ModelDescription, StartRequest

_ENDINGS = ("stop", "length", "runaway")


class Clip:
    """What has been generated of one request so far."""

    def __init__(self, request: TtsRequest, seed: int, max_audio_seconds: float) -> None:
        self.request = request
        self.seed = seed
        self.max_audio_seconds = max_audio_seconds
        self.model: ModelDescription | None = None
        """The model that made the first patch; every other patch comes from the same."""
        self.latents: list[bytes] = []
        """float32 [P, D] of each committed patch."""
        self.samples = 0
        self.finish_reason: str | None = None

    @property
    def audio_seconds(self) -> float:
        """Length of what was committed."""
        return self.samples / self.model.sample_rate if self.model else 0.0

    def commit(self, latents: bytes, samples: int) -> None:
        """Take in one patch."""
        self.latents.append(latents)
        self.samples += samples

    def start_request(self, wire_id: str, attempt: int) -> StartRequest:
        """The message that makes a worker generate what is missing."""
        request = self.request
        return StartRequest(
            request_id=wire_id,
            attempt=attempt,
            text=request.text,
            seed=self.seed,
            voice=request.voice,
            cfg_value=request.cfg_value,
            inference_timesteps=request.inference_timesteps,
            temperature=request.temperature,
            min_seconds=request.min_seconds,
            max_seconds=request.max_seconds or self.max_audio_seconds,
            resume_latents=self._resume_latents(),
        )

    def _resume_latents(self) -> Latents | None:
        if not self.latents or self.model is None:
            return None
        shape = (len(self.latents), self.model.patch_size, self.model.latent_dim)
        return Latents(shape=shape, data=b"".join(self.latents))


async def relay(
    clip: Clip,
    lease: Lease,
    client: WorkerClient,
    settings: GatewaySettings,
    on_start: Callable[[], None],
    deliver: Callable[[bytes], None],
) -> None:
    """One attempt on the leased worker: returns when the clip is complete.

    `on_start` is called once the worker took the request, `deliver` with each patch of PCM. Raises
    StreamBroken, `ticket.ended_by`, and what `WorkerClient.generate` raises.
    """
    start = clip.start_request(f"{lease.ticket.id}-{lease.epoch}", lease.epoch)
    async with client.generate(start) as stream:
        lease.worker.accepted()
        _check_model(clip, lease.worker.model, stream)
        on_start()
        watch = _EngineWatch(settings.stall_timeout_seconds)
        while clip.finish_reason is None:
            frame = await stream.next_frame()
            if lease.ticket.ended_by is not None:
                raise lease.ticket.ended_by
            if frame.sequence != len(clip.latents):
                raise StreamBroken("sequence", f"patch {frame.sequence} came instead of {len(clip.latents)}")
            elif frame.kind is FrameKind.HEARTBEAT:
                watch.see(frame.step)
            else:
                watch.see(frame.step)
                _take(clip, frame.latents, frame.pcm, deliver)
                if frame.last:
                    _finish(clip, frame.finish_reason, stream)


def _check_model(clip: Clip, model: ModelDescription | None, stream: FrameStream) -> None:
    """A clip stays with the model it was begun with."""
    if model is None or (model.revision, model.sample_rate) != (stream.model_revision, stream.sample_rate):
        raise StreamBroken("model", "the worker changed its model")
    if clip.model is not None and clip.model.revision != model.revision:
        raise StreamBroken("model", "the worker serves another model than the one that began the clip")
    clip.model = model


def _take(clip: Clip, latents: bytes, pcm: bytes, deliver: Callable[[bytes], None]) -> None:
    if not pcm:
        return
    if len(latents) != 4 * clip.model.patch_size * clip.model.latent_dim:
        raise StreamBroken("corrupt", "a patch has latents of another shape")
    clip.commit(latents, len(pcm) // 2)
    deliver(pcm)


def _finish(clip: Clip, reason: str | None, stream: FrameStream) -> None:
    if reason not in _ENDINGS:
        message = stream.failure.message if stream.failure else f"the worker ended the request: {reason}"
        raise StreamBroken("failed", message)
    clip.finish_reason = reason


class _EngineWatch:
    """Notices an engine that stands still behind a worker whose heartbeats go on."""

    def __init__(self, limit_seconds: float) -> None:
        self._limit_seconds = limit_seconds
        self._step = -1
        self._moved_at = time.monotonic()

    def see(self, step: int) -> None:
        now = time.monotonic()
        if step != self._step:
            self._step, self._moved_at = step, now
        elif now - self._moved_at > self._limit_seconds:
            raise StreamBroken("stalled", "the engine of the worker stands still")
