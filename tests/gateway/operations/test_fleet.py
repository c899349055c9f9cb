"""The controller's reports, operators' orders, and requests that are held while a worker is started."""

from __future__ import annotations

from pathlib import Path

import pytest
from pydantic import ValidationError

from gateway.database import Database
from gateway.errors import ApiError
from gateway.metrics import Metrics
from gateway.operations.event_log import EventLog
from gateway.operations.fleet import FRESH_SECONDS, FleetDesk
from gateway.operations.fleet_messages import FleetOrders, FleetReport, Said
from gateway.settings import load_settings
from gateway.slots.line.standing import Priority, Standing
from gateway.slots.pool import WorkerPool
from gateway.slots.requirement import Requirement

DESK = {"kind": "desk", "model": "synthetic", "least": 0, "most": 3}
OTHER = {"kind": "cellar", "model": "owner/other", "least": 0, "most": 1}


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Stage:
    """A gateway's pool and desk, without workers."""

    def __init__(self, folder: Path) -> None:
        self.clock = Clock()
        self.pool = WorkerPool([], max_queue=2, no_worker_grace_seconds=1, clock=self.clock)
        self.log = EventLog(Database(load_settings(data_dir=folder).database))
        self.desk = FleetDesk(self.pool, self.log, self.clock)

    def report(self, *kinds: dict, **more: object) -> dict:
        report = {"place": "local", "objective_seconds": 0.5, "kinds": list(kinds), **more}
        return self.desk.take(FleetReport.model_validate(report))


@pytest.fixture
async def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


async def test_a_request_is_held_while_the_controller_can_start_a_worker_for_it(stage: Stage) -> None:
    with pytest.raises(ApiError, match="no worker"), stage.pool.admit("r", Requirement()):
        pass
    stage.report(DESK, OTHER)
    with stage.pool.admit("r", Requirement(model="synthetic"), standing=Standing(audio_seconds=3)) as ticket:
        stage.clock.now += 2
        model = stage.report(DESK, OTHER)["models"]["synthetic"]
        assert ticket.lease is None
    held = ("requests", "audio_seconds_asked", "waiting", "longest_wait_seconds", "last_request_seconds_ago")
    assert [model[name] for name in held] == [1, 3, 1, 2, 2]
    for wanted, held in (("other", True), ("owner/other", True), ("none", False), (None, True)):
        assert stage.desk.may_start(Requirement(model=wanted)) is held, wanted
    stage.clock.now += FRESH_SECONDS
    assert not stage.desk.may_start(Requirement())


@pytest.mark.parametrize("why", [{"scaled": 0}, {"most": 0}, {"failed_starts": 3}])
async def test_nothing_is_held_for_a_kind_that_is_not_started(stage: Stage, why: dict) -> None:
    stage.report({**DESK, **why})
    assert not stage.desk.may_start(Requirement())


@pytest.mark.parametrize(
    ("kinds", "empty"),
    [
        ([DESK, OTHER], True),
        ([DESK, {**OTHER, "least": 1}], False),
        ([{**DESK, "least": 1, "scaled": 0}], True),
        ([{**DESK, "scaled": 2}], False),
        ([{**DESK, "failed_starts": 1}], False),
    ],
)
async def test_a_fleet_is_empty_on_purpose_while_its_controller_says_so(
    kinds: list[dict], empty: bool, stage: Stage
) -> None:
    told = Metrics(stage.pool).registry.get_sample_value
    assert told("voxfleet_fleet_may_be_empty") == 0
    stage.report(*kinds)
    assert told("voxfleet_fleet_may_be_empty") == empty
    stage.clock.now += FRESH_SECONDS
    assert told("voxfleet_fleet_may_be_empty") == 0


async def test_a_setting_says_so_where_no_controller_does(stage: Stage) -> None:
    stage.desk = FleetDesk(stage.pool, stage.log, stage.clock, may_be_empty=True)
    told = Metrics(stage.pool).registry.get_sample_value
    assert told("voxfleet_fleet_may_be_empty") == 1
    stage.report({**DESK, "failed_starts": 1})
    assert told("voxfleet_fleet_may_be_empty") == 0


async def test_an_order_stays_until_a_report_shows_it(stage: Stage) -> None:
    stage.report(DESK)
    stage.desk.order(FleetOrders(workers={"desk": 2}), "somebody")
    assert stage.report(DESK)["orders"]["workers"] == {"desk": 2}
    assert stage.report({**DESK, "scaled": 2})["orders"]["workers"] == {}
    stage.desk.order(FleetOrders(workers={"desk": None}, down=True), "somebody")
    assert stage.report({**DESK, "scaled": 2})["orders"] == {"workers": {"desk": None}, "down": True}
    assert stage.report(DESK)["orders"]["workers"] == {}


async def test_first_audio_is_late_against_the_objective_of_the_fleet(stage: Stage) -> None:
    stage.report(DESK)
    for waited_seconds, priority in ((0.4, Priority.DEFAULT), (0.6, Priority.DEFAULT), (9.0, Priority.BULK)):
        with stage.pool.admit("r", Requirement(), standing=Standing(priority=priority)) as ticket:
            stage.clock.now += waited_seconds
            for _ in range(2):  # of a clip that moved: the second one is not its first
                stage.pool.demand.heard(ticket, stage.clock())
    model = stage.report(DESK)["models"][""]
    assert (model["first_audios"], model["late"]) == (2, 1)


async def test_who_does_not_find_room_counts_as_refused(stage: Stage) -> None:
    stage.report(DESK)
    pool = stage.pool
    with pool.admit("a", Requirement()), pool.admit("b", Requirement()):
        with pytest.raises(ApiError, match="queue is full"), pool.admit("c", Requirement()):
            pass
        model = stage.report(DESK)["models"][""]
    assert (model["requests"], model["refused"], model["waiting"]) == (3, 1, 2)


@pytest.mark.parametrize(
    "wrong",
    [
        {"saying": "fleet_up_floor", "facts": {"count": 1}},
        {"saying": "fleet_up_floor", "facts": {"count": 1, "least": 1, "kind": "desk"}},
        {"saying": "fleet_up_nonsense", "facts": {}},
        {"saying": "restart", "facts": {"who": "somebody"}},
    ],
)
def test_a_decision_is_one_of_the_sayings_with_its_facts(wrong: dict) -> None:
    with pytest.raises(ValidationError):
        Said.model_validate({"kind": "desk", **wrong})
