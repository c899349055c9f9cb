"""The way of the controller to all gateways of a fleet, which look like one to it.

What each counts is added up from the first look on, so that a gateway that is started again, or that has
served for days when a controller begins, adds what is new and no more. One that does not answer is left out
for as long as another one does.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import TypeVar

import httpx

from gateway.operations.fleet_messages import FleetOrders, FleetReport
from voxfleet.fleet.desk import TOTALS, Desk, DeskError, ModelSeen, Seen, WorkerSeen, admin_headers

T = TypeVar("T")
_BOOT = "all"
"""A boot id for totals that never begin again."""


class Desks:
    """See the module; each method is that of `Desk`."""

    def __init__(self, desks: Sequence[Desk]) -> None:
        self._desks = desks
        self._before: list[Seen | None] = [None] * len(desks)
        self._totals: dict[str, ModelSeen] = {}

    async def exchange(self, report: FleetReport) -> Seen:
        """Report to all, and hear what there is. What was said goes to one of them, since their log is one,
        and to one that has just answered: one that is late may have taken it all the same.

        Raises DeskError when none answers.
        """
        silent = report.model_copy(update={"said": []})
        answers: list[Seen | None] = []
        problem: DeskError | None = None
        for desk in self._desks:
            try:
                answers.append(await desk.exchange(silent))
            except DeskError as error:
                answers.append(None)
                problem = error
        heard = [answer for answer in answers if answer is not None]
        if not heard and problem is not None:
            raise problem
        if report.said:
            one = next(place for place, answer in enumerate(answers) if answer is not None)
            await self._desks[one].exchange(report)
        self._add_up(answers)
        return Seen(
            boot=_BOOT,
            orders=_orders(answer.orders for answer in heard),
            models={name: self._model(name, heard) for name in self._totals},
            workers=_workers(heard),
        )

    async def is_over(self) -> bool:
        """Whether an operator ended the fleet at one of them. Raises DeskError when none answers."""
        answers = await asyncio.gather(*(desk.is_over() for desk in self._desks), return_exceptions=True)
        return any(_of_those_that_answer(answers))

    async def drain(self, worker: str) -> None:
        """Have all move their streams. Raises DeskError when none does."""
        answers = await asyncio.gather(*(desk.drain(worker) for desk in self._desks), return_exceptions=True)
        _of_those_that_answer(answers)

    def _add_up(self, answers: Sequence[Seen | None]) -> None:
        for place, answer in enumerate(answers):
            if answer is None:
                continue
            before, self._before[place] = self._before[place], answer
            for name, model in answer.models.items():
                total = self._totals.setdefault(name, ModelSeen())
                if before is None:
                    continue
                known = before.models.get(name) if before.boot == answer.boot else None
                for field in TOTALS:
                    grown = getattr(model, field) - (getattr(known, field) if known is not None else 0)
                    setattr(total, field, getattr(total, field) + grown)

    def _model(self, name: str, heard: Sequence[Seen]) -> ModelSeen:
        """Totals of all, and their lines as they are."""
        now = [answer.models[name] for answer in heard if name in answer.models]
        return self._totals[name].model_copy(
            update={
                "waiting": sum(one.waiting for one in now),
                "longest_wait_seconds": max((one.longest_wait_seconds for one in now), default=0.0),
                "last_request_seconds_ago": _least(one.last_request_seconds_ago for one in now),
                "last_served_seconds_ago": _least(one.last_served_seconds_ago for one in now),
            }
        )


@asynccontextmanager
async def desks_of(urls: Sequence[str], token: str) -> AsyncIterator[Desks]:
    """The desks of the gateways at `urls`, open for as long as the block lasts."""
    headers = admin_headers(token)
    async with AsyncExitStack() as stack:
        clients = [
            await stack.enter_async_context(httpx.AsyncClient(base_url=url, headers=headers, trust_env=False))
            for url in urls
        ]
        yield Desks([Desk(http) for http in clients])


def _of_those_that_answer(answers: Sequence[T | BaseException]) -> list[T]:
    """Raises the first error that is no DeskError, and DeskError where there is nothing else."""
    errors = [answer for answer in answers if isinstance(answer, BaseException)]
    unexpected = [error for error in errors if not isinstance(error, DeskError)]
    if unexpected or len(errors) == len(answers):
        raise [*unexpected, *errors][0]
    return [answer for answer in answers if not isinstance(answer, BaseException)]


def _orders(given: Iterable[FleetOrders]) -> FleetOrders:
    merged = FleetOrders()
    for orders in given:
        merged = FleetOrders(workers=merged.workers | orders.workers, down=merged.down or orders.down)
    return merged


def _workers(heard: Sequence[Seen]) -> list[WorkerSeen]:
    """Each as those know it that are talking with it; one that drains for one of them drains for all."""
    found: dict[str, WorkerSeen] = {}
    for worker in (worker for answer in heard for worker in answer.workers):
        known = found.setdefault(worker.id, worker)
        if known is not worker:
            found[worker.id] = _merged(known, worker)
    return list(found.values())


def _merged(one: WorkerSeen, other: WorkerSeen) -> WorkerSeen:
    best = max(one, other, key=lambda seen: (seen.state == "DRAINING", seen.serving, seen.slots_used))
    return best.model_copy(
        update={
            "slots_used": max(one.slots_used, other.slots_used),
            "audio_seconds": max(one.audio_seconds, other.audio_seconds),
        }
    )


def _least(seconds: Iterable[float | None]) -> float | None:
    return min((one for one in seconds if one is not None), default=None)
