"""A new version of a fleet file: workers that run what it said before are replaced, one after the other.

One more is started; when it serves, a former one drains. Where there is no room for one more, a former one
makes room first. A new version that does not start costs nothing: the former ones serve on.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from voxfleet.fleet.place import Member

NO_ROOM_SECONDS = 30.0
"""How long a replacement waits for a machine before a former worker makes room."""


@dataclass(frozen=True)
class Standing:
    """A worker, as its place and the gateway know it."""

    member: Member
    serving: bool
    slots_used: int

    @property
    def leaves(self) -> bool:
        """It drains, or was told to stop."""
        return self.member.draining or self.member.ending


@dataclass(frozen=True)
class Replace:
    """Start one more of a kind; `former` of it run what the file said before."""

    kind: str
    former: int


@dataclass(frozen=True)
class Retire:
    """Let a former worker drain."""

    worker: Standing


@dataclass
class _Replacement:
    id: str
    since: float
    paid: bool = False
    """A former worker has left for it."""


class Rolling:
    """Which step is next; at most one worker of the fleet leaves at a time."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._replacements: dict[str, _Replacement] = {}

    def started(self, kind: str, id: str) -> None:
        """The step `Replace` was taken."""
        self._replacements[kind] = _Replacement(id, self._clock())

    def step(self, workers: Sequence[Standing], kinds: Collection[str]) -> Replace | Retire | None:
        """`kinds`: those of the fleet file; former workers of others leave without a replacement."""
        former = [worker for worker in workers if worker.member.former and not worker.leaves]
        if not former:
            self._replacements.clear()
            return None
        if any(worker.leaves for worker in workers):
            return None
        for worker in former:
            if worker.member.kind not in kinds:
                return Retire(worker)
        for kind in kinds:
            own = [worker for worker in workers if worker.member.kind == kind]
            if any(worker.member.former for worker in own):
                return self._step_of(kind, own)
        return None

    def _step_of(self, kind: str, own: Sequence[Standing]) -> Replace | Retire | None:
        former = [worker for worker in own if worker.member.former]
        fresh = {worker.member.id: worker for worker in own if not worker.member.former}
        replacement = self._replacements.get(kind)
        if replacement is None or replacement.id not in fresh:
            loading = next((id for id, worker in fresh.items() if not worker.serving), None)
            if loading is None:
                return Replace(kind, len(former))
            self.started(kind, loading)
            return None
        if fresh[replacement.id].serving:
            del self._replacements[kind]
            return None if replacement.paid else _retire(former)
        waited_seconds = self._clock() - replacement.since
        no_room = not fresh[replacement.id].member.placed and waited_seconds > NO_ROOM_SECONDS
        if no_room and not replacement.paid:
            replacement.paid = True
            return _retire(former)
        return None


def _retire(former: Sequence[Standing]) -> Retire:
    """One that does not serve, then the one with the fewest streams."""
    return Retire(min(former, key=lambda one: (one.serving, one.slots_used, one.member.id)))
