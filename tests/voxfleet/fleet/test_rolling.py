"""A new version of a fleet file replaces workers one by one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from voxfleet.fleet.place import Member
from voxfleet.fleet.rolling import NO_ROOM_SECONDS, Replace, Retire, Rolling, Standing


class Stage:
    """Workers that do at once what they are told, but for loading."""

    def __init__(self, former: int = 3) -> None:
        self.now = 0.0
        self.rolling = Rolling(lambda: self.now)
        self.workers = [standing(f"desk-{number}", former=True, used=number) for number in range(former)]
        self.started = 0

    def step(self) -> Replace | Retire | None:
        step = self.rolling.step(self.workers, ["desk"])
        if isinstance(step, Replace):
            self.started += 1
            self.workers.append(standing(f"new-{self.started}", serving=False))
            self.rolling.started("desk", f"new-{self.started}")
        if isinstance(step, Retire):
            self.change(step.worker.member.id, draining=True)
        return step

    def change(self, id: str, serving: bool | None = None, **member: bool) -> None:
        place = next(place for place, one in enumerate(self.workers) if one.member.id == id)
        one = self.workers[place]
        serving = one.serving if serving is None else serving
        self.workers[place] = Standing(replace(one.member, **member), serving, one.slots_used)

    def gone(self, id: str) -> None:
        self.workers = [one for one in self.workers if one.member.id != id]

    def serving(self) -> int:
        return sum(one.serving and not one.leaves for one in self.workers)


def standing(
    id: str,
    serving: bool = True,
    former: bool = False,
    used: int = 0,
    placed: bool = True,
    kind: str = "desk",
) -> Standing:
    return Standing(Member(id, kind, former=former, placed=placed), serving, used)


def test_each_is_replaced_by_one_that_serves_and_never_more_than_one_at_a_time() -> None:
    stage, retired = Stage(), []
    for number in range(1, 4):
        assert stage.step() == Replace("desk", 4 - number)
        assert stage.step() is None  # it loads
        stage.change(f"new-{number}", serving=True)
        step = stage.step()
        assert isinstance(step, Retire)
        assert stage.serving() == 3
        assert stage.step() is None  # it drains
        retired.append(step.worker.member.id)
        stage.gone(retired[-1])
    assert retired == ["desk-0", "desk-1", "desk-2"]  # the one with the fewest streams first
    assert stage.step() is None
    assert stage.serving() == 3


def test_a_version_that_does_not_start_costs_no_worker() -> None:
    stage = Stage()
    stage.step()
    stage.now += 10 * NO_ROOM_SECONDS
    assert stage.step() is None
    stage.gone("new-1")  # the place gave up
    assert stage.step() == Replace("desk", 3)
    assert stage.serving() == 3


def test_where_there_is_no_room_a_former_worker_makes_room_once() -> None:
    stage = Stage(former=2)
    stage.step()
    stage.change("new-1", placed=False)
    assert stage.step() is None
    stage.now += NO_ROOM_SECONDS + 1
    assert isinstance(stage.step(), Retire)
    stage.gone("desk-0")
    assert stage.step() is None
    stage.change("new-1", placed=True, serving=True)
    assert stage.step() is None  # one has left for it already
    assert stage.step() == Replace("desk", 1)


def test_a_former_worker_that_does_not_serve_leaves_first() -> None:
    stage = Stage()
    stage.change("desk-2", serving=False)
    stage.step()
    stage.change("new-1", serving=True)
    step = stage.step()
    assert isinstance(step, Retire)
    assert step.worker.member.id == "desk-2"


def test_another_controller_waits_for_the_replacement_that_loads() -> None:
    stage = Stage()
    stage.step()
    stage.rolling = Rolling(lambda: stage.now)
    assert stage.step() is None
    assert stage.started == 1
    stage.change("new-1", serving=True)
    assert isinstance(stage.step(), Retire)


@pytest.mark.parametrize("leaving", [{"draining": True}, {"ending": True}])
def test_nobody_leaves_while_another_worker_of_the_fleet_does(leaving: dict[str, bool]) -> None:
    stage = Stage()
    other = standing("cpu-1", kind="cpu")
    stage.workers.append(Standing(replace(other.member, **leaving), other.serving, 0))
    assert stage.step() is None


def test_workers_that_the_file_does_not_name_leave_without_a_replacement() -> None:
    stage = Stage(former=0)
    stage.workers.append(standing("gone-1", former=True, kind="gone"))
    assert isinstance(stage.step(), Retire)
    assert stage.started == 0
