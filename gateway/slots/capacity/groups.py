"""The workers of a pool by the model they serve; in each group those with room, the least loaded first.

A decision looks at groups, of which there are few, and not at workers, of which there may be a thousand. Who
changes a worker says so by `touch`.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from gateway.slots.capacity.worker import Worker
from gateway.slots.requirement import Requirement
from worker.protocol import AnyModel

WARM_CACHE_IS_WORTH = 0.5
"""In units of load, which goes from 0 to 1: a worker that spoke with a voice lately, or answered in a
conversation, has it in its caches.
"""


class Group:
    """Workers that serve the same model: what one of them could serve, each of them could."""

    def __init__(self, model: AnyModel) -> None:
        self.model = model
        self.members = 0
        self.serving: dict[str, Worker] = {}
        """By id; they take requests, if not now then when a slot is free."""
        self.sharing: dict[str, Worker] = {}
        """Those of them that hand out slots among gateways, and have some that this one does not use."""
        self.ready: list[tuple[float, int, Worker]] = []
        """Load and number of those with room now, sorted."""

    def offers(self, requirement: Requirement) -> bool:
        """Whether its model is what the requirement asks for."""
        return requirement.met_by(self.model)

    def serves_without(self, excluded: Collection[str]) -> bool:
        """Whether a worker besides those `excluded` takes requests."""
        return any(id not in excluded for id in self.serving)

    def has_room_without(self, excluded: Collection[str]) -> bool:
        """Whether a worker besides those `excluded` has room now."""
        return any(worker.id not in excluded for _, _, worker in self.ready)

    def least_loaded(self, affinity: str | None, excluded: Collection[str]) -> tuple[float, Worker]:
        """Whom to give a request to, and its load; there is somebody.

        Load counts less where the caches hold what `affinity` names. Those `excluded` only where there is
        nobody else.
        """
        if excluded and not self.has_room_without(excluded):
            excluded = ()
        best: tuple[float, Worker] | None = None
        for load, _, worker in self.ready:
            if best is not None and load - WARM_CACHE_IS_WORTH >= best[0]:
                break
            if worker.id in excluded:
                continue
            if affinity and worker.has_cached(affinity):
                if best is None or load - WARM_CACHE_IS_WORTH < best[0]:
                    best = load - WARM_CACHE_IS_WORTH, worker
                break
            if best is None:
                best = load, worker
                if not affinity:
                    break
        assert best is not None, "asked only where a worker has room"
        return best


@dataclass
class _Place:
    """The place of a worker in its group."""

    worker: Worker
    number: int
    group: Group | None = None
    load: float | None = None


class Groups:
    """All groups, kept in order by `touch`."""

    def __init__(self) -> None:
        self._groups: list[Group] = []
        self._places: dict[str, _Place] = {}
        self._numbers = itertools.count()

    def __iter__(self) -> Iterator[Group]:
        return iter(self._groups)

    def with_room(self) -> Iterator[Group]:
        """The groups in which a worker has room now."""
        return (group for group in self._groups if group.ready)

    def offering(self, requirement: Requirement) -> list[Group]:
        """The groups that could serve the requirement, if not now then when a slot is free."""
        return [group for group in self._groups if group.serving and group.offers(requirement)]

    def serves(self, requirement: Requirement) -> bool:
        """Whether a worker that serves could take it."""
        return any(group.serving and group.offers(requirement) for group in self._groups)

    def add(self, worker: Worker) -> None:
        """The worker is one of the pool from now on."""
        self._places[worker.id] = _Place(worker, next(self._numbers))
        self.touch(worker)

    def touch(self, worker: Worker) -> None:
        """Something about the worker may have changed. One that is not of the pool is none of ours."""
        place = self._places.get(worker.id)
        if place is None or place.worker is not worker:
            return
        group = self._group_of(worker, place.group)
        if group is not place.group:
            self._leave(place)
            self._join(group, place)
        if group is None:
            return
        _keep(group.serving, worker, worker.serving)
        _keep(group.sharing, worker, worker.sharing.open and worker.wants_work())
        load = worker.load if worker.has_room() else None
        if load != place.load:
            _move(group, place, load)

    def forget(self, worker: Worker) -> None:
        """The worker is no longer one of the pool."""
        place = self._places.get(worker.id)
        if place is not None and place.worker is worker:
            del self._places[worker.id]
            self._leave(place)

    def _group_of(self, worker: Worker, current: Group | None) -> Group | None:
        model = worker.model
        if model is None or (current is not None and (current.model is model or current.model == model)):
            return current if model is not None else None
        for group in self._groups:
            if group.model == model:
                return group
        self._groups.append(Group(model))
        return self._groups[-1]

    def _join(self, group: Group | None, place: _Place) -> None:
        place.group = group
        if group is not None:
            group.members += 1

    def _leave(self, place: _Place) -> None:
        group = place.group
        if group is None:
            return
        _move(group, place, None)
        group.serving.pop(place.worker.id, None)
        group.sharing.pop(place.worker.id, None)
        place.group = None
        group.members -= 1
        if not group.members:
            self._groups.remove(group)


def _keep(workers: dict[str, Worker], worker: Worker, there: bool) -> None:
    if there:
        workers.setdefault(worker.id, worker)
    else:
        workers.pop(worker.id, None)


def _move(group: Group, place: _Place, load: float | None) -> None:
    """To its place among those with room; `load` is None for one without."""
    if place.load is not None:
        del group.ready[bisect.bisect_left(group.ready, (place.load, place.number))]
    if load is not None:
        bisect.insort(group.ready, (load, place.number, place.worker))
    place.load = load
