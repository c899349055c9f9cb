"""What a fleet file asks for at one moment, before there is any traffic."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from voxfleet.fleet.autoscaling.autoscaler import decide
from voxfleet.fleet.autoscaling.demand import staffed
from voxfleet.fleet.autoscaling.rules import Rules, WorkerKind
from voxfleet.fleet.autoscaling.window import Window


@dataclass(frozen=True)
class KindPlan:
    """One kind of workers."""

    kind: str
    model: str
    starts: int
    """Now, by floors."""
    most: int
    streams: int
    """How many streams run at once, with `most` workers and the reserve that keeps the objective."""
    most_cost_per_hour: float

    def describe(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


def plan(rules: Rules, at: float) -> list[KindPlan]:
    """At `at`, seconds since 1970."""
    decision = decide(rules, Window(at, (), ()))
    return [_plan_of(kind, rules, decision.started(kind.name)) for kind in rules.kinds]


def _plan_of(kind: WorkerKind, rules: Rules, starts: int) -> KindPlan:
    most = min(kind.most, rules.budget.most_workers)
    if kind.cost_per_hour > 0:
        most = int(min(most, rules.budget.most_cost_per_hour / kind.cost_per_hour))
    streams = _streams(most * kind.slots, 1 - rules.objective.attained)
    return KindPlan(kind.name, kind.model, starts, most, streams, round(most * kind.cost_per_hour, 4))


def _streams(slots: int, late_share: float) -> int:
    """The most streams for which so many slots are enough."""
    low, high = 0, slots
    while low < high:
        middle = (low + high + 1) // 2
        if staffed(middle, late_share) <= slots:
            low = middle
        else:
            high = middle - 1
    return low
