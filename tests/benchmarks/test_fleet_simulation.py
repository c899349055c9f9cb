"""The simulation of a fleet: its clock, its oracle, and half an hour of it."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks.fleet_simulation import traffic
from benchmarks.fleet_simulation.cluster import Plan
from benchmarks.fleet_simulation.day import Day, live
from benchmarks.fleet_simulation.measures import figures, oracle_worker_seconds, reversals
from benchmarks.fleet_simulation.plot import svg
from benchmarks.fleet_simulation.traffic import Request
from benchmarks.fleet_simulation.virtual_time import run

ROOT = Path(__file__).parents[2]
HALF_HOUR = 1800.0
QUIET = Plan(*(10 * traffic.DAY_SECONDS,) * 4)
AT_ONCE = [Request(1.0 * n, "chapter", 60.0, 120.0) for n in range(1, 1700)]
"""One a second, sixty slots in use."""


def half_hour(plan: Plan = QUIET, requests: list[Request] = AT_ONCE) -> Day:
    return run(live(requests, 200, seed=3, plan=plan, until=HALF_HOUR))


def test_hours_pass_at_once_and_in_order() -> None:
    async def sleepers() -> list[float]:
        loop = asyncio.get_running_loop()

        async def sleeper(seconds: float) -> float:
            await asyncio.sleep(seconds)
            return loop.time()

        return await asyncio.gather(*map(sleeper, (7200.0, 1.0, 3600.0)))

    assert run(sleepers()) == pytest.approx([7200.0, 1.0, 3600.0])


def test_waiting_for_nothing_is_an_error() -> None:
    async def waits() -> None:
        await asyncio.get_running_loop().create_future()

    with pytest.raises(RuntimeError, match="will not come"):
        run(waits())


def test_the_traffic_is_a_day_with_a_tenfold_rise() -> None:
    asked = traffic.requests(20_000, seed=1)
    assert asked == traffic.requests(20_000, seed=1) != traffic.requests(20_000, seed=2)
    assert [one.at for one in asked] == sorted(one.at for one in asked)
    before, after = (
        sum(begin <= one.at < begin + 300 for one in asked) for begin in (61_200 - 300, 61_200 + 60)
    )
    assert 7 < after / before < 14
    night = sum(one.at < 4 * 3600 for one in asked)
    assert night < sum(11 * 3600 <= one.at < 15 * 3600 for one in asked) / 3


def test_the_oracle_pays_for_what_runs_and_for_each_start() -> None:
    apart = [Request(100.0, "clip", 10.0, 20.0), Request(500.0, "clip", 10.0, 20.0)]
    assert oracle_worker_seconds(apart, 2, 45.0) == pytest.approx(2 * (10 + 45))
    near = [Request(100.0, "clip", 10.0, 20.0), Request(120.0, "clip", 10.0, 20.0)]
    assert oracle_worker_seconds(near, 2, 45.0) == pytest.approx(45 + 10 + 10 + 10)
    three = [Request(100.0 + n, "clip", 10.0, 20.0) for n in range(3)]
    assert oracle_worker_seconds(three, 2, 45.0) == pytest.approx((45 + 12) + (45 + 8))
    assert oracle_worker_seconds(near, 2, 45.0, until=105.0) == pytest.approx(45 + 5)


def test_reversals_are_counted() -> None:
    day = Day(starts=[(0, 1, ""), (700, 1, ""), (2000, 1, "")], drains=[(500, ""), (900, "")])
    assert reversals(day) == {"up_after_down": 1, "down_after_up": 2, "most_in_a_row": 3}


def test_half_an_hour_of_constant_demand_is_met_from_nothing_without_turning_back() -> None:
    day = half_hour()
    got = figures(day, AT_ONCE, 2, 45.0, 1.0, HALF_HOUR)
    assert got["refused"] == got["reversals_within_10_min"]["up_after_down"] == 0
    settled = [one for one in day.heard if one.request.at > 300]
    assert all(one.first_audio_at - one.request.at <= 1.0 for one in settled)
    assert got["cost_ratio"] < 2
    assert ElementTree.fromstring(svg(day, AT_ONCE, 2)).tag.endswith("svg")
    assert got == figures(half_hour(), AT_ONCE, 2, 45.0, 1.0, HALF_HOUR)


def test_a_zone_that_dies_and_a_bad_release_lose_nothing() -> None:
    plan = Plan(zone_dies_at=900, zone_is_back_at=1500, bad_release_from=880, bad_release_until=1100)
    day = half_hour(plan)
    got = figures(day, AT_ONCE, 2, 45.0, 1.0, HALF_HOUR)
    assert got["moved"] > 10 and got["failed_starts"] > 0 and got["refused"] == 0
    assert len(day.heard) == len(AT_ONCE)
    late = [one for one in day.heard if one.request.at > 1500]
    assert all(one.first_audio_at - one.request.at <= 1.0 for one in late)


def test_documents_cite_the_results() -> None:
    kept = json.loads((ROOT / "benchmarks" / "results" / "fleet_simulation.json").read_text())
    row = f"{100 * kept['attained']:.2f} %; {kept['cost_ratio']:.2f} x"
    for name in ("numbers.md", "fleet.md"):
        assert row in (ROOT / "docs" / name).read_text(), name
