"""The retry budget: a fifth of the requests of the last ten seconds, and always the loss of one worker."""

from __future__ import annotations

import asyncio

import pytest

from gateway.streams.retry_budget import MIN_FLOOR, WINDOW_SECONDS, RetryBudget
from tests.gateway.stages.fleet import ManualClock


def spend_all(budget: RetryBudget) -> int:
    spent = 0
    while budget.spend():
        spent += 1
    return spent


@pytest.mark.parametrize(("slots", "requests", "expected"), [(20, 0, 20), (20, 100, 40), (2, 0, MIN_FLOOR)])
def test_a_fifth_of_the_requests_on_top_of_one_worker(slots: int, requests: int, expected: int) -> None:
    budget = RetryBudget(0.2, lambda: slots, ManualClock())
    for _ in range(requests):
        budget.add_request()
    assert spend_all(budget) == expected


def test_what_was_spent_comes_back_after_the_window() -> None:
    clock = ManualClock()
    budget = RetryBudget(0.2, lambda: 0, clock)
    assert spend_all(budget) == MIN_FLOOR
    clock.advance(WINDOW_SECONDS - 1)
    assert not budget.spend()
    clock.advance(1)
    assert spend_all(budget) == MIN_FLOOR


def test_old_requests_pay_for_nothing() -> None:
    clock = ManualClock()
    budget = RetryBudget(1.0, lambda: 0, clock)
    for _ in range(50):
        budget.add_request()
    clock.advance(WINDOW_SECONDS)
    assert budget.left == MIN_FLOOR


async def test_who_cannot_pay_is_told_when_patience_ends() -> None:
    clock = ManualClock()
    budget = RetryBudget(0.0, lambda: 0, clock)
    assert await budget.wait_and_spend(1.0)
    spend_all(budget)
    assert not await budget.wait_and_spend(0.5)


async def test_who_waits_has_the_first_that_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, slept = ManualClock(), list[float]()
    budget = RetryBudget(0.0, lambda: 0, clock)
    spend_all(budget)

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        clock.advance(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    assert await budget.wait_and_spend(2 * WINDOW_SECONDS)
    assert sum(slept) == WINDOW_SECONDS and budget.left == MIN_FLOOR - 1
