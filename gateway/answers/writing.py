"""One answer through the gateway: admitted, leased, relayed, moved on when a worker fails."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Protocol

from gateway.answers.answer import Answer, Written
from gateway.answers.order import AnswerOrder
from gateway.operations.measurements.objectives import Kind
from gateway.service import Gateway
from gateway.slots.line.about import About
from gateway.slots.line.charge import charge
from gateway.slots.line.standing import Priority, Standing
from gateway.slots.line.tickets import Lease, Ticket
from gateway.slots.requirement import Requirement
from gateway.synthesis.accounting import settle
from gateway.synthesis.served import Served

ANSWER = "answer"
"""What the slot of a ticket is used for."""


class Reader(Protocol):
    """What a client reads, whichever protocol it speaks. The calls never wait."""

    def waits(self, position: int, eta_seconds: float | None) -> None:
        """For its turn; called again whenever its place in line changes."""

    def wrote(self, written: Written) -> None:
        """The next piece. May raise ApiError to end the request."""


@dataclass(frozen=True)
class AnswerOutcome:
    """How an answer ended that was written to its end."""

    model: str
    revision: str
    prompt_tokens: int
    tokens: int
    finish_reason: str
    queue_seconds: float
    first_token_seconds: float
    migrations: int


class Writing(Served[AnswerOutcome]):
    """Serves one answer. `run` is called once."""

    span_name = "answer"

    def __init__(
        self,
        gateway: Gateway,
        order: AnswerOrder,
        request_id: str,
        reader: Reader,
        standing: Standing,
        protocol: str,
    ) -> None:
        super().__init__(gateway, request_id, protocol)
        self._order, self._standing = order, standing
        self._reader: Reader | None = reader
        self._first_token_at: float | None = None
        self.answer = Answer(order, self._take)

    async def _run(self) -> AnswerOutcome:
        self._gateway.check_open()
        self._gateway.retry_budget.add_request()
        about = About("", self._order.characters, self._protocol, self._standing.client)
        await self._try(self._order.requirement(), self._standing, about, mode=ANSWER)
        answer = self.answer
        return AnswerOutcome(
            model=answer.model.name,
            revision=answer.model.revision,
            prompt_tokens=answer.prompt_tokens,
            tokens=len(answer.tokens),
            finish_reason=answer.finish_reason,
            queue_seconds=self._started_at - self._began_at,
            first_token_seconds=self._first_token_at - self._began_at,
            migrations=self._attempts.migrations,
        )

    # ------------------------------------------------------------------------------------ `attempts.Work`

    @property
    def patches(self) -> int:
        """Tokens committed so far."""
        return len(self.answer.tokens)

    async def use(self, ticket: Ticket, lease: Lease) -> None:
        """One attempt: what is missing of the answer."""
        lease.worker.remember(self._order.beginning)
        try:
            await self._relay(self.answer, ticket, lease)
            seconds = time.monotonic() - lease.granted_at
            lease.worker.service_time.observe(seconds)
            lease.worker.figures.served(seconds, 0.0)
        finally:
            ticket.audio_seconds = charge(self.answer.prompt_tokens, len(self.answer.tokens))

    def same_model(self) -> Requirement | None:
        """An answer that was begun stays with its model."""
        model = self.answer.model
        return self._order.requirement(model.revision, model.name) if self.answer.taken else None

    def lost(self, worker_id: str, reason: str) -> None:
        """A worker failed; nobody records it."""

    # ------------------------------------------------------------------------------------------------ within

    def _take(self, written: Written) -> None:
        self._attempts.heard(0.0)
        if self._first_token_at is None:
            self._first_token_at = time.monotonic()
            self.span.event("first token")
        self._reader.wrote(written)

    def _start(self, lease: Lease) -> None:
        self._first_start()

    def _queued(self, ticket: Ticket, position: int, eta_seconds: float | None) -> None:
        self._reader.waits(position, eta_seconds)

    def _let_go(self) -> None:
        self._reader = None  # which may refer to this

    def _record(self, outcome: str, status: int | None) -> None:
        answer, metrics = self.answer, self._metrics
        model = answer.model.name if answer.taken else self._order.model
        kind = Kind.of(model=model, voice=None, protocol=self._protocol, tenant=self._standing.tenant)
        account = self._account(outcome, status, kind, self._first_token_at)
        metrics.tokens.labels("prompt").inc(answer.prompt_tokens)
        metrics.tokens.labels("answer").inc(len(answer.tokens))
        if account.first_seconds is not None:
            metrics.first_token_seconds.observe(account.first_seconds, self.span.exemplar)
        if answer.tokens:
            self._gateway.pool.demand.answered(self._order.requirement(), charge(0, len(answer.tokens)))
        figures = {
            "first_token_seconds": account.first_seconds,
            "prompt_tokens": answer.prompt_tokens,
            "tokens": len(answer.tokens),
        }
        awaited = self._standing.priority is not Priority.BULK
        promised_seconds = account.first_seconds if awaited else None
        settle(self._gateway, account, figures, promised_seconds=promised_seconds, promise="first_token")
