"""What the autoscaler decides, and what it says about it."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

import voxfleet.fleet
from gateway.operations.sayings import SAYINGS
from tests.voxfleet.fleet.autoscaling.windows import GPU, NOW, RULES, STEP, Loop, sample, steady, window
from voxfleet.fleet.autoscaling.autoscaler import decide
from voxfleet.fleet.autoscaling.rules import Budget, Objective, Rules, ScheduledFloor, WorkerKind
from voxfleet.fleet.autoscaling.window import KindNow, Sample

CHEAP = WorkerKind("cheap", "alpha", slots=2, audio_seconds_per_second=8.0, cost_per_hour=0.1, most=3)


def said(decision) -> list[str]:
    for _, reason in decision.reasons:
        SAYINGS[reason.saying].format(**reason.facts)  # a fact that is not there raises
    return [reason.saying for _, reason in decision.reasons]


def test_nothing_asked_and_nothing_running_is_left_alone() -> None:
    assert decide(RULES, window([])).reasons == ()
    assert decide(RULES, window([], KindNow("gpu"))).reasons == ()


def test_workers_that_are_just_enough_are_left_alone() -> None:
    # 10 a second of 12 s each are 120 audio seconds per second: 30 slots of 4, and 45 with the reserve
    samples = steady(20, 12.0, used=30.0)
    assert decide(RULES, window(samples, KindNow("gpu", serving=6))).reasons == ()


def test_all_that_is_missing_starts_at_once() -> None:
    samples = steady(20, 12.0, used=30.0)
    decision = decide(RULES, window(samples, KindNow("gpu", serving=1)))
    assert [(start.kind, start.count) for start in decision.starts] == [("gpu", 5)]
    assert said(decision) == ["fleet_up_demand"]
    assert decision.starts[0].reason.facts["asked"] == 120.0


def test_workers_that_load_count_already() -> None:
    samples = steady(20, 12.0, used=30.0)
    assert decide(RULES, window(samples, KindNow("gpu", serving=1, loading=5))).reasons == ()


def test_capacity_is_measured_once_there_is_enough_to_measure() -> None:
    samples = steady(20, 12.0, used=60.0)
    half = KindNow("gpu", serving=1, audio_seconds_made=20_000.0, slot_seconds=10_000.0)
    started = decide(RULES, window(samples, half)).started("gpu")
    assert started == 10  # 60 slots in use, 81 with the reserve
    little = replace(half, audio_seconds_made=2.0, slot_seconds=1.0)
    assert decide(RULES, window(steady(20, 12.0, used=30.0), little)).started("gpu") == 5


def test_a_first_request_starts_a_cold_model() -> None:
    held = [Sample(NOW, STEP, 1, 12.0, waiting=1)]
    decision = decide(RULES, window(held, KindNow("gpu")))
    assert decision.started("gpu") == 1
    assert said(decision) == ["fleet_up_cold"]


def test_refused_requests_start_a_cold_model_too() -> None:
    refused = [Sample(NOW, STEP, refused=1)]
    assert decide(RULES, window(refused, KindNow("gpu"))).started("gpu") == 1


def test_a_cold_model_that_loads_is_not_started_twice() -> None:
    held = [Sample(NOW, STEP, 1, 12.0, waiting=1)]
    assert decide(RULES, window(held, KindNow("gpu", loading=1))).reasons == ()


def test_requests_that_wait_are_named_as_the_reason() -> None:
    samples = steady(20, 12.0, used=16.0, waiting=60, longest_wait_seconds=4.04)
    decision = decide(RULES, window(samples, KindNow("gpu", serving=2)))
    assert said(decision) == ["fleet_up_waiting"]
    assert decision.starts[0].reason.facts == {
        "count": decision.started("gpu"), "waiting": 60, "seconds": 4.0,
    }  # fmt: skip


def test_a_tenfold_rise_is_answered_within_seconds() -> None:
    loop = Loop(RULES, serving=6)
    loop.run(300, 20, 12.0)
    assert (loop.starts, loop.drains) == (0, 0)
    loop.run(10, 200, 12.0)
    assert said(loop.decisions[-3])[0] in ("fleet_up_rising", "fleet_up_waiting")
    assert loop.serving + len(loop.loading) >= 300 / 8  # a tenfold use of 300 slots


def test_a_rise_of_long_sessions_counts_as_far_as_it_will_be_felt() -> None:
    before = [sample(NOW - STEP * n, 2, 2400.0, used=600.0) for n in range(200, 5, -1)]
    rise = [sample(NOW - STEP * n, 20, 2400.0, used=600.0) for n in range(5, -1, -1)]
    started = decide(RULES, window(before + rise, KindNow("gpu", serving=85))).started("gpu")
    in_the_long_run = 6000 / 8
    assert 40 < started < in_the_long_run / 3


def test_one_worker_drains_at_a_time() -> None:
    loop = Loop(RULES, serving=12)
    loop.run(1800, 20, 12.0)
    assert loop.serving == 6
    assert loop.starts == 0
    for decision, after in zip(loop.decisions, loop.decisions[1:], strict=False):
        assert not (decision.drain and after.drain)


def test_no_worker_drains_while_one_loads() -> None:
    samples = steady(1, 1.0, used=0.1)
    assert said(decide(RULES, window(samples, KindNow("gpu", serving=9)))) == ["fleet_down"]
    assert decide(RULES, window(samples, KindNow("gpu", serving=9, loading=1))).drain is None
    assert decide(RULES, window(samples, KindNow("gpu", serving=9, draining=1))).drain is None


def test_those_that_wait_for_a_machine_go_first_when_nobody_needs_them() -> None:
    quiet, busy = steady(1, 1.0, used=0.1), steady(20, 12.0, used=30.0)
    waits = KindNow("gpu", serving=9, loading=2, unplaced=2)
    decision = decide(RULES, window(quiet, waits))
    assert (said(decision), decision.drain.unplaced) == (["fleet_down_unplaced"], True)
    assert decide(RULES, window(busy, replace(waits, serving=4))).drain is None
    assert decide(RULES, window(quiet, replace(waits, loading=3))).drain is None  # one of these does load
    ordered = Rules((replace(GPU, least=2, most=2),))
    over = decide(ordered, window(busy, replace(waits, serving=1)))
    assert over.drain is not None and over.drain.unplaced


def test_a_worker_that_serves_is_not_drained_for_one_that_waits_for_a_machine() -> None:
    rules = Rules((GPU, replace(CHEAP, least=40, most=40)))
    waits = KindNow("cheap", loading=40, unplaced=40)
    busy = steady(20, 12.0, used=30.0)
    assert decide(rules, window(busy, KindNow("gpu", serving=6), waits)).drain is None
    freed = decide(rules, window(steady(1, 1.0, used=0.1), KindNow("gpu", serving=6), waits)).drain
    assert freed is not None and freed.kind == "gpu"


def test_the_only_worker_waits_for_a_machine_as_long_as_somebody_may_ask() -> None:
    silence = [sample(NOW - STEP * n, 0, 0.0, used=0.0) for n in range(200, -1, -1)]
    waits = KindNow("gpu", loading=1, unplaced=1)
    assert decide(RULES, window(silence, waits, last_request_at=NOW - 800)).drain is None
    assert decide(RULES, window(silence, waits, last_request_at=NOW - 1000)).drain is not None


def test_no_worker_drains_when_another_of_the_model_starts() -> None:
    rules = Rules((GPU, replace(CHEAP, least=1)))
    now = KindNow("gpu", serving=9)
    decision = decide(rules, window(steady(1, 1.0, used=0.1), now, KindNow("cheap")))
    assert (decision.started("cheap"), decision.drain) == (1, None)
    after = decide(rules, window(steady(1, 1.0, used=0.1), now, KindNow("cheap", serving=1)))
    assert after.drain is not None and after.drain.kind == "gpu"


def test_between_too_little_and_too_much_nothing_changes() -> None:
    """46 slots are what is started for; with 40 nobody starts yet, and of 48 nobody drains."""
    samples = steady(20, 12.0, used=30.0)
    for serving, started in ((4, 2), (5, 0), (6, 0)):
        decision = decide(RULES, window(samples, KindNow("gpu", serving=serving)))
        assert (decision.started("gpu"), decision.drain) == (started, None), serving


def test_what_was_needed_minutes_ago_is_kept() -> None:
    busy = [sample(NOW - STEP * n, 20, 12.0, used=30.0) for n in range(200, 100, -1)]
    quiet = [sample(NOW - STEP * n, 1, 1.0, used=0.1) for n in range(100, -1, -1)]
    now = KindNow("gpu", serving=6)
    assert decide(RULES, window(busy + quiet, now)).drain is None
    assert decide(replace(RULES, settle_seconds=100.0), window(busy + quiet, now)).drain is not None


def test_the_last_worker_stays_until_nobody_asks_for_long() -> None:
    now = KindNow("gpu", serving=1)
    silence = [sample(NOW - STEP * n, 0, 0.0, used=0.0) for n in range(200, -1, -1)]
    assert decide(RULES, window(silence, now, last_request_at=NOW - 800)).drain is None
    decision = decide(RULES, window(silence, now, last_request_at=NOW - 1000))
    assert said(decision) == ["fleet_down_idle"]
    kept = replace(RULES, kinds=(replace(GPU, least=1),))
    assert decide(kept, window(silence, now, last_request_at=NOW - 1000)).drain is None


def test_a_floor_is_kept_without_demand() -> None:
    rules = replace(RULES, kinds=(replace(GPU, least=3),))
    decision = decide(rules, window([], KindNow("gpu", serving=1)))
    assert (decision.started("gpu"), said(decision)) == (2, ["fleet_up_floor"])


def test_a_scheduled_floor_is_there_when_its_time_begins() -> None:
    floor = ScheduledFloor("gpu", 5, from_minute=8 * 60 + 1, until_minute=10 * 60)
    rules = replace(RULES, floors=(floor,))
    now = KindNow("gpu", serving=1)
    at_eight = window([], now)
    assert decide(rules, replace(at_eight, now=NOW - 60)).starts == ()
    assert decide(rules, replace(at_eight, now=NOW + 30)).started("gpu") == 4  # 30 s before, and 40 to load
    assert decide(rules, replace(at_eight, now=NOW + 3 * 3600)).starts == ()


@pytest.mark.parametrize(
    ("hours", "days", "holds"),
    [(0, {4}, True), (24, {4}, False), (14.5, {4}, True), (18, {4}, True), (20, {4}, False)],
)
def test_a_scheduled_floor_knows_days_and_nights(hours: float, days: set[int], holds: bool) -> None:
    """From 22:00 to 03:00 of the next day in a zone; by day from 07:00."""
    night = ScheduledFloor("gpu", 1, 22 * 60, 3 * 60, frozenset(days))
    day = ScheduledFloor("gpu", 1, 7 * 60, 9 * 60, frozenset(days))
    assert (night.holds(NOW + hours * 3600) or day.holds(NOW + hours * 3600)) is holds


def test_a_scheduled_floor_is_told_in_its_own_time_zone() -> None:
    floor = ScheduledFloor("gpu", 1, 16 * 60, 17 * 60, timezone="Asia/Shanghai")
    assert floor.holds(NOW) and not floor.holds(NOW + 3600)


def test_late_audio_in_spite_of_capacity_brings_relief() -> None:
    samples = steady(20, 12.0, used=30.0)[:-20] + [
        sample(NOW - STEP * n, 20, 12.0, used=30.0, late=2) for n in range(19, -1, -1)
    ]
    decision = decide(RULES, window(samples, KindNow("gpu", serving=6)))
    assert (decision.started("gpu"), said(decision)) == (1, ["fleet_up_late"])
    fresh = window(samples, KindNow("gpu", serving=6), last_served_at=NOW)
    assert decide(RULES, fresh).starts == ()
    rules = replace(RULES, objective=Objective(first_audio_seconds=1, first_token_seconds=3))
    for writes, seconds in ((False, 1), (True, 3)):
        [start] = decide(rules, window(samples, KindNow("gpu", serving=6), writes=writes)).starts
        assert start.reason.facts["seconds"] == seconds


def test_refusals_and_underruns_bring_relief() -> None:
    now = KindNow("gpu", serving=6)
    refused = steady(20, 12.0, used=30.0, refused=1)
    assert said(decide(RULES, window(refused, now))) == ["fleet_up_refused"]
    dry = steady(20, 12.0, used=30.0, underruns=50)
    assert said(decide(RULES, window(dry, now))) == ["fleet_up_underruns"]


def test_late_audio_with_free_slots_is_said_and_not_answered() -> None:
    late = steady(20, 12.0, used=30.0, late=20)
    decision = decide(RULES, window(late, KindNow("gpu", serving=9)))
    assert (decision.starts, decision.drain, said(decision)) == ((), None, ["fleet_no_help"])


def test_the_budget_bounds_starts_and_says_so() -> None:
    samples = steady(20, 12.0, used=30.0)
    tight = replace(RULES, budget=Budget(most_workers=4))
    decision = decide(tight, window(samples, KindNow("gpu", serving=1, draining=1)))
    assert (decision.started("gpu"), said(decision)) == (2, ["fleet_up_demand", "fleet_budget"])
    dear = replace(RULES, kinds=(replace(GPU, cost_per_hour=2.5),), budget=Budget(most_cost_per_hour=6.0))
    assert decide(dear, window(samples, KindNow("gpu", serving=1))).started("gpu") == 1


def test_a_smaller_budget_drains_what_is_too_much() -> None:
    samples = steady(20, 12.0, used=30.0)
    rules = replace(RULES, budget=Budget(most_workers=4))
    decision = decide(rules, window(samples, KindNow("gpu", serving=6)))
    assert "fleet_down_budget" in said(decision)


def test_starts_that_fail_are_tried_one_at_a_time() -> None:
    samples = steady(20, 12.0, used=8.0, waiting=22)
    failing = KindNow("gpu", serving=1, failed_starts=3)
    decision = decide(RULES, window(samples, failing))
    assert (decision.started("gpu"), said(decision)) == (1, ["fleet_up_waiting", "fleet_starts_fail"])
    trying = decide(RULES, window(samples, replace(failing, loading=1)))
    assert (trying.starts, said(trying)) == ((), ["fleet_starts_fail"])


def test_the_cheapest_capacity_starts_first_and_drains_last() -> None:
    rules = Rules((GPU, CHEAP))
    samples = steady(20, 12.0, used=30.0)
    decision = decide(rules, window(samples, KindNow("gpu"), KindNow("cheap")))
    assert [(start.kind, start.count) for start in decision.starts] == [("cheap", 3), ("gpu", 5)]
    idle = steady(1, 1.0, used=0.1)
    drain = decide(rules, window(idle, KindNow("gpu", serving=3), KindNow("cheap", serving=3))).drain
    assert drain is not None and drain.kind == "gpu"


def test_a_failing_kind_is_replaced_by_another() -> None:
    rules = Rules((GPU, CHEAP))
    samples = steady(20, 12.0, used=30.0)
    decision = decide(rules, window(samples, KindNow("gpu"), KindNow("cheap", failed_starts=3)))
    assert [(start.kind, start.count) for start in decision.starts] == [("cheap", 1), ("gpu", 6)]


def test_the_model_with_the_greatest_need_gets_what_is_left_of_the_budget() -> None:
    other = replace(GPU, name="other", model="beta")
    rules = Rules((GPU, other), budget=Budget(most_workers=3))
    need = window(steady(1, 12.0, used=2.0), KindNow("gpu"), KindNow("other"))
    beta = window(steady(20, 12.0, used=30.0), model="beta")
    decision = decide(rules, replace(need, models=(*need.models, *beta.models)))
    assert [start.kind for start in decision.starts] == ["other"]


def test_scaling_from_zero_and_back() -> None:
    loop = Loop(RULES)
    loop.run(60, 0, 0.0)
    assert (loop.serving, len(loop.loading)) == (0, 0)
    loop.run(60, 20, 12.0)
    assert 6 <= loop.serving <= 12  # nobody knows yet where a rise from nothing ends
    loop.run(3600, 0, 0.0)
    assert (loop.serving, loop.loading, loop.draining) == (0, [], [])


def test_every_reason_of_the_autoscaler_is_a_saying() -> None:
    folder = Path(voxfleet.fleet.__file__).parent
    words = [path.read_text() for path in (*folder.glob("*.py"), *folder.glob("autoscaling/*.py"))]
    used = set(re.findall(r'"(fleet_\w+)"', "".join(words)))
    assert used == {name for name in SAYINGS if name.startswith("fleet_")}
