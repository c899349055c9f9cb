"""The estimate of a wait equals a simulation of the queue."""

from __future__ import annotations

from contextlib import ExitStack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.slots.capacity.absence import FIRST_GUESS_SECONDS, Absence
from gateway.slots.capacity.estimates import (
    DEFAULT_SERVICE_SECONDS,
    Outlook,
    ServiceTime,
    SlotForecast,
    SteadyOutlook,
)
from tests.gateway.stages.fleet import ANY, Fleet

slots = st.lists(st.builds(SlotForecast, st.floats(0, 60), st.floats(0.05, 60)), min_size=1, max_size=8)


def starts(forecast: list[SlotForecast], count: int) -> list[float]:
    """Every slot's next `count` starts, sorted: the first `count` of them are what happens."""
    every = [slot.free_in_seconds + n * slot.service_seconds for slot in forecast for n in range(count)]
    return sorted(every)[:count]


@given(slots, st.lists(st.integers(1, 200), min_size=1, max_size=5))
def test_an_outlook_is_the_simulation_of_the_queue(
    forecast: list[SlotForecast], positions: list[int]
) -> None:
    outlook = Outlook(forecast)
    simulated = starts(forecast, max(positions))
    for position in positions:
        assert outlook.wait(position) == pytest.approx(simulated[position - 1], abs=1e-6)


@given(slots, st.integers(513, 2000))
def test_far_from_the_head_the_rate_is_used_and_errs_by_less_than_one_request_and_start(
    forecast: list[SlotForecast], position: int
) -> None:
    longest = max(max(slot.service_seconds, slot.free_in_seconds) for slot in forecast)
    expected = starts(forecast, position)[-1]
    assert abs(Outlook(forecast).wait(position) - expected) <= 2 * longest


def test_a_free_slot_means_no_wait() -> None:
    assert Outlook([SlotForecast(0.0, 4.0), SlotForecast(3.0, 4.0)]).wait(1) == 0.0


def test_without_slots_a_wait_is_unknown() -> None:
    assert Outlook([]).wait(1) is None


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


def test_an_absence_is_guessed_and_then_known_from_the_last() -> None:
    absence = Absence()
    absence.note(False, None, 0.0)
    absence.note(False, "boot-1", 2.0)
    assert absence.remaining(5.0) == FIRST_GUESS_SECONDS - 5
    absence.note(True, "boot-1", 8.0)
    absence.note(False, "boot-1", 100.0)
    assert absence.remaining(103.0) == 5.0
    absence.note(True, "boot-1", 100.5)
    absence.note(False, "boot-1", 200.0)
    assert absence.remaining(200.0) == 8.0, "the same process was only out of reach"


def test_a_fleet_of_many_slots_is_forecast_like_its_slots_one_by_one() -> None:
    slots = [SlotForecast(5.0 * number / 2000, 5.0) for number in range(2000)]
    exact, steady = Outlook(slots), SteadyOutlook(2000 / 5.0)
    for position in (100, 400):
        assert steady.wait(position) == pytest.approx(exact.wait(position), rel=0.15)


async def test_a_large_fleet_tells_how_long_its_queue_is() -> None:
    fleet = Fleet(400, 400, 400, max_queue=1000)
    with ExitStack() as open_tickets:
        tickets = [open_tickets.enter_context(fleet.pool.admit(f"r{n}", ANY)) for n in range(1250)]
        outlook = fleet.pool.outlook(ANY)
        assert sum(ticket.lease is None for ticket in tickets) == 50
        assert outlook.wait(1) < outlook.wait(50) == pytest.approx(50 * DEFAULT_SERVICE_SECONDS / 1200)
