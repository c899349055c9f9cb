"""Admission, order, leases and news in the pool: what the reference pool got wrong is impossible here."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from gateway.errors import ApiError
from gateway.slots.line.tickets import Ticket
from gateway.slots.pool import Lease
from gateway.slots.requirement import Requirement
from tests.gateway.stages.fleet import ANY, Fleet, describe_model, status, worker_of


async def hold(fleet: Fleet, ticket: Ticket, release: asyncio.Event) -> Lease:
    async with fleet.pool.lease(ticket) as lease:
        await release.wait()
        return lease


async def test_a_free_slot_is_leased_at_once_and_the_least_loaded_worker_first(open_tickets) -> None:
    fleet = Fleet(2, 2)
    tickets = [open_tickets.enter_context(fleet.pool.admit(f"r{n}", ANY)) for n in range(4)]
    assert sorted(worker_of(ticket) for ticket in tickets) == ["w0", "w0", "w1", "w1"]
    assert worker_of(tickets[0]) != worker_of(tickets[1])


async def test_a_newcomer_never_overtakes_the_queue(open_tickets) -> None:
    """A slot is usable and nobody was told yet: it is the newcomer's arrival that gives it away."""
    fleet = Fleet(1)
    fleet.pool.reports.refused(fleet.workers[0])
    first = open_tickets.enter_context(fleet.pool.admit("first", ANY))
    assert first.lease is None
    fleet.workers[0].trust.end_hold()
    fleet.pool._groups.touch(fleet.workers[0])
    second = open_tickets.enter_context(fleet.pool.admit("second", ANY))
    assert worker_of(first) == "w0"
    assert second.lease is None


async def test_tickets_are_served_in_order_of_arrival(open_tickets) -> None:
    fleet = Fleet(1)
    order = []
    admissions = [contextlib.ExitStack() for _ in range(5)]
    tickets = [stack.enter_context(fleet.pool.admit(f"r{n}", ANY)) for n, stack in enumerate(admissions)]
    for _ in tickets:
        running = next(ticket for ticket in tickets if ticket.lease)
        order.append(tickets.index(running))
        admissions[order[-1]].close()
    assert order == [0, 1, 2, 3, 4]


async def test_the_earliest_is_served_first_whatever_it_asked_for(open_tickets) -> None:
    fleet = Fleet(1)
    running = open_tickets.enter_context(fleet.pool.admit("running", ANY))
    by_name = open_tickets.enter_context(fleet.pool.admit("by name", Requirement("alpha")))
    by_any = open_tickets.enter_context(fleet.pool.admit("any", ANY))
    fleet.pool._release(running.lease)
    assert (worker_of(by_name), worker_of(by_any)) == ("w0", None)


async def test_leaving_the_lease_gives_the_slot_to_the_next(open_tickets) -> None:
    fleet = Fleet(1)
    first = open_tickets.enter_context(fleet.pool.admit("first", ANY))
    second = open_tickets.enter_context(fleet.pool.admit("second", ANY))
    async with fleet.pool.lease(first) as lease:
        assert second.lease is None
        assert lease.epoch == 1
    assert worker_of(second) == "w0"


async def test_a_client_that_leaves_right_after_its_turn_came_leaks_nothing() -> None:
    """The slot was granted, the waiting task is cancelled before it runs again: the reference leaked here."""
    fleet = Fleet(1)
    with fleet.pool.admit("running", ANY) as running:
        with fleet.pool.admit("leaver", ANY) as leaver:
            waiting = asyncio.create_task(hold(fleet, leaver, asyncio.Event()))
            await asyncio.sleep(0)
            fleet.pool._release(running.lease)
            assert leaver.lease is not None
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
        assert not fleet.workers[0].leases
    assert not fleet.pool.tickets


async def test_releasing_twice_frees_one_slot_only(open_tickets) -> None:
    fleet = Fleet(1)
    first = open_tickets.enter_context(fleet.pool.admit("first", ANY))
    lease = first.lease
    second, third = (open_tickets.enter_context(fleet.pool.admit(name, ANY)) for name in ("second", "third"))
    fleet.pool._release(lease)
    fleet.pool._release(lease)
    assert worker_of(second) == "w0"
    assert third.lease is None
    assert len(fleet.workers[0].leases) == 1


async def test_a_head_that_waits_for_one_model_does_not_block_another(open_tickets) -> None:
    fleet = Fleet(0, 0)
    alpha, beta = fleet.workers
    fleet.pool.reports.answered(alpha, status(model=describe_model("alpha")))
    fleet.pool.reports.answered(beta, status(model=describe_model("beta")))
    busy = open_tickets.enter_context(fleet.pool.admit("busy", Requirement("alpha")))
    head = open_tickets.enter_context(fleet.pool.admit("head", Requirement("alpha")))
    other = open_tickets.enter_context(fleet.pool.admit("other", Requirement("beta")))
    assert (worker_of(busy), worker_of(head), worker_of(other)) == ("w0", None, "w1")


async def test_the_queue_is_bounded_and_says_when_to_come_back(open_tickets) -> None:
    fleet = Fleet(1, max_queue=2)
    for n in range(3):
        open_tickets.enter_context(fleet.pool.admit(f"r{n}", ANY))
    with pytest.raises(ApiError) as refused, fleet.pool.admit("one too many", ANY):
        raise AssertionError("was admitted")
    assert refused.value.status_code == 429
    assert int(refused.value.headers["Retry-After"]) >= 1
    assert len(fleet.pool.queue) == 2
    assert len(fleet.pool.tickets) == 3


async def test_a_queue_of_length_zero_admits_what_can_run_now(open_tickets) -> None:
    fleet = Fleet(1, max_queue=0)
    assert worker_of(open_tickets.enter_context(fleet.pool.admit("r", ANY))) == "w0"
    with pytest.raises(ApiError) as refused, fleet.pool.admit("second", ANY):
        raise AssertionError("was admitted")
    assert refused.value.code == "queue_full"


@pytest.mark.parametrize(
    ("requirement", "status_code", "param"),
    [
        (Requirement(voice="nobody"), 404, "voice"),
        (Requirement(model="gamma"), 404, "model"),
        (Requirement(model="gamma", voice="nobody"), 404, "model"),
    ],
)
async def test_unknown_model_or_voice_is_refused_by_name(requirement, status_code, param) -> None:
    fleet = Fleet(1)
    with pytest.raises(ApiError) as refused, fleet.pool.admit("r", requirement):
        raise AssertionError("was admitted")
    assert (refused.value.status_code, refused.value.param) == (status_code, param)


async def test_a_waiting_ticket_can_be_ended_from_outside(open_tickets) -> None:
    fleet = Fleet(1)
    open_tickets.enter_context(fleet.pool.admit("running", ANY))
    waiting = open_tickets.enter_context(fleet.pool.admit("waiting", ANY))
    reason = ApiError(409, "cancelled", "by hand")
    assert fleet.pool.end(waiting.id, reason)
    assert waiting.future.exception() is reason
    assert not fleet.pool.end("q_unknown", reason)


async def test_positions_are_announced_when_they_change_and_only_then(open_tickets) -> None:
    fleet = Fleet(1)
    leaving = contextlib.ExitStack()
    leaving.enter_context(fleet.pool.admit("running", ANY))
    heard: list[int] = []
    open_tickets.enter_context(fleet.pool.admit("second", ANY))
    open_tickets.enter_context(fleet.pool.admit("third", ANY, lambda ticket: heard.append(ticket.position)))
    fleet.clock.advance(5)
    assert heard == []
    leaving.close()
    fleet.clock.advance(5)
    assert heard == [1]


async def test_far_from_the_head_news_are_few() -> None:
    fleet = Fleet(1, max_queue=2000)
    admissions = [contextlib.ExitStack() for _ in range(1001)]
    heard: list[int] = []
    for n, stack in enumerate(admissions):
        listener = (lambda ticket: heard.append(ticket.position)) if n == 1000 else (lambda ticket: None)
        stack.enter_context(fleet.pool.admit(f"r{n}", ANY, listener))
    for stack in admissions[:-1]:
        stack.close()
        fleet.clock.advance(2)
    assert heard == sorted(heard, reverse=True)
    assert heard[-1] == 1
    assert len(heard) < 80
    admissions[-1].close()
