"""From totals that a gateway reports to the window that `decide` goes by: what changed between two looks."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from voxfleet.fleet.autoscaling.rules import Rules
from voxfleet.fleet.autoscaling.window import KindNow, ModelNow, Sample, Window
from voxfleet.fleet.desk import TOTALS, ModelSeen, Seen, WorkerSeen
from voxfleet.fleet.place import Member

_LEAST_SECONDS = 20.0
"""The least length of a window: a rise shows within ten, and is compared with the ten before."""
_LOOK_SECONDS = 1.0
_NEWEST_WEIGHT = 0.3


@dataclass(frozen=True)
class _Work:
    at: float
    made: float
    slot_seconds: float


class Observer:
    """Remembers the last look, and the samples of the last minutes."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self.announced: dict[str, str] = {}
        """By kind: the name that its workers give their model."""
        self.loading_seconds: dict[str, float] = {}
        """By kind, as measured."""
        self._seconds = max(rules.settle_seconds, _LEAST_SECONDS)
        self._boot = ""
        self._totals: dict[str, ModelSeen] = {}
        self._made: dict[tuple[str, str | None], float] = {}
        self._started: dict[str, float] = {}
        """Per worker that has not served yet: when it was first seen."""
        self._served: set[str] = set()
        self._samples: dict[str, deque[Sample]] = {name: deque() for name in rules.models}
        self._work: dict[str, deque[_Work]] = {kind.name: deque() for kind in rules.kinds}
        self._last_at: float | None = None

    def look(
        self, seen: Seen, members: Sequence[Member], failed_starts: Mapping[str, int], now: float
    ) -> Window:
        """`now`: a reading of a clock that never jumps."""
        seconds = _LOOK_SECONDS if self._last_at is None else min(max(now - self._last_at, 0.01), 10.0)
        self._last_at = now
        if seen.boot != self._boot:
            self._boot, self._totals = seen.boot, {}
        workers = {worker.id: worker for worker in seen.workers}
        self._note_members(members, workers, now)
        models = self._models(seen, members, workers, now, seconds)
        kinds = tuple(
            self._kind(kind.name, members, workers, failed_starts.get(kind.name, 0), now, seconds)
            for kind in self._rules.kinds
        )
        self._made = {(worker.id, worker.boot): worker.audio_seconds for worker in seen.workers}
        return Window(now, models, kinds)

    def _note_members(self, members: Sequence[Member], workers: Mapping[str, WorkerSeen], now: float) -> None:
        ids = {member.id for member in members}
        self._served &= ids
        self._started = {id: at for id, at in self._started.items() if id in ids}
        for member in members:
            worker = workers.get(member.id)
            if member.id not in self._served:
                self._started.setdefault(member.id, now)
            if worker is None or not worker.serving or member.id in self._served:
                continue
            self._served.add(member.id)
            took_seconds = now - self._started.pop(member.id)
            known = self.loading_seconds.get(member.kind, took_seconds)
            self.loading_seconds[member.kind] = known + _NEWEST_WEIGHT * (took_seconds - known)
            if worker.model is not None:
                self.announced[member.kind] = worker.model

    # ------------------------------------------------------------------------------------------------ models

    def _models(
        self,
        seen: Seen,
        members: Sequence[Member],
        workers: Mapping[str, WorkerSeen],
        now: float,
        seconds: float,
    ) -> tuple[ModelNow, ...]:
        found = []
        for name in self._rules.models:
            keys = [key for key in self._names_of(name) if key in seen.models]
            models = [seen.models[key] for key in keys]
            kinds = {kind.name for kind in self._rules.kinds if kind.model == name}
            own = [workers[one.id] for one in members if one.kind in kinds and one.id in workers]
            samples = self._samples[name]
            samples.append(
                Sample(
                    now,
                    seconds,
                    used=sum(worker.slots_used for worker in own),
                    waiting=sum(model.waiting for model in models),
                    longest_wait_seconds=max((model.longest_wait_seconds for model in models), default=0.0),
                    **{total: self._grown(total, keys, seen) for total in TOTALS},
                )
            )
            while samples[0].at < now - self._seconds:
                samples.popleft()
            asked = _latest(now, (model.last_request_seconds_ago for model in models))
            served = _latest(now, (model.last_served_seconds_ago for model in models))
            writes = any(worker.writes for worker in own)
            found.append(ModelNow(name, tuple(samples), asked, served, writes))
        self._totals = dict(seen.models)
        return tuple(found)

    def _grown(self, total: str, keys: Sequence[str], seen: Seen) -> float:
        """What was added to a total since the last look."""
        before = (self._totals.get(key, ModelSeen()) for key in keys)
        return sum(getattr(seen.models[key], total) for key in keys) - sum(
            getattr(model, total) for model in before
        )

    def _names_of(self, model: str) -> set[str]:
        """By which requests ask for it; those that name none mean the first of the fleet."""
        announced = {self.announced.get(kind.name) for kind in self._rules.kinds if kind.model == model}
        names = {name for name in announced if name} or {model, model.rpartition("/")[2]}
        return names | {""} if model == self._rules.models[0] else names

    # ------------------------------------------------------------------------------------------------- kinds

    def _kind(
        self,
        name: str,
        members: Sequence[Member],
        workers: Mapping[str, WorkerSeen],
        failed: int,
        now: float,
        seconds: float,
    ) -> KindNow:
        own = [member for member in members if member.kind == name]
        known = [(member, workers[member.id]) for member in own if member.id in workers]
        ending = {member.id for member in own if member.ending}
        draining = ending | {member.id for member, worker in known if worker.state == "DRAINING"}
        serving = {member.id for member, worker in known if worker.serving} - draining
        made = 0.0
        for _, worker in known:
            before = self._made.get((worker.id, worker.boot), worker.audio_seconds)
            made += max(worker.audio_seconds - before, 0.0)
        work = self._work[name]
        work.append(_Work(now, made, seconds * sum(worker.slots_used for _, worker in known)))
        while work[0].at < now - self._seconds:
            work.popleft()
        return KindNow(
            name,
            len(serving),
            len(own) - len(serving) - len(draining),
            len(draining),
            failed,
            self.loading_seconds.get(name),
            sum(one.made for one in work),
            sum(one.slot_seconds for one in work),
            sum(one.waits and one.id not in serving | draining for one in own),
        )


def _latest(now: float, seconds_ago: Iterable[float | None]) -> float:
    return max((now - ago for ago in seconds_ago if ago is not None), default=float("-inf"))
