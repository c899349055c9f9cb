"""The fleet's controller as the gateway knows it: what it last reported, and what it is asked for.

The controller (`voxfleet fleet up`) starts and stops workers, wherever they run. It reports every second, and
the answer holds all that it decides by. Operators read the report and leave orders here. An order stays until
a report shows that it is carried out, so that neither a lost answer nor a second one does harm.
"""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Callable
from typing import Any

from gateway.operations.event_log import EventLog
from gateway.operations.fleet_messages import FAILING_STARTS, FleetOrders, FleetReport
from gateway.operations.sayings import SAYINGS
from gateway.slots.capacity.worker import Worker
from gateway.slots.line.charge import charge
from gateway.slots.pool import WorkerPool
from gateway.slots.requirement import Requirement
from worker.protocol import Counters

FRESH_SECONDS = 10.0
"""A controller that was silent for longer is taken to be gone."""
_FAMILIES = ("fleet_up", "fleet_down")
"""Kinds of lines in the event log; what cannot be done is of the kind "fleet"."""


class FleetDesk:
    """Report and orders of one gateway."""

    def __init__(
        self,
        pool: WorkerPool,
        log: EventLog,
        clock: Callable[[], float] = time.monotonic,
        *,
        may_be_empty: bool = False,
    ) -> None:
        """`may_be_empty`: as long as no controller says more."""
        self._pool = pool
        self._log = log
        self._clock = clock
        self._may_be_empty = may_be_empty
        self._boot = secrets.token_hex(8)
        self._report: FleetReport | None = None
        self._heard_at = -math.inf
        self._orders = FleetOrders()
        self._last: dict[str, Any] | None = None
        pool.prospects = self.may_start
        pool.may_be_empty = self.may_be_empty

    @property
    def report(self) -> FleetReport | None:
        """The last one, of a controller that is there."""
        return self._report if self._clock() - self._heard_at < FRESH_SECONDS else None

    def may_start(self, requirement: Requirement) -> bool:
        """Whether the controller starts a worker for it once it is asked for."""
        report = self.report
        if report is None:
            return False
        workers = list(self._pool.workers.values())
        first = report.kinds[0].model
        return any(
            kind.most > 0
            and kind.scaled != 0
            and kind.failed_starts < FAILING_STARTS
            and kind.offers(requirement, kind.model == first, workers)
            for kind in report.kinds
        )

    def may_be_empty(self) -> bool:
        """Whether the fleet is to have no worker while nobody asks, and none failed to start."""
        report = self.report
        if report is None:
            return self._may_be_empty
        return all(
            (kind.least if kind.scaled is None else kind.scaled) == 0 and kind.failed_starts == 0
            for kind in report.kinds
        )

    def take(self, report: FleetReport) -> dict[str, Any]:
        """A report came; the answer has all that the next decision depends on."""
        self._report, self._heard_at = report, self._clock()
        self._pool.demand.objective_seconds = report.objective_seconds
        self._pool.demand.first_token_seconds = report.first_token_seconds
        for said in report.said:
            family = next((name for name in _FAMILIES if said.saying.startswith(name)), "fleet")
            self._log.say(family, said.kind, said.saying, **said.facts)
            self._last = {"kind": said.kind, "saying": said.saying, "facts": said.facts}
            self._last["message"] = SAYINGS[said.saying].format(**said.facts)
        scaled = {kind.kind: kind.scaled for kind in report.kinds}
        open_orders = {k: n for k, n in self._orders.workers.items() if k in scaled and scaled[k] != n}
        self._orders = FleetOrders(workers=open_orders, down=self._orders.down)
        return {
            "boot": self._boot,
            "orders": self._orders.model_dump(),
            "models": self._models(),
            "workers": [_seen(worker) for worker in self._pool.workers.values()],
        }

    def order(self, orders: FleetOrders, who: str) -> None:
        """Leave orders for the controller; those for other kinds stay."""
        self._orders = FleetOrders(
            workers={**self._orders.workers, **orders.workers}, down=self._orders.down or orders.down
        )
        for kind, count in orders.workers.items():
            if count is None:
                self._log.say("admin", kind, "order_by_need", who=who)
            else:
                self._log.say("admin", kind, "order_count", count=count, who=who)
        if orders.down:
            self._log.say("admin", "", "order_end", who=who)

    def describe(self) -> dict[str, Any]:
        """As JSON; `fleet` is null where no controller reports."""
        report = self.report
        fleet = None if report is None else report.model_dump(mode="json", exclude={"said"})
        return {"fleet": fleet, "orders": self._orders.model_dump(), "last": self._last}

    def _models(self) -> dict[str, dict[str, Any]]:
        """Totals and lines of each model, "" for requests that name none."""
        pool, now = self._pool, self._pool.now()
        waiting: dict[str, list[float]] = {}
        for requirement in pool.queue.requirements:
            since = [ticket.enqueued_at for ticket in pool.queue.lane(requirement)]
            waiting.setdefault(pool.demand.name_of(requirement), []).extend(since)
        models = {}
        for name in pool.demand.models.keys() | waiting.keys():
            demand, since = pool.demand.of(name), waiting.get(name, [])
            models[name] = {
                "requests": demand.requests,
                "audio_seconds_asked": demand.audio_seconds_asked,
                "first_audios": demand.first_audios,
                "late": demand.late,
                "refused": demand.refused,
                "underruns": demand.underruns,
                "waiting": len(since),
                "longest_wait_seconds": max((now - at for at in since), default=0.0),
                "last_request_seconds_ago": _ago(now, demand.last_request_at),
                "last_served_seconds_ago": _ago(now, demand.last_served_at),
            }
        return models


def _ago(now: float, at: float) -> float | None:
    return None if math.isinf(at) else max(now - at, 0.0)


def _seen(worker: Worker) -> dict[str, Any]:
    """`audio_seconds`: made since its process started; tokens as if they were spoken."""
    counters, model = Counters() if worker.status is None else worker.status.counters, worker.model
    return {
        "id": worker.id,
        "boot": worker.boot_id,
        "state": worker.state,
        "slots_used": worker.slots_used,
        "model": None if model is None else model.name,
        "writes": model is not None and model.kind == "text",
        "audio_seconds": counters.audio_seconds + charge(0, counters.tokens),
    }
