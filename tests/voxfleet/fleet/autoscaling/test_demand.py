"""How slots are reckoned from requests."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.voxfleet.fleet.autoscaling.windows import NOW, STEP, sample, steady
from voxfleet.fleet.autoscaling.demand import estimate, staffed


def erlang_c(slots: int, used: float) -> float:
    """Share of requests that wait, by Erlang's formula."""
    blocked = 1.0
    for n in range(1, slots + 1):
        blocked = used * blocked / (n + used * blocked)
    return blocked / (1 - used / slots * (1 - blocked))


@pytest.mark.parametrize("used", [0.5, 3.0, 10.0, 100.0, 1000.0])
@pytest.mark.parametrize("late", [0.05, 0.005])
def test_the_reserve_is_what_erlangs_formula_asks_for(used: float, late: float) -> None:
    slots = math.ceil(staffed(used, late))
    assert erlang_c(slots, used) <= 1.5 * late
    assert erlang_c(max(math.ceil(0.97 * slots) - 2, math.ceil(used + 0.01)), used) > late


@given(st.floats(0, 1e5), st.floats(0, 1e4))
def test_more_use_needs_more_slots(used: float, more: float) -> None:
    assert staffed(used, 0.005) <= staffed(used + more, 0.005)
    assert staffed(used, 0.05) <= staffed(used, 0.005)


def test_steady_requests_are_what_they_use() -> None:
    demand = estimate(steady(20, 12.0, used=30.0), NOW, pace=4.0, horizon_seconds=40, settle_seconds=300)
    assert demand.audio_seconds_per_second == pytest.approx(120)
    assert demand.slots_now == demand.slots_lately == pytest.approx(30)
    assert demand.slots_soon == pytest.approx(30, rel=0.01)
    assert not demand.rises


def test_noise_is_no_rise() -> None:
    noisy = [sample(NOW - STEP * n, 2 + (n % 3), 12.0, used=4.0) for n in range(100, -1, -1)]
    assert not estimate(noisy, NOW, 4.0, 40, 300).rises


def test_a_rise_is_extended_to_the_time_when_a_worker_would_serve_and_at_most_doubled() -> None:
    flat = [sample(NOW - STEP * n, 20, 12.0, used=30.0) for n in range(100, 9, -1)]
    ramp = [sample(NOW - STEP * n, 20 + 8 * (10 - n), 12.0, used=30.0) for n in range(9, -1, -1)]
    soon = estimate(flat + ramp, NOW, 4.0, 10, 300)
    in_ten_seconds = 100 / 2 + 8 / 4 * 10
    assert soon.rises
    assert soon.slots_soon == pytest.approx(in_ten_seconds * 3, rel=0.15)
    later = estimate(flat + ramp, NOW, 4.0, 600, 300)
    assert later.slots_soon == pytest.approx(2 * later.requests_per_second * 3)


def test_use_of_the_last_minutes_is_remembered() -> None:
    busy = [sample(NOW - STEP * n, 0, 0.0, used=50.0) for n in range(140, 100, -1)]
    quiet = [sample(NOW - STEP * n, 0, 0.0, used=1.0) for n in range(100, -1, -1)]
    demand = estimate(busy + quiet, NOW, 4.0, 40, settle_seconds=250)
    assert (demand.slots_now, round(demand.slots_lately)) == (pytest.approx(1.0), 50)
    assert estimate(busy + quiet, NOW, 4.0, 40, settle_seconds=100).slots_lately == pytest.approx(1.0)
