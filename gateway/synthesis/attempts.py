"""A piece of work is tried on one worker after the other until it is done, whatever is made.

    attempts = Attempts(gateway, request_id)
    with pool.admit(request_id, requirement, ...) as ticket:
        while not await attempts.next(ticket, work):
            pass

`Work` uses the slot. When something goes wrong with its worker, the pool is told, and the ticket goes to the
front of the queue. A request that has had its share of tries ends with an ApiError.
`gateway/synthesis/synthesis.py` speaks one clip, `gateway/live/speech/` one sentence after the other,
`gateway/answers/writing.py` writes one answer.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import structlog

from gateway.errors import ApiError
from gateway.service import Gateway
from gateway.slots.capacity.worker import Worker
from gateway.slots.line.tickets import Lease, Ticket
from gateway.slots.requirement import Requirement
from gateway.streams.failover import Failover
from gateway.streams.listener import Hearing
from gateway.streams.relay import StreamMoved
from gateway.streams.second_opinion import SecondOpinion
from gateway.synthesis.trail import Trail
from gateway.workers.client import RequestRejected, StreamBroken, WorkerRefused, WorkerUnreachable
from telemetry import NO_SPAN, Span

logger = structlog.get_logger(__name__)

_FAILED = "failed"
"""The worker says that the request failed. The request may be to blame for it, if few others fail."""
_BLAMELESS = "model"
"""The worker is well, but serves another model by now."""


class Work(Protocol):
    """What is tried on a worker."""

    @property
    def patches(self) -> int:
        """Or tokens, committed so far: an attempt that added some has brought the work on."""

    async def use(self, ticket: Ticket, lease: Lease) -> None:
        """Use the slot until it is not needed any more. Raises what `gateway.streams.relay.relay` raises."""

    def same_model(self) -> Requirement | None:
        """What the next worker must offer; None as long as nothing was begun."""

    def lost(self, worker_id: str, reason: str) -> None:
        """The worker failed; another one may go on."""


class Attempts:
    """The tries of one request, or of one session. They do not hold the work, which holds them."""

    def __init__(self, gateway: Gateway, request_id: str) -> None:
        self._gateway = gateway
        self._settings = gateway.settings
        self._metrics = gateway.metrics
        self._request_id = request_id
        self._queued_at = time.monotonic()
        self._patience_until: float | None = None
        """When a broken stream is given up; None while it flows."""
        self._waiting: asyncio.Timeout | None = None
        """The bound of the wait for a slot, while there is one."""
        self._rested_at: float | None = None
        """Since when the wait does not count: the work has no use for a slot."""
        self._silent: Lease | None = None
        """The lease of an attempt that has brought no audio yet."""
        self._migrations_before = 0
        self._failover = self._new_failover()
        self.second_opinion = SecondOpinion(gateway.pool)
        self.hearing = Hearing()
        self.trail = Trail()
        self.span = NO_SPAN
        """The span of the speech that is tried."""

    @property
    def migrations(self) -> int:
        """How often speech moved to another worker."""
        return self._migrations_before + self._failover.migrations

    def renew(self, span: Span = NO_SPAN) -> None:
        """Other speech begins, with a span of its own: what failed so far is not held against it."""
        self.forgive()
        self.second_opinion = SecondOpinion(self._gateway.pool)
        self.hearing = Hearing()
        self.span = span
        self.queue_again()

    def forgive(self) -> None:
        """A part of the text is complete: what failed in it is not held against the next."""
        self._migrations_before += self._failover.migrations
        self._failover = self._new_failover()

    def _new_failover(self) -> Failover:
        gateway = self._gateway
        return Failover(gateway.retry_budget, self._settings.max_migrations, gateway.roster.probe)

    def queue_again(self) -> None:
        """Whoever waits for a slot from now on waits since now."""
        self._queued_at, self._patience_until = time.monotonic(), None
        self._rested_at = None

    def rest(self, ticket: Ticket, resting: bool) -> None:
        """Let a waiting ticket pass its turns while its work has no use for a slot; it keeps its place, and
        the time does not count as waited.
        """
        pool, now = self._gateway.pool, time.monotonic()
        if resting and ticket.waiting:
            self._rested_at = now
            pool.step_aside(ticket)
            self._bound_wait()
        elif not resting and ticket.aside:
            rested_seconds, self._rested_at = now - self._rested_at, None
            self._queued_at += rested_seconds
            if self._patience_until is not None:
                self._patience_until += rested_seconds
            pool.step_back(ticket)
            self._bound_wait()

    def _bound_wait(self) -> None:
        """End the wait in time, if it is one that counts."""
        if self._waiting is not None:
            resting = self._rested_at is not None
            when = None if resting else asyncio.get_running_loop().time() + self._wait_seconds()
            self._waiting.reschedule(when)

    async def next(self, ticket: Ticket, work: Work) -> bool:
        """Wait for a slot and use it. False when its worker failed: then the ticket is queued again."""
        if ticket.ended_by is not None:  # while nobody listened: its worker was failing
            raise ticket.ended_by
        self.trail.waits(ticket.id)
        queue = self.span.child("queue")
        try:
            async with asyncio.timeout(None) as waiting:
                self._waiting = waiting
                self._bound_wait()
                async with self._gateway.pool.lease(ticket) as lease:
                    self._waiting = None
                    waiting.reschedule(None)
                    self.trail.came_to(lease.worker.id)
                    queue.end()
                    return await self._use(ticket, lease, work)
        except TimeoutError:
            if not waiting.expired():
                raise
            queue.end("no_slot")
            raise self._waited_too_long(ticket) from None
        finally:
            self._waiting = None
            queue.end()

    @contextmanager
    def attempt(self, lease: Lease) -> Iterator[Span]:
        """The use of a slot, as a span; the worker's own are parts of it."""
        span = self.span.child("attempt", worker=lease.worker.id, epoch=lease.epoch)
        try:
            yield span
        except StreamMoved:
            span.set(moved=True)
            raise
        except StreamBroken as error:
            span.end(error.reason)
            raise
        except (WorkerUnreachable, WorkerRefused) as error:
            span.end("unreachable" if isinstance(error, WorkerUnreachable) else "refused")
            raise
        finally:
            span.end()

    def _wait_seconds(self) -> float:
        """Until the request is given up for lack of a slot."""
        deadline = self._patience_until
        if deadline is None:
            deadline = self._queued_at + self._settings.queue_timeout_seconds
        return deadline - time.monotonic()

    def _waited_too_long(self, ticket: Ticket) -> ApiError:
        if self.second_opinion.rejection is not None:
            return as_api_error(self.second_opinion.rejection)
        if self._patience_until is not None:
            return ApiError(503, "worker_lost", "the worker failed and no other was free in time")
        self._gateway.pool.demand.refused(ticket.requirement)
        return ApiError(503, "queue_timeout", "the request waited too long for a free worker")

    async def _use(self, ticket: Ticket, lease: Lease, work: Work) -> bool:
        worker, pool = lease.worker, self._gateway.pool
        patches_before = work.patches
        self._silent = lease
        try:
            await work.use(ticket, lease)
            return True
        except StreamMoved:
            self._interrupted(worker)
            self._failover.moved()
            pool.requeue(ticket, exclude=worker, requirement=work.same_model())
        except WorkerRefused:
            pool.reports.refused(worker)
            self._gateway.check_worker(worker)
            pool.requeue(ticket)
        except WorkerUnreachable as error:
            self._blame(lease, work, "unreachable", str(error))
            await self._failover.after_unreachable(error, self._wait_seconds())
            pool.requeue(ticket, exclude=worker)
        except StreamBroken as error:
            self._blame(lease, work, error.reason, str(error))
            self._interrupted(worker)
            progress = work.patches > patches_before
            await self._failover.after_break(
                worker, error.reason, progress=progress, patience_seconds=self._wait_seconds()
            )
            pool.requeue(ticket, exclude=worker, requirement=work.same_model())
        except RequestRejected as error:
            if not self.second_opinion.is_to_be_had(worker):
                raise as_api_error(error) from error
            self.second_opinion.await_one(worker, error)
            self._lose_patience(self.hearing.lead_seconds(time.monotonic()))
            pool.requeue(ticket, exclude=worker, requirement=work.same_model())
        finally:
            self._silent = None
            self._gateway.moved(ticket)
        return False

    def _blame(self, lease: Lease, work: Work, reason: str, message: str) -> None:
        worker = lease.worker
        logger.warning(
            "attempt failed", request_id=self._request_id, worker=worker.id, epoch=lease.epoch, reason=reason,
            detail=message, patches=work.patches,
        )  # fmt: skip
        work.lost(worker.id, reason)
        worker.figures.failures[reason] += 1
        if reason == _FAILED:
            self._gateway.pool.reports.failed(worker, reason)
        elif reason != _BLAMELESS:
            self._gateway.pool.reports.suspected(worker, reason)
        self._gateway.check_worker(worker)

    def _interrupted(self, worker: Worker) -> None:
        """The stream broke off. The client has its lead to play before it hears a pause."""
        self._metrics.migrations.inc()
        self.span.event("migration", worker=worker.id)
        self.span.keep()
        worker.figures.migrations += 1
        if self._patience_until is None:
            now = time.monotonic()
            lead_seconds = self.hearing.lead_seconds(now)
            self._metrics.client_lead_seconds.observe(lead_seconds)
            self._lose_patience(lead_seconds)

    def _lose_patience(self, lead_seconds: float) -> None:
        """Another worker is waited for; the client hears a pause after so many seconds."""
        if self._patience_until is None:
            limit_seconds = lead_seconds + self._settings.failover_timeout_seconds
            self._patience_until = time.monotonic() + limit_seconds

    def heard(self, audio_seconds: float) -> None:
        """So much audio came; 0 at the end of a clip, and for text."""
        now = time.monotonic()
        if self._silent is not None:
            self._gateway.pool.reports.audio_came(self._silent.worker, self._silent.ticket)
            self.second_opinion.taken(self._silent.worker)
            self._silent.worker.figures.first_audio(now - self._silent.granted_at)
            self._silent = None
        if self._patience_until is not None:
            self._patience_until = None
            self._resumed(now)
        if audio_seconds:
            if self.hearing.first_audio_at is None:
                self.span.event("first audio")
            self.hearing.take(audio_seconds, now)

    def _resumed(self, now: float) -> None:
        """The first audio after an interruption: how long the pause was, and how much of it was heard."""
        if self.hearing.last_audio_at is not None:
            gap_seconds, audible_seconds = self.hearing.pause_seconds(now)
            self._metrics.migration_gap_seconds.observe(gap_seconds)
            self._metrics.audible_gap_seconds.observe(audible_seconds)


def as_api_error(error: RequestRejected) -> ApiError:
    """What the worker says of a request, for the client."""
    return ApiError(422, error.detail.code, error.detail.message, param=error.detail.param)
