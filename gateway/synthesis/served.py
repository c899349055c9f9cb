"""One request through the gateway, whatever is made for it: how long it may take, what is told of it, and how
it ends.

`run()` is one coroutine. Cancelling it, at any point, gives back everything it held.
"""

from __future__ import annotations

import asyncio
import time
from abc import ABC, abstractmethod
from typing import Generic, Protocol, TypeVar

from gateway.errors import ApiError
from gateway.operations.measurements.objectives import Kind
from gateway.service import Gateway
from gateway.slots.line.about import About
from gateway.slots.line.standing import Standing
from gateway.slots.line.tickets import Lease, Ticket
from gateway.slots.requirement import Requirement
from gateway.streams.relay import Piece, relay
from gateway.synthesis.accounting import Account
from gateway.synthesis.attempts import Attempts
from gateway.synthesis.tracing import begin_span
from telemetry import NO_SPAN
from telemetry.spans import CURRENT


class Ended(Protocol):
    """What came out of a request that was served to its end."""

    @property
    def finish_reason(self) -> str:
        """Why the work ended, as its worker says."""


Result = TypeVar("Result", bound=Ended)


class Served(ABC, Generic[Result]):
    """The `Work` of its attempts. `run` is called once."""

    span_name = "speech"

    def __init__(self, gateway: Gateway, request_id: str, protocol: str) -> None:
        self._gateway = gateway
        self._request_id = request_id
        self._protocol = protocol
        self._settings = gateway.settings
        self._metrics = gateway.metrics
        self._began_at = time.monotonic()
        self._started_at: float | None = None
        """When the first worker took the request."""
        self._attempts = Attempts(gateway, request_id)
        self.span = NO_SPAN
        """What is told of the request, from its beginning on."""

    async def run(self) -> Result:
        """Returns when all of it is made. Raises ApiError."""
        outcome, status = "client_gone", None
        span = self.span = self._attempts.span = begin_span(
            self._gateway, self._protocol, self._began_at, self.span_name
        )
        current = CURRENT.set(span) if self._gateway.tracing.on else None
        try:
            result = await self._run_in_time()
            outcome = result.finish_reason
        except ApiError as error:
            outcome, status = error.code, error.status_code
            raise
        except Exception:
            outcome, status = "internal_error", 500
            raise
        finally:
            self._let_go()
            self._record(outcome, status)
            if current is not None:
                CURRENT.reset(current)
        return result

    async def _run_in_time(self) -> Result:
        try:
            async with asyncio.timeout(self._settings.request_timeout_seconds) as deadline:
                return await self._run()
        except TimeoutError:
            if not deadline.expired():
                raise
            limit = self._settings.request_timeout_seconds
            raise ApiError(504, "request_timeout", f"the request took more than {limit:g} s") from None

    async def _try(
        self, requirement: Requirement, standing: Standing, about: About, mode: str | None = None
    ) -> None:
        """Wait for slots and use them until the work is done. `mode`: see `Ticket.mode`."""
        pool = self._gateway.pool
        with pool.admit(self._request_id, requirement, self._tell_position, standing, about) as ticket:
            ticket.mode = mode or ticket.mode
            if ticket.lease is None:
                self._tell_position(ticket)
            while not await self._attempts.next(ticket, self):
                pass

    async def _relay(self, piece: Piece, ticket: Ticket, lease: Lease) -> None:
        worker = lease.worker
        with self._attempts.attempt(lease) as span:
            await relay(
                piece,
                lease,
                self._gateway.clients[worker.id],
                self._settings,
                on_start=lambda: self._start(lease),
                may_leave=lambda: self._gateway.may_leave(worker, ticket),
                span=span,
            )

    @property
    def _generation_seconds(self) -> float:
        """Since the first worker took it; 0 when none did."""
        return 0.0 if self._started_at is None else time.monotonic() - self._started_at

    def _account(self, outcome: str, status: int | None, kind: Kind, first_at: float | None) -> Account:
        """The request in figures, at its end. `first_at`: when there was something of it first."""
        return Account(
            request_id=self._request_id,
            outcome=outcome,
            seconds=time.monotonic() - self._began_at,
            first_seconds=None if first_at is None else first_at - self._began_at,
            generation_seconds=self._generation_seconds,
            migrations=self._attempts.migrations,
            trail=self._attempts.trail,
            kind=kind,
            status=status,
            span=self.span,
        )

    def _first_start(self) -> bool:
        """Whether a worker takes it for the first time, now."""
        if self._started_at is not None:
            return False
        self._started_at = time.monotonic()
        self._metrics.queue_seconds.observe(self._started_at - self._began_at, self.span.exemplar)
        return True

    def _tell_position(self, ticket: Ticket) -> None:
        if self._started_at is None:
            position = max(ticket.position, 1)  # 0 for one that had a slot at once and lost its worker
            self._queued(ticket, position, self._gateway.pool.estimate_wait(ticket.requirement, position))

    # -------------------------------------------------------------------------------- of each kind of request

    @abstractmethod
    async def _run(self) -> Result:
        """All of it, within its time."""

    @abstractmethod
    def _start(self, lease: Lease) -> None:
        """A worker took it, or goes on with it."""

    @abstractmethod
    def _queued(self, ticket: Ticket, position: int, eta_seconds: float | None) -> None:
        """It waits, or its place in line has changed."""

    @abstractmethod
    def _let_go(self) -> None:
        """Its end: what refers to it is dropped."""

    @abstractmethod
    def _record(self, outcome: str, status: int | None) -> None:
        """Its end: what is counted and logged."""
