"""One request through the gateway, whichever API it came by: admitted, leased, relayed, moved on when a
worker fails.

`Synthesis.run()` is one coroutine. Cancelling it, at any point, gives back everything it held. What happens
on the way is told to a `Listener` by plain calls that never wait, so a slow client cannot slow down the
relay.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import Protocol

import structlog

from gateway.audio import Resampler, output_sample_rate
from gateway.errors import ApiError
from gateway.pool import Lease
from gateway.queue import Requirement, Ticket
from gateway.relay import Clip, relay
from gateway.requests import TtsRequest, check_limits, random_seed
from gateway.service import Gateway
from gateway.worker_client import RequestRejected, StreamBroken, WorkerRefused, WorkerUnreachable

logger = structlog.get_logger(__name__)

_BLAMELESS = ("failed", "model")
"""Reasons for which a stream broke although its worker may be well."""
MAX_UNREACHABLE = 5
"""Workers that may refuse the connection before a request is given up."""
_DEADLY = ("closed", "failed", "stalled")
"""Reasons that a request itself may be the cause of."""
MAX_DEATHS = 2
"""Workers that may fail so on one request before an attempt without a single patch ends it."""


class Listener(Protocol):
    """What a request's client hears of it."""

    def queued(self, ticket_id: str, position: int, eta_seconds: float | None) -> None:
        """The request waits; called again whenever its position changes."""

    def started(self, worker_id: str, sample_rate: int) -> None:
        """A worker took it. Called once, also when other workers go on with it later."""

    def audio(self, pcm: bytes) -> None:
        """The next s16le samples. May raise ApiError to end the request."""


@dataclass(frozen=True)
class Outcome:
    """How a request ended that was served to its end."""

    sample_rate: int
    audio_seconds: float
    queue_seconds: float
    first_audio_seconds: float
    generation_seconds: float
    finish_reason: str
    seed: int
    migrations: int

    @property
    def real_time_factor(self) -> float:
        """Seconds of generation per second of audio."""
        return self.generation_seconds / self.audio_seconds


class Synthesis:
    """Serves one request. `run` is called once."""

    def __init__(self, gateway: Gateway, request: TtsRequest, request_id: str, listener: Listener) -> None:
        self._gateway = gateway
        self._request = request
        self._request_id = request_id
        self._listener = listener
        self._settings = gateway.settings
        self._metrics = gateway.metrics
        seed = random_seed() if request.seed is None else request.seed
        self.clip = Clip(request, seed, self._settings.max_audio_seconds)
        self._began_at = time.monotonic()
        self._started_at: float | None = None
        """When the first worker took the request."""
        self._first_audio_at: float | None = None
        self._broken_at: float | None = None
        """When the stream broke; None while it flows."""
        self._resampler: Resampler | None = None
        self.sample_rate = 0
        """Of the audio that the listener gets, known when it has heard `started`."""
        self.migrations = 0
        self._unreachable = 0
        self._deaths = 0

    async def run(self) -> Outcome:
        """Returns when the clip is complete. Raises ApiError."""
        outcome = "client_gone"
        try:
            result = await self._run()
            outcome = result.finish_reason
        except ApiError as error:
            outcome = error.code
            raise
        except Exception:
            outcome = "internal_error"
            raise
        finally:
            self._record(outcome)
        return result

    async def _run(self) -> Outcome:
        self._gateway.check_open()
        check_limits(self._request, self._settings)
        requirement = Requirement(self._request.model, self._request.voice)
        with self._gateway.pool.admit(self._request_id, requirement, self._tell_position) as ticket:
            if ticket.lease is None:
                self._tell_position(ticket)
            while self.clip.finish_reason is None:
                await self._attempt(ticket)
        if not self.clip.samples:
            raise ApiError(500, "no_audio", "no audio was generated")
        self._deliver(b"", last=True)
        return self._outcome()

    async def _attempt(self, ticket: Ticket) -> None:
        """Wait for a slot and use it: the clip is complete, or has grown and the ticket is queued again."""
        try:
            async with (
                asyncio.timeout(self._wait_seconds()) as waiting,
                self._gateway.pool.lease(ticket) as lease,
            ):
                waiting.reschedule(None)
                await self._use(ticket, lease)
        except TimeoutError:
            if not waiting.expired():
                raise
            raise self._waited_too_long() from None

    def _wait_seconds(self) -> float:
        if self._broken_at is not None:
            deadline = self._broken_at + self._settings.failover_timeout_seconds
        else:
            deadline = self._began_at + self._settings.queue_timeout_seconds
        return deadline - time.monotonic()

    def _waited_too_long(self) -> ApiError:
        if self._broken_at is not None:
            return ApiError(503, "worker_lost", "the worker failed and no other was free in time")
        return ApiError(503, "queue_timeout", "the request waited too long for a free worker")

    async def _use(self, ticket: Ticket, lease: Lease) -> None:
        """One attempt; what goes wrong with the worker ends in a ticket at the front of the queue."""
        worker, pool = lease.worker, self._gateway.pool
        patches_before = len(self.clip.latents)
        try:
            await relay(
                self.clip,
                lease,
                self._gateway.clients[worker.id],
                self._settings,
                on_start=lambda: self._start(lease),
                deliver=self._deliver,
            )
            worker.service_time.observe(time.monotonic() - lease.granted_at)
        except WorkerRefused:
            pool.report_refused(worker)
            self._gateway.check_worker(worker)
            pool.requeue(ticket)
        except WorkerUnreachable as error:
            self._unreachable += 1
            self._blame(lease, "unreachable", str(error))
            if self._unreachable >= MAX_UNREACHABLE:
                raise ApiError(503, "worker_unreachable", "no worker could be reached") from error
            pool.requeue(ticket, exclude=worker)
        except StreamBroken as error:
            self._blame(lease, error.reason, str(error))
            self._check_another_try(error.reason, progress=len(self.clip.latents) > patches_before)
            pool.requeue(ticket, exclude=worker, requirement=self._same_model())
        except RequestRejected as error:
            detail = error.detail
            raise ApiError(422, detail.code, detail.message, param=detail.param) from error

    def _blame(self, lease: Lease, reason: str, message: str) -> None:
        worker = lease.worker
        logger.warning(
            "attempt failed", request_id=self._request_id, worker=worker.id, epoch=lease.epoch, reason=reason,
            detail=message, patches=len(self.clip.latents),
        )  # fmt: skip
        self._metrics.worker_failures.labels(worker.id, reason).inc()
        if reason not in _BLAMELESS:
            self._gateway.pool.report_suspect(worker, reason)
        self._gateway.check_worker(worker)

    def _check_another_try(self, reason: str, progress: bool) -> None:
        """A request that ends workers without getting anywhere is refused before it has ended them all."""
        if self._broken_at is None:
            self._broken_at = time.monotonic()
        self.migrations += 1
        if reason in _DEADLY:
            self._deaths += 1
        deadly = self._deaths >= MAX_DEATHS and not progress
        if deadly or self.migrations > self._settings.max_migrations:
            raise ApiError(500, "worker_failed", "the workers that took this request failed")
        self._metrics.migrations.inc()

    def _same_model(self) -> Requirement | None:
        model = self.clip.model
        return Requirement(model.name, self._request.voice, model.revision) if model else None

    # ---------------------------------------------------------------------------------------- to the listener

    def _tell_position(self, ticket: Ticket) -> None:
        if self._started_at is None:
            eta_seconds = self._gateway.pool.estimate_wait(ticket.requirement, ticket.position)
            self._listener.queued(ticket.id, ticket.position, eta_seconds)

    def _start(self, lease: Lease) -> None:
        if self._started_at is not None:
            return
        self._started_at = time.monotonic()
        self._metrics.queue_seconds.observe(self._started_at - self._began_at)
        model_rate = self.clip.model.sample_rate
        self.sample_rate = output_sample_rate(self._request.format, self._request.sample_rate, model_rate)
        self._resampler = Resampler(model_rate, self.sample_rate)
        self._listener.started(lease.worker.id, self.sample_rate)

    def _deliver(self, pcm: bytes, last: bool = False) -> None:
        now = time.monotonic()
        if self._first_audio_at is None:
            self._first_audio_at = now
        if self._broken_at is not None:
            self._metrics.migration_gap_seconds.observe(now - self._broken_at)
            self._broken_at = None
        if ready := self._resampler.process(pcm, last):
            self._listener.audio(ready)

    # --------------------------------------------------------------------------------------------- accounting

    def _outcome(self) -> Outcome:
        return Outcome(
            sample_rate=self.sample_rate,
            audio_seconds=self.clip.audio_seconds,
            queue_seconds=self._started_at - self._began_at,
            first_audio_seconds=self._first_audio_at - self._began_at,
            generation_seconds=time.monotonic() - self._started_at,
            finish_reason=self.clip.finish_reason,
            seed=self.clip.seed,
            migrations=self.migrations,
        )

    def _record(self, outcome: str) -> None:
        """One line and one count per request, however it ended. The text is nobody's business."""
        seconds = time.monotonic() - self._began_at
        metrics, audio_seconds = self._metrics, self.clip.audio_seconds
        metrics.requests.labels(outcome).inc()
        metrics.audio_seconds.inc(audio_seconds)
        first_audio_seconds = None
        if self._first_audio_at is not None:
            first_audio_seconds = round(self._first_audio_at - self._began_at, 4)
            metrics.first_audio_seconds.observe(first_audio_seconds)
            metrics.request_seconds.observe(seconds)
            metrics.real_time_factor.observe((time.monotonic() - self._started_at) / audio_seconds)
        logger.info(
            "request",
            request_id=self._request_id,
            outcome=outcome,
            voice=self._request.voice,
            characters=len(self._request.text),
            audio_seconds=round(audio_seconds, 3),
            seconds=round(seconds, 4),
            first_audio_seconds=first_audio_seconds,
            migrations=self.migrations,
        )
