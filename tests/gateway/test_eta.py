"""The estimate of a wait equals a simulation of the queue."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.eta import DEFAULT_SERVICE_SECONDS, ServiceTime, SlotForecast, estimate_wait, simulate_waits

slots = st.lists(st.builds(SlotForecast, st.floats(0, 60), st.floats(0.05, 60)), min_size=1, max_size=8)


@given(slots, st.integers(1, 200))
def test_bisection_and_simulation_agree(forecast: list[SlotForecast], position: int) -> None:
    simulated = simulate_waits(forecast, position)
    assert estimate_wait(forecast, position) == pytest.approx(simulated[-1], abs=1e-5)
    assert simulated == sorted(simulated)


def test_a_free_slot_means_no_wait() -> None:
    assert estimate_wait([SlotForecast(0.0, 4.0), SlotForecast(3.0, 4.0)], 1) == 0.0


def test_without_slots_a_wait_is_unknown() -> None:
    assert estimate_wait([], 1) is None
    assert simulate_waits([], 3) == []


def test_service_time_follows_what_was_observed() -> None:
    service = ServiceTime()
    assert service.seconds == DEFAULT_SERVICE_SECONDS
    service.observe(2.0)
    assert service.seconds == 2.0
    service.observe(4.0)
    assert 2.0 < service.seconds < 4.0


def test_an_overdue_request_is_expected_to_need_a_share_of_the_average() -> None:
    service = ServiceTime()
    service.observe(8.0)
    assert service.remaining(3.0) == 5.0
    assert 0.0 < service.remaining(100.0) < 8.0
