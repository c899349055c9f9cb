"""The clock of the machine is set while a fleet runs: its workers stay what they were."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from voxfleet.fleet.autoscaling.rules import Rules, ScheduledFloor, WorkerKind
from voxfleet.fleet.controller import TURN_SECONDS, Controller
from voxfleet.fleet.desk import Seen
from voxfleet.fleet.place import Member

NOON = 1_800_014_400.0
LOADING_SECONDS = 30.0
GPU = WorkerKind("gpu", "alpha", slots=8, audio_seconds_per_second=32.0, least=1, most=10)


class World:
    """A place in which time passes; the traffic stays the same: 48 seconds of audio a second, in 12 slots."""

    name = "world"

    def __init__(self, **rules: Any) -> None:
        self.passed = self.jumped = 0.0
        self.workers: list[Member] = []
        self.began: dict[str, float] = {}
        self.made: Counter[str] = Counter()
        self.controller = Controller(
            Rules((GPU,), settle_seconds=60.0, **rules),
            self,
            Desk(self),
            clock=self.date,
            stopwatch=self.time,
        )

    def date(self) -> float:
        return NOON + self.passed + self.jumped

    def time(self) -> float:
        return self.passed

    async def turns(self, seconds: float) -> None:
        for _ in range(round(seconds / TURN_SECONDS)):
            self.passed += TURN_SECONDS
            ready = self.ready()
            for id in ready:
                self.made[id] += 48 * TURN_SECONDS / len(ready)
            assert await self.controller.turn()

    def ready(self) -> list[str]:
        return [one.id for one in self.workers if self.passed - self.began[one.id] >= LOADING_SECONDS]

    def start(self, kind: str) -> str:
        id = f"gpu-{len(self.began)}"
        self.workers.append(Member(id, kind))
        self.began[id] = self.passed
        return id

    def drain(self, id: str) -> None:
        self.stop(id)

    def stop(self, id: str) -> None:
        self.workers = [worker for worker in self.workers if worker.id != id]

    def members(self) -> list[Member]:
        return self.workers

    def failed_starts(self, kind: str) -> int:
        return 0


class Desk:
    """What a gateway of the world tells."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def drain(self, id: str) -> None:
        """It has nothing left to say at once."""

    async def exchange(self, report: object) -> Seen:
        world, ready = self._world, self._world.ready()
        requests = int(4 * world.passed)
        workers = [
            {
                "id": one.id,
                "boot": "b",
                "model": "alpha",
                "state": "BUSY" if one.id in ready else "LOADING",
                "slots_used": 12 // len(ready) if one.id in ready else 0,
                "audio_seconds": world.made[one.id],
            }
            for one in world.workers
        ]
        alpha = {"requests": requests, "audio_seconds_asked": 12.0 * requests, "first_audios": requests}
        alpha |= {"last_request_seconds_ago": 0.1}
        return Seen.model_validate(
            {"boot": "b", "orders": {}, "models": {"alpha": alpha}, "workers": workers}
        )


@pytest.mark.parametrize("jump", [-3600.0, 3600.0])
@pytest.mark.parametrize("before", [10.0, 120.0], ids=["while they load", "while they serve"])
async def test_a_clock_that_is_set_starts_and_drains_nobody(jump: float, before: float) -> None:
    one, other = World(), World()
    for world in (one, other):
        await world.turns(before)
    other.jumped = jump
    for world in (one, other):
        await world.turns(300)
    assert one.began and one.began == other.began and one.workers == other.workers


async def test_schedules_go_by_the_clock_as_it_is_set() -> None:
    minute = round(NOON % 86_400 / 60) + 90
    world = World(floors=(ScheduledFloor("gpu", 9, minute, minute + 60),))
    await world.turns(60)
    assert len(world.workers) < 9
    world.jumped = 2 * 3600.0
    await world.turns(60)
    assert len(world.workers) == 9
