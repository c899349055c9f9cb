"""The loop: once a second it looks, decides and carries out; an `Overseer` of the supervisor.

    report -> gateway -> what was asked for, felt and ordered -> decide -> the place starts or stops workers

A gateway that does not answer for a while changes nothing: nothing is decided without having looked.
"""

from __future__ import annotations

import asyncio
import math
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace

from gateway.operations.fleet_messages import FleetReport, KindReport, Said
from voxfleet.fleet.autoscaling.autoscaler import decide
from voxfleet.fleet.autoscaling.choice import WorkerNow, whom_to_drain
from voxfleet.fleet.autoscaling.decision import Decision, Drain, Note, Reason, Start
from voxfleet.fleet.autoscaling.rules import Rules
from voxfleet.fleet.autoscaling.window import KindNow, Window
from voxfleet.fleet.desk import DeskError, Seen, WorkerSeen
from voxfleet.fleet.desks import Desks
from voxfleet.fleet.log import get_logger
from voxfleet.fleet.observation import Observer
from voxfleet.fleet.place import Member, Place, PlaceFull
from voxfleet.fleet.rolling import Replace, Retire, Rolling, Standing

logger = get_logger(__name__)

TURN_SECONDS = 1.0
_SAY_AGAIN_SECONDS = 300.0
"""What cannot be done is said again after so long."""
_MOST_SAID = 100


class Controller:
    """Keeps as many workers in a place as are needed."""

    def __init__(
        self,
        rules: Rules,
        place: Place,
        desk: Desks,
        say: Callable[[str], None] = lambda message: None,
        clock: Callable[[], float] = time.time,
        stopwatch: Callable[[], float] = time.monotonic,
        scaled: Mapping[str, int] | None = None,
        keep_scaled: Callable[[Mapping[str, int]], None] = lambda scaled: None,
    ) -> None:
        """`say`: for whoever started it. `clock`: seconds since 1970; it may be set while the fleet runs.
        `scaled`: how many of a kind were ordered before; `keep_scaled` gets it when it changes.
        """
        self._rules = rules
        self._place = place
        self._desk = desk
        self._say = say
        self._clock, self._stopwatch = clock, stopwatch
        self._observer = Observer(rules)
        self._scaled = {kind.name: scaled[kind.name] for kind in rules.kinds if kind.name in (scaled or {})}
        """By order of an operator."""
        self._keep_scaled = keep_scaled
        self._rolling = Rolling()
        self._said: list[Said] = []
        self._notes: dict[tuple[str, str], float] = {}
        """When what cannot be done was last said."""
        self._window = Window(stopwatch(), (), tuple(KindNow(kind.name) for kind in rules.kinds), clock())
        self._problem: str | None = None
        self._answered = False
        """A gateway that has just been started does not answer yet."""

    async def run(self) -> None:
        """Returns when an operator ends the fleet."""
        members = Counter(member.kind for member in self._place.members())
        kinds = tuple(KindNow(kind.name, loading=members[kind.name]) for kind in self._rules.kinds)
        self._window = Window(self._stopwatch(), (), kinds, self._clock())
        await self._carry_out(decide(self._rules, self._window))  # what schedules ask for waits for nobody
        while await self._safe_turn():  # noqa: ASYNC110 - it asks, and waits for nobody
            await asyncio.sleep(TURN_SECONDS)

    async def _safe_turn(self) -> bool:
        """A defect here must not end workers that speak."""
        try:
            return await self.turn()
        except Exception as error:
            logger.exception("the controller failed, and tries again")
            self._note_problem(f"the controller failed: {type(error).__name__}")
            return True

    async def turn(self) -> bool:
        """Look, decide and carry out, once. False when the fleet is to end."""
        said, self._said = self._said, []
        try:
            seen = await self._desk.exchange(self._report(said))
        except DeskError as error:
            self._said = [*said, *self._said][-_MOST_SAID:]
            if self._answered:
                self._note_problem(str(error))
            return True
        self._answered, self._problem = True, None
        if seen.orders.down:
            self._say("the fleet ends, by order")
            return False
        self._take_orders(seen)
        await self._stop_drained(seen)
        failed = {kind.name: self._place.failed_starts(kind.name) for kind in self._rules.kinds}
        window = self._observer.look(seen, self._place.members(), failed, self._stopwatch())
        self._window = replace(window, date=self._clock())
        decision = decide(self._ordered_rules(), self._window)
        if await self._roll(seen):  # which decides itself who drains
            decision = replace(decision, drain=None)
        await self._carry_out(decision, seen)
        return True

    def _report(self, said: list[Said]) -> FleetReport:
        now = {kind.kind: kind for kind in self._window.kinds}
        kinds = [
            KindReport(
                kind=kind.name,
                model=kind.model,
                announced=self._observer.announced.get(kind.name),
                least=kind.least,
                most=kind.most,
                serving=now[kind.name].serving,
                loading=now[kind.name].loading,
                draining=now[kind.name].draining,
                failed_starts=now[kind.name].failed_starts,
                former=sum(one.kind == kind.name and one.former for one in self._place.members()),
                version=kind.version,
                unplaced=now[kind.name].unplaced,
                scaled=self._scaled.get(kind.name),
            )
            for kind in self._rules.kinds
        ]
        objective = self._rules.objective
        return FleetReport(
            place=self._place.name,
            objective_seconds=objective.first_audio_seconds,
            first_token_seconds=objective.first_token_seconds,
            kinds=kinds,
            said=said,
        )

    def _take_orders(self, seen: Seen) -> None:
        before = dict(self._scaled)
        for kind in self._rules.kinds:
            if kind.name not in seen.orders.workers:
                continue
            count = seen.orders.workers[kind.name]
            if count is None:
                self._scaled.pop(kind.name, None)
            else:
                self._scaled[kind.name] = min(count, kind.most)
        if self._scaled != before:
            self._keep_scaled(self._scaled)

    def _ordered_rules(self) -> Rules:
        """As the file says, except for kinds of which a number was ordered."""
        kinds = (
            replace(kind, least=self._scaled[kind.name], most=self._scaled[kind.name])
            if kind.name in self._scaled
            else kind
            for kind in self._rules.kinds
        )
        return replace(self._rules, kinds=tuple(kinds))

    # ------------------------------------------------------------------------------------------- carried out

    async def _carry_out(self, decision: Decision, seen: Seen | None = None) -> None:
        for start in decision.starts:
            self._start(start)
        if decision.drain is not None and seen is not None:
            if decision.drain.unplaced:
                self._give_up(decision.drain, seen)
            else:
                await self._drain(decision.drain, seen)
        for note in decision.notes:
            self._tell_now_and_then(note)

    def _start(self, start: Start) -> str | None:
        """The id of the last one that was started."""
        started: list[str] = []
        try:
            for _ in range(start.count):
                started.append(self._place.start(start.kind))
        except PlaceFull as error:
            self._note_problem(str(error))
        if not started:
            return None
        facts = {**start.reason.facts, "count": len(started)}
        self._tell(start.kind, Reason(start.reason.saying, facts))
        return started[-1]

    def _give_up(self, drain: Drain, seen: Seen) -> None:
        """The last one of the kind that waits for a machine waits no more."""
        serving = {worker.id for worker in seen.workers if worker.serving}
        waiting = [one.id for one in self._place.members() if one.kind == drain.kind and one.waits]
        if chosen := [id for id in waiting if id not in serving]:
            self._place.stop(chosen[-1])
            self._tell(drain.kind, drain.reason)

    async def _drain(self, drain: Drain, seen: Seen) -> None:
        known = {worker.id: worker for worker in seen.workers}
        running = [
            _now(one, known[one.id]) for one in self._place.members() if one.id in known and not one.ending
        ]
        chosen = whom_to_drain(running, drain.kind)
        if chosen is not None and await self._drain_one(chosen.id):
            self._tell(drain.kind, drain.reason)

    async def _drain_one(self, id: str) -> bool:
        try:
            await self._desk.drain(id)
        except DeskError as error:
            self._note_problem(str(error))
            return False
        self._place.drain(id)
        return True

    async def _roll(self, seen: Seen) -> bool:
        """The next step towards the present version of the fleet file; whether there is anything to do."""
        known = {worker.id: worker for worker in seen.workers}
        workers = [_standing(member, known.get(member.id)) for member in self._place.members()]
        if not any(worker.member.former for worker in workers):
            return False
        match self._rolling.step(workers, [kind.name for kind in self._rules.kinds]):
            case Replace(kind, former):
                reason = Reason("fleet_up_version", {"former": former})
                if (started := self._start(Start(kind, 1, reason))) is not None:
                    self._rolling.started(kind, started)
            case Retire(worker):
                await self._retire(worker)
        return True

    async def _retire(self, worker: Standing) -> None:
        if not worker.serving:
            self._place.drain(worker.member.id)
        elif not await self._drain_one(worker.member.id):
            return
        self._tell(worker.member.kind, Reason("fleet_down_version"))

    async def _stop_drained(self, seen: Seen) -> None:
        """Stop drained workers that serve nobody, or that the gateway no longer knows. One that was started
        again meanwhile drains again.
        """
        known = {worker.id: worker for worker in seen.workers}
        for member in self._place.members():
            if not member.draining or member.ending:
                continue
            worker = known.get(member.id)
            if worker is None or not worker.slots_used:
                self._place.stop(member.id)
            elif worker.serving:
                await self._drain_one(member.id)

    def _tell_now_and_then(self, note: Note) -> None:
        said, now = (note.kind, note.reason.saying), self._stopwatch()
        if now - self._notes.get(said, -math.inf) >= _SAY_AGAIN_SECONDS:
            self._notes[said] = now
            self._tell(note.kind, note.reason)

    def _tell(self, kind: str, reason: Reason) -> None:
        self._said.append(Said(kind=kind, saying=reason.saying, facts=dict(reason.facts)))
        del self._said[:-_MOST_SAID]

    def _note_problem(self, problem: str | None) -> None:
        if problem is not None and problem != self._problem:
            self._say(problem)
        self._problem = problem


def _now(member: Member, seen: WorkerSeen) -> WorkerNow:
    return WorkerNow(member.id, member.kind, seen.serving, seen.slots_used, zone=member.zone)


def _standing(member: Member, seen: WorkerSeen | None) -> Standing:
    return Standing(member, seen is not None and seen.serving, seen.slots_used if seen is not None else 0)
