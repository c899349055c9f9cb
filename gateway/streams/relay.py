"""One clip, put together from what one worker after another delivers.

A `Clip` holds every patch that was committed: its latents, so that another worker can go on from exactly
there, and how many samples went to the client. `relay` runs one attempt: it takes frames in sequence, commits
the latents, and only then hands the audio on. When it raises `StreamBroken`, the clip is whole up to its last
patch and the next attempt starts with `clip.start_request(...)`. The listener hears one voice; no patch is
lost, sent twice, or made by a worker that lost its lease.

A text longer than the model speaks in one breath is several requests to the worker, one part after the other
on one lease. To everyone else it is one clip. How its text is read is in `gateway/streams/parts.py`.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from gateway.requests import TtsRequest
from gateway.settings import GatewaySettings
from gateway.slots.pool import Lease
from gateway.streams.conditioning import Conditioning
from gateway.streams.parts import Part, Reading
from gateway.text import Lexicon
from gateway.workers.client import FrameStream, StreamBroken, WorkerClient
from worker.protocol import Frame, FrameKind, Latents, ModelDescription, StartRequest

_ENDINGS = ("stop", "length", "runaway")
_SHORT_CHARACTERS = 500
"""A longer text is put into words in a thread: it takes a hundredth of a millisecond per character."""


class Clip:
    """What has been generated of one request so far."""

    def __init__(self, request: TtsRequest, seed: int, max_audio_seconds: float, number: int = 0) -> None:
        """`number`: tells the clips of one ticket apart."""
        self.request = request
        self.number = number
        self.seed = seed
        self.max_audio_seconds = max_audio_seconds
        self.model: ModelDescription | None = None
        """The model that makes every patch, or that of the worker that is being asked."""
        self.taken = False
        """A worker took it: from then on it belongs to the model."""
        self.latent_bytes = 0
        """Of each of its patches."""
        self.latents: list[bytes] = []
        """float32 [P, D] of each committed patch."""
        self.samples = 0
        self.finish_reason: str | None = None
        self.part = 0
        """Which part of the text is being spoken."""
        self.part_start = 0
        """Its first patch."""
        self.conditioning = Conditioning(request.voice)
        """What makes the worker speak with the voice."""
        self.respelt: dict[str, str] = {}
        """Words of the text that are said otherwise: a clip keeps them when the lexicon changes."""
        self._parts: list[Part] | None = None

    def adopt(self, request: TtsRequest) -> TtsRequest:
        """The request with its voice's parameters, unless the clip was begun; the one that is in force."""
        if self.model is None:
            self.request = request
            self.seed = self.seed if request.seed is None else request.seed
        return self.request

    def say_with(self, lexicon: Lexicon) -> None:
        """Have its words said as `lexicon` says, unless the clip was begun."""
        if self.model is None:
            self.respelt = lexicon.used_in(self.request.text)
            self._parts = None

    def begin(self, model: ModelDescription) -> None:
        """Say which model speaks, as soon as that is known."""
        if not self.begun:
            self.model = model
            self.latent_bytes = 4 * model.patch_size * model.latent_dim
            self._parts = None

    async def prepare(self) -> None:
        """Cut the text, without holding up the event loop. The same is done by whoever asks for it first."""
        reading = self.reading
        if reading is not None and not reading.as_written and len(self.request.text) > _SHORT_CHARACTERS:
            await asyncio.to_thread(self._cut)

    def _cut(self) -> list[Part]:
        if self._parts is None:
            reading = self.reading
            if reading is None:
                return [Part(self.request.text, self.request.text)]
            self._parts = reading.cut(self.request.text)
        return self._parts

    @property
    def reading(self) -> Reading | None:
        """How the text is read; None as long as no model is known."""
        if self.model is None:
            return None
        request = self.request
        return Reading(self.model, request.normalize, request.language, Lexicon.of(self.respelt))

    @property
    def in_words(self) -> bool:
        """Whether figures are put into words."""
        return self.reading is not None and self.reading.in_words

    @property
    def begun(self) -> bool:
        """Whether it has to go on with its model."""
        return self.taken or bool(self.latents)

    @property
    def texts(self) -> list[str]:
        """The text as it was written, in the parts that are spoken one after the other."""
        return [part.written for part in self._cut()]

    @property
    def spoken_text(self) -> str:
        """What the worker is told to say, of all parts."""
        return " ".join(part.spoken for part in self._cut())

    @property
    def audio_seconds(self) -> float:
        """Length of what was committed."""
        return self.samples / self.model.sample_rate if self.model else 0.0

    def commit(self, latents: bytes, samples: int) -> None:
        """Take in one patch."""
        self.latents.append(latents)
        self.samples += samples

    def end_part(self, finish_reason: str) -> None:
        """The present part is spoken: the next one's turn, or the clip is complete."""
        seconds_left = self._longest_seconds - self.audio_seconds
        if self.part + 1 < len(self._cut()) and seconds_left >= self.model.patch_seconds:
            self.part += 1
            self.part_start = len(self.latents)
        else:
            self.finish_reason = finish_reason

    @property
    def is_too_long(self) -> bool:
        """Whether there is more than was asked for, by more than the last patch may overshoot."""
        return self.audio_seconds > self._longest_seconds + 2 * self.model.patch_seconds

    @property
    def is_last_part(self) -> bool:
        """Whether nothing follows the present part."""
        return self.part + 1 == len(self._cut())

    @property
    def _longest_seconds(self) -> float:
        longest_seconds = self.request.max_seconds
        return longest_seconds * self.request.speed if longest_seconds else self.max_audio_seconds

    def start_request(self, wire_id: str, attempt: int) -> StartRequest:
        """The message that makes a worker generate what is missing of the present part."""
        request = self.request
        parts = self._cut()
        is_last = self.is_last_part
        before = self.part_start * self.model.patch_seconds if self.part_start else 0.0
        shortest = request.min_seconds * request.speed if request.min_seconds else 0.0
        return StartRequest(
            request_id=wire_id,
            attempt=attempt,
            text=parts[self.part].spoken,
            seed=self.seed,
            voice=self.conditioning.voice,
            reference_latents=self.conditioning.reference_latents,
            prompt_text=self.conditioning.prompt_text,
            prompt_latents=self.conditioning.prompt_latents,
            cfg_value=request.cfg_value,
            inference_timesteps=request.inference_timesteps,
            temperature=request.temperature,
            min_seconds=max(shortest - before, 0.0) if shortest and is_last else None,
            max_seconds=self._longest_seconds - before,
            resume_latents=self._resume_latents(),
        )

    def _resume_latents(self) -> Latents | None:
        latents = self.latents[self.part_start :]
        if not latents:
            return None
        shape = (len(latents), self.model.patch_size, self.model.latent_dim)
        return Latents(shape=shape, data=b"".join(latents))


class StreamMoved(Exception):
    """The attempt was ended on purpose, to be continued on another worker."""


async def relay(
    clip: Clip,
    lease: Lease,
    client: WorkerClient,
    settings: GatewaySettings,
    on_start: Callable[[], None],
    deliver: Callable[[bytes], None],
    may_leave: Callable[[], bool] = lambda: False,
    opened: Callable[[FrameStream], None] = lambda stream: None,
    keep: bool = False,
) -> None:
    """One attempt on the leased worker: returns when the present part of the clip is complete.

    `on_start` is called once the worker took the request, `deliver` with each patch of PCM, and `may_leave`
    when the worker is being emptied: whether there is room elsewhere. `opened` gets the stream, with which
    the attempt can be paused. `keep`: the slot is used again when this part is complete. Raises StreamBroken,
    StreamMoved, `ticket.ended_by`, and what `WorkerClient.generate` raises.
    """
    if lease.worker.model is not None:
        clip.begin(lease.worker.model)
        await clip.prepare()
    start = clip.start_request(f"{lease.ticket.id}-{lease.epoch}-{clip.number}-{clip.part}", lease.epoch)
    start.claim = lease.claim(keep or not clip.is_last_part)
    async with client.generate(start) as stream:
        lease.worker.accepted()
        _check_model(clip, lease.worker.model, stream)
        on_start()
        opened(stream)
        attempt = _Attempt(clip, lease, stream, settings, deliver, may_leave)
        await stream.each_frame(attempt.take)


class _Attempt:
    """Takes the frames of one request to a worker: one part of the clip, or the rest of it."""

    def __init__(
        self,
        clip: Clip,
        lease: Lease,
        stream: FrameStream,
        settings: GatewaySettings,
        deliver: Callable[[bytes], None],
        may_leave: Callable[[], bool],
    ) -> None:
        self._clip = clip
        self._lease = lease
        self._stream = stream
        self._deliver = deliver
        self._may_leave = may_leave
        self._watch = _EngineWatch(settings.stall_timeout_seconds)

    def take(self, frame: Frame) -> None:
        """Take in one frame. Raises StreamBroken, StreamMoved, `ticket.ended_by`, what `deliver` raises."""
        clip = self._clip
        if self._lease.ticket.ended_by is not None:
            raise self._lease.ticket.ended_by
        if self._lease.worker.moving_out and self._may_leave():
            raise StreamMoved
        expected = len(clip.latents) - clip.part_start
        if frame.sequence != expected:
            raise StreamBroken("sequence", f"patch {frame.sequence} came instead of {expected}")
        self._watch.see(frame.step, resting=self._stream.paused)
        if frame.kind is not FrameKind.HEARTBEAT:
            _take(clip, frame, self._stream, self._deliver)


def _check_model(clip: Clip, model: ModelDescription | None, stream: FrameStream) -> None:
    """A clip stays with the model it was begun with."""
    if model is None or (model.revision, model.sample_rate) != (stream.model_revision, stream.sample_rate):
        raise StreamBroken("model", "the worker changed its model")
    if clip.model is None:
        clip.begin(model)
    if clip.model.revision != model.revision:
        raise StreamBroken("model", "the worker serves another model than the one that began the clip")
    clip.taken = True


def _take(clip: Clip, frame: Frame, stream: FrameStream, deliver: Callable[[bytes], None]) -> None:
    """Commit, then forward. Who hears the last patch knows already that it is the last."""
    if frame.pcm:
        if len(frame.latents) != clip.latent_bytes or frame.samples > clip.model.patch_samples:
            raise StreamBroken("corrupt", "a patch has latents or samples of another shape")
        if clip.is_too_long:
            raise StreamBroken("corrupt", "the worker speaks for longer than it was told")
        clip.commit(frame.latents, frame.samples)
    if frame.last:
        _finish(clip, frame.finish_reason, stream)
    if frame.pcm:
        deliver(frame.pcm)


def _finish(clip: Clip, reason: str | None, stream: FrameStream) -> None:
    if reason not in _ENDINGS:
        message = stream.failure.message if stream.failure else f"the worker ended the request: {reason}"
        raise StreamBroken("failed", message)
    clip.end_part(reason)


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
