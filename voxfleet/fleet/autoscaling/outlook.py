"""One model as the autoscaler sees it: what is asked for, what its workers can make, what would be enough."""

from __future__ import annotations

from dataclasses import dataclass

from gateway.operations.fleet_messages import FAILING_STARTS
from voxfleet.fleet.autoscaling.demand import Demand, estimate, staffed
from voxfleet.fleet.autoscaling.rules import Rules, WorkerKind
from voxfleet.fleet.autoscaling.window import KindNow, ModelNow, Window

DECISION_SECONDS = 2.0
"""Between two decisions; a worker that is started now serves so much later at worst."""
_MEASURED_SLOT_SECONDS = 60.0
"""Slots have to have been in use for so long before their speed counts as measured."""
_STARTING_LATE_SHARE = 25.0
"""Workers are started when so many times the share of requests would wait that may. What lies between that
and what is started for keeps chance from starting and draining the same worker again and again.
"""
_MOST_OFF = 100.0
"""A speed that is further from the declared one by this factor is not believed."""


@dataclass(frozen=True)
class Part:
    """Workers of one kind, with what one of them can make."""

    kind: WorkerKind
    now: KindNow
    pace: float
    least: int

    @property
    def name(self) -> str:
        return self.kind.name

    @property
    def running(self) -> int:
        """Workers that serve, or load."""
        return self.now.serving + self.now.loading

    @property
    def capacity(self) -> float:
        """Audio seconds per second of one worker."""
        return self.kind.slots * self.pace

    @property
    def price(self) -> float:
        return self.kind.cost_per_hour / self.capacity

    @property
    def failing(self) -> bool:
        return self.now.failed_starts >= FAILING_STARTS

    @property
    def may_start(self) -> int:
        """By its own limit, and one at a time while starts fail."""
        room = max(self.kind.most - self.running - self.now.draining, 0)
        return min(room, max(1 - self.now.loading, 0)) if self.failing else room


@dataclass(frozen=True)
class Outlook:
    """One model: what is asked for, and what there is."""

    model: ModelNow
    demand: Demand
    pace: float
    parts: tuple[Part, ...]
    """The cheapest first."""
    too_little: float
    """Capacity below which workers are started, in audio seconds per second."""
    needed: float
    """Capacity that keeps the objective soon: what there is when they have started."""
    needed_lately: float
    wanted_at_all: bool
    """Asked for within the time after which the last worker drains."""

    @classmethod
    def of(cls, rules: Rules, window: Window, name: str) -> Outlook:
        seen = {now.kind: now for now in window.kinds}
        kinds = [
            (kind, seen.get(kind.name, KindNow(kind.name))) for kind in rules.kinds if kind.model == name
        ]
        pace = _common_pace(kinds)
        date = window.now if window.date is None else window.date
        parts = tuple(
            Part(kind, now, _pace(kind, now), _floor(rules, kind, now, date)) for kind, now in kinds
        )
        model = next((model for model in window.models if model.model == name), ModelNow(name, ()))
        horizon_seconds = max(map(_loading_seconds, kinds)) + DECISION_SECONDS
        demand = estimate(model.samples, window.now, pace, horizon_seconds, rules.settle_seconds)
        late_share = 1 - rules.objective.attained
        return cls(
            model,
            demand,
            pace,
            tuple(sorted(parts, key=lambda part: (part.price, part.name))),
            staffed(demand.slots_soon, min(_STARTING_LATE_SHARE * late_share, 0.5)) * pace,
            staffed(demand.slots_soon, late_share) * pace,
            staffed(demand.slots_lately, late_share) * pace,
            max(demand.slots_lately, demand.slots_soon) > 0
            or window.now - model.last_request_at < rules.idle_seconds,
        )

    @property
    def capacity(self) -> float:
        """Audio seconds per second of all workers that serve or load."""
        return sum(part.running * part.capacity for part in self.parts)

    @property
    def placed_capacity(self) -> float:
        """The `capacity` of workers that have a machine."""
        return sum((part.running - part.now.unplaced) * part.capacity for part in self.parts)

    @property
    def serving(self) -> int:
        return sum(part.now.serving for part in self.parts)

    @property
    def loading(self) -> int:
        return sum(part.now.loading for part in self.parts)

    @property
    def unplaced(self) -> int:
        """How many loading workers have no machine yet."""
        return sum(part.now.unplaced for part in self.parts)

    @property
    def waiting(self) -> int:
        """Requests in line."""
        return self.model.samples[-1].waiting if self.model.samples else 0


def _pace(kind: WorkerKind, now: KindNow) -> float:
    """Seconds of audio that a slot in use makes per second, as measured or else as declared."""
    declared = kind.audio_seconds_per_second / kind.slots
    if now.slot_seconds < _MEASURED_SLOT_SECONDS:
        return declared
    measured = now.audio_seconds_made / now.slot_seconds
    return min(max(measured, declared / _MOST_OFF), declared * _MOST_OFF)


def _common_pace(kinds: list[tuple[WorkerKind, KindNow]]) -> float:
    """The mean pace of slots in use over several kinds; see `_pace`."""
    slot_seconds = sum(now.slot_seconds for _, now in kinds)
    if slot_seconds < _MEASURED_SLOT_SECONDS:
        return _pace(*kinds[0])
    return sum(_pace(kind, now) * now.slot_seconds for kind, now in kinds) / slot_seconds


def _loading_seconds(seen: tuple[WorkerKind, KindNow]) -> float:
    kind, now = seen
    return kind.loading_seconds if now.loading_seconds is None else now.loading_seconds


def _floor(rules: Rules, kind: WorkerKind, now: KindNow, at: float) -> int:
    """The least workers of a kind, by its own rule and by schedules in force now or once a new one serves."""
    ahead_seconds = _loading_seconds((kind, now)) + DECISION_SECONDS
    scheduled = (
        floor.least
        for floor in rules.floors
        if floor.kind == kind.name and floor.begins_or_holds(at, ahead_seconds)
    )
    return min(max([kind.least, *scheduled]), kind.most)
