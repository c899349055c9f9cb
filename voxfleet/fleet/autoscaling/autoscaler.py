"""How many workers of each kind: one pure function of rules and a window of what was seen.

    decide(rules, window) -> Decision(starts=(Start("h200", 3, why),), drain=None)

It follows audio asked for against measured capacity, and what listeners feel (waits, late first audio,
refusals, underruns); how busy a device is does not matter. Up: at once, by as many as are missing. Down: when
the last minutes did not need a worker, one drain at a time, and none while a worker of that model loads. One
that still waits for a machine does not load: it is the first to go.
"""

from __future__ import annotations

import math

from voxfleet.fleet.autoscaling.decision import Decision, Drain, Note, Reason, Start
from voxfleet.fleet.autoscaling.outlook import Outlook, Part
from voxfleet.fleet.autoscaling.rules import Rules
from voxfleet.fleet.autoscaling.window import Window

_FELT_SECONDS = 60.0
_FEW = 3
_RELIEF_SHARE = 0.05
_USE_OF_RELIEF = 0.5
_SLACK = 0.02
"""Capacity beyond what was needed lately that stays when a worker drains."""


def decide(rules: Rules, window: Window) -> Decision:
    """What is to be started and drained now, and why."""
    outlooks = [Outlook.of(rules, window, model) for model in rules.models]
    starts, notes = _starts(rules, outlooks)
    drain = _drain(rules, outlooks, {start.kind for start in starts})
    return Decision(tuple(starts), drain, tuple(notes))


# ------------------------------------------------------------------------------------------------------- up


def _starts(rules: Rules, outlooks: list[Outlook]) -> tuple[list[Start], list[Note]]:
    purse = _Purse(rules, outlooks)
    starts: list[Start] = []
    notes: list[Note] = []
    for part in (part for outlook in outlooks for part in outlook.parts):
        missing = part.least - part.running
        if count := purse.pay(part, min(missing, part.may_start)):
            starts.append(Start(part.name, count, Reason("fleet_up_floor", _facts(count, least=part.least))))
    for outlook in sorted(outlooks, key=lambda outlook: outlook.capacity - outlook.needed):
        begun = {start.kind: start.count for start in starts}
        missing, why = _missing(rules, outlook, begun)
        if why.saying == "fleet_no_help":
            notes.append(Note(outlook.parts[0].name, why))
        for part in outlook.parts:
            if missing <= 0:
                break
            wanted = math.ceil(missing / part.capacity - 1e-9)
            count = purse.pay(part, min(wanted, part.may_start - begun.get(part.name, 0)))
            missing -= count * part.capacity
            if count:
                starts.append(Start(part.name, count, Reason(why.saying, _facts(count, **why.facts))))
        if missing > 0:
            notes.append(_why_not(outlook, missing))
    return starts, notes


class _Purse:
    """What the budget has room for."""

    def __init__(self, rules: Rules, outlooks: list[Outlook]) -> None:
        parts = [part for outlook in outlooks for part in outlook.parts]
        every = [(part.kind, part.running + part.now.draining) for part in parts]
        self._workers = rules.budget.most_workers - sum(count for _, count in every)
        self._cost = rules.budget.most_cost_per_hour - sum(kind.cost_per_hour * n for kind, n in every)

    def pay(self, part: Part, wanted: int) -> int:
        """How many of the workers wanted it allows; they are paid for."""
        count = min(wanted, self._workers)
        if part.kind.cost_per_hour > 0 and math.isfinite(self._cost):
            count = min(count, math.floor(self._cost / part.kind.cost_per_hour + 1e-9))
        count = max(count, 0)
        self._workers -= count
        self._cost -= count * part.kind.cost_per_hour
        return count


def _missing(rules: Rules, outlook: Outlook, begun: dict[str, int]) -> tuple[float, Reason]:
    """Capacity to be added, in audio seconds per second, and the reason."""
    demand, model = outlook.demand, outlook.model.model
    capacity = outlook.capacity + sum(begun.get(part.name, 0) * part.capacity for part in outlook.parts)
    missing = outlook.needed - capacity if capacity < outlook.too_little else 0.0
    if capacity <= 0 and (demand.slots_soon > 0 or _refused_lately(outlook)):
        return max(missing, outlook.parts[0].capacity), Reason("fleet_up_cold", {"model": model})
    if missing <= 0:
        return _relief(rules, outlook) if not begun else (0.0, _NO_REASON)
    if outlook.waiting:
        oldest = outlook.model.samples[-1].longest_wait_seconds
        facts = {"waiting": outlook.waiting, "seconds": round(oldest, 1)}
        return missing, Reason("fleet_up_waiting", facts)
    if demand.rises:
        facts = {"before": round(demand.usual_per_second, 2), "now": round(demand.requests_per_second, 2)}
        return missing, Reason("fleet_up_rising", facts)
    facts = {
        "asked": round(demand.audio_seconds_per_second, 1),
        "needed": round(outlook.needed, 1),
        "capacity": round(capacity, 1),
    }
    return missing, Reason("fleet_up_demand", facts)


_NO_REASON = Reason("")


def _relief(rules: Rules, outlook: Outlook) -> tuple[float, Reason]:
    """More than the demand asks for, because listeners feel that it is too little.

    Only when all workers have served for a while: what was felt before they did says nothing about them.
    """
    if outlook.loading or not outlook.serving:
        return 0.0, _NO_REASON
    reason = _felt(rules, outlook)
    if reason is None:
        return 0.0, _NO_REASON
    slots = sum(part.now.serving * part.kind.slots for part in outlook.parts)
    refused = reason.saying == "fleet_up_refused"
    if not refused and outlook.demand.slots_now < _USE_OF_RELIEF * slots:
        return 0.0, Reason("fleet_no_help", {"used": round(outlook.demand.slots_now), "slots": slots})
    return max(_RELIEF_SHARE * outlook.capacity, outlook.parts[0].capacity), reason


def _felt(rules: Rules, outlook: Outlook) -> Reason | None:
    """What listeners felt that they should not, since the last worker began to serve."""
    samples = outlook.model.samples
    if not samples:
        return None
    since = max(samples[-1].at - _FELT_SECONDS, outlook.model.last_served_at)
    recent = [sample for sample in samples if sample.at - sample.seconds >= since]
    heard = sum(sample.first_audios for sample in recent)
    if refused := sum(sample.refused for sample in recent):
        return Reason("fleet_up_refused", {"refused": refused})
    allowed = max((1 - rules.objective.attained) * heard, _FEW - 1)
    late = sum(sample.late for sample in recent)
    if late > allowed:
        objective, writes = rules.objective, outlook.model.writes
        seconds = objective.first_token_seconds if writes else objective.first_audio_seconds
        return Reason("fleet_up_late", {"late": late, "heard": heard, "seconds": seconds})
    underruns = sum(sample.underruns for sample in recent)
    return Reason("fleet_up_underruns", {"underruns": underruns}) if underruns > allowed else None


def _refused_lately(outlook: Outlook) -> bool:
    return any(sample.refused for sample in outlook.model.samples[-5:])


def _why_not(outlook: Outlook, missing: float) -> Note:
    for part in outlook.parts:
        if part.failing:
            return Note(part.name, Reason("fleet_starts_fail", {"failed": part.now.failed_starts}))
    cheapest = outlook.parts[0]
    return Note(cheapest.name, Reason("fleet_budget", {"count": math.ceil(missing / cheapest.capacity)}))


# ----------------------------------------------------------------------------------------------------- down


def _drain(rules: Rules, outlooks: list[Outlook], starting: set[str]) -> Drain | None:
    parts = [part for outlook in outlooks for part in outlook.parts]
    if any(part.now.draining for part in parts):
        return None
    for outlook in outlooks:
        if outlook.loading > outlook.unplaced or any(part.name in starting for part in outlook.parts):
            continue
        dearest_first = list(reversed(outlook.parts))
        for part in dearest_first:
            if part.now.unplaced and part.running > part.least and _may_give_up(rules, outlook, part, parts):
                reason = Reason("fleet_down_unplaced", {"waiting": part.now.unplaced})
                return Drain(part.name, reason, unplaced=True)
        for part in dearest_first:
            if part.now.serving > part.least and (reason := _why_unneeded(rules, outlook, part, parts)):
                return Drain(part.name, reason)
    return None


def _may_give_up(rules: Rules, outlook: Outlook, part: Part, parts: list[Part]) -> bool:
    """Whether one that waits for a machine is not needed any more."""
    if outlook.serving + outlook.loading == 1:
        return not outlook.wanted_at_all
    return _is_over(rules, part, parts) or _is_enough(outlook, outlook.capacity - part.capacity)


def _why_unneeded(rules: Rules, outlook: Outlook, part: Part, parts: list[Part]) -> Reason | None:
    """Why one worker less will do; None when it will not."""
    if _is_over(rules, part, parts):
        running = part.running if part.running > part.kind.most else sum(part.running for part in parts)
        most = min(rules.budget.most_workers, part.kind.most)
        return Reason("fleet_down_budget", {"running": running, "most": most})
    if outlook.serving == 1:
        minutes = round(rules.idle_seconds / 60)
        facts = {"model": outlook.model.model, "minutes": minutes}
        return None if outlook.wanted_at_all else Reason("fleet_down_idle", facts)
    if not _is_enough(outlook, outlook.placed_capacity - part.capacity) or _felt(rules, outlook):
        return None
    needed = math.ceil(outlook.needed_lately / part.capacity)
    minutes = round(rules.settle_seconds / 60, 1)
    return Reason("fleet_down", {"needed": needed, "running": outlook.serving, "minutes": minutes})


def _is_over(rules: Rules, part: Part, parts: list[Part]) -> bool:
    """Whether there are more workers than the kind, or the budget, may have."""
    cost = sum(part.running * part.kind.cost_per_hour for part in parts)
    running = sum(part.running for part in parts)
    over = running > rules.budget.most_workers or cost > rules.budget.most_cost_per_hour
    return over or part.running > part.kind.most


def _is_enough(outlook: Outlook, capacity: float) -> bool:
    return capacity >= (1 + _SLACK) * max(outlook.needed_lately, outlook.needed)


def _facts(count: int, **facts: str | int | float) -> dict[str, str | int | float]:
    return {"count": count, **facts}
