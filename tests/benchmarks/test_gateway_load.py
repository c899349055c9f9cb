"""A short run of the load benchmark: all is answered and nothing stays behind. No figure is judged."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from benchmarks.gateway.gateways import jain
from benchmarks.gateway.leaks import restart_workers
from benchmarks.gateway.load import SCENARIOS, judge, run_scenario
from benchmarks.shared import fleet
from benchmarks.shared.http_client import get
from telemetry.process import is_installed
from tests import forks


@pytest.fixture(autouse=True)
def _forks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet, "start", forks.start_for_benchmarks)


NOTHING = {"waiting": 0, "running": 0, "worker_slots_used": 0}


async def measured(name: str) -> dict[str, Any]:
    return (await run_scenario(name, quick=True))["measured"]


class SlowFleet:
    """One whose workers take until `going_on` to be started."""

    def __init__(self) -> None:
        self.workers, self.restarted = ["w0", "w1"], []
        self.begun, self.going_on = threading.Event(), threading.Event()

    def restart_worker(self, index: int) -> None:
        self.begun.set()
        self.going_on.wait()
        self.restarted.append(index)


def check_nothing_held(held: dict[str, int]) -> None:
    assert {key: held[key] for key in NOTHING} == NOTHING


async def test_every_stream_is_heard_to_its_end() -> None:
    result = await measured("latency")
    assert result["streams"] == SCENARIOS["latency"].quick["streams"]
    assert (await measured("first_audio"))["requests"] == 5


async def test_under_overload_every_rejection_says_when_to_come_back() -> None:
    result = await measured("overload")
    assert result["rejected"] > 0
    assert result["rejected_with_retry_after"] == result["rejected"]
    check_nothing_held(result["held_after"])


@pytest.mark.timeout(300)
async def test_tenants_and_bulk_are_served_side_by_side() -> None:
    result = await measured("tenants")
    assert result["audio_seconds"]["a"] > 0
    assert result["audio_seconds"]["b"] > 0
    assert {status.split()[1] for status in result["answers"]} <= {"200", "429"}
    check_nothing_held(result["held_after"])


def test_jain_s_index_is_one_when_all_are_equal_and_one_part_when_one_has_all() -> None:
    assert [jain([5, 5, 5]), jain([9, 0, 0]), jain([2, 1])] == [1.0, 0.3333, 0.9]


async def test_who_leaves_is_gone_queued_or_streaming() -> None:
    check_nothing_held((await measured("leaving"))["held_after"])


async def test_waiting_connections_are_let_go() -> None:
    result = await measured("memory")
    for kind in ("websocket", "http"):
        assert result[f"{kind}_waiting"] == 119  # one of 120 runs
        check_nothing_held(result[f"{kind}_held_after"])


async def test_a_soak_with_cuts_and_kills_leaks_no_slot_task_or_file() -> None:
    result = await measured("soak")
    assert result["completed"] + result["cut"] + result["refused"] == result["streams"] == 150
    check_nothing_held(result["held_after"])
    assert result["held_after"]["tasks"] <= result["held_before"]["tasks"] + 5
    assert result["held_after"]["files"] <= result["held_before"]["files"] + 5


async def test_a_worker_that_was_killed_is_waited_for() -> None:
    async with fleet.Fleet(workers=1) as running:
        running.restart_worker(0)
        await running.until_serving()
        assert (await get(running.workers[0].port, "/ready"))[0] == 200


async def test_the_kills_of_a_soak_end_with_all_workers_there() -> None:
    workers = SlowFleet()
    enough = asyncio.Event()
    killing = asyncio.create_task(restart_workers(workers, 0.001, enough))
    await asyncio.to_thread(workers.begun.wait)
    enough.set()
    workers.going_on.set()
    await killing
    assert workers.restarted == [0]


async def test_a_deep_queue_empties() -> None:
    result = await measured("queue")
    assert result["waiting"] == 2000 - 60
    assert result["left_over"] == 0


async def test_a_decision_costs_much_the_same_in_a_hundred_times_the_fleet() -> None:
    assert (await measured("fleet"))["cost_ratio"] < 5


@pytest.mark.parametrize(("figure", "met"), [(1.4, True), (1.5, True), (1.6, False), (float("nan"), False)])
def test_a_goal_is_met_or_not(figure: float, met: bool) -> None:
    goals = SCENARIOS["latency"].goals
    verdict = judge({"added_ms_p50": figure, "added_ms_p99": 0.0}, goals)
    assert verdict["added_ms_p50"]["met"] is met


@pytest.mark.skipif(not is_installed(), reason="needs the extra otel")
@pytest.mark.timeout(300)
async def test_what_is_told_by_telemetry_reaches_its_receiver() -> None:
    result = await measured("telemetry")
    assert result["received_bytes"] > 0 and result["failed_streams"] == 0
    assert {role: len(costs) for role, costs in result["cpu_ms_per_audio_second"].items()} == {
        "off": 3,
        "default": 3,
        "everything": 3,
    }
