"""Who goes when the queue is full, and who is refused because the wait would be too long."""

from __future__ import annotations

import contextlib
from dataclasses import replace

import pytest

from gateway.errors import ApiError
from gateway.slots.line.standing import Standing
from tests.gateway.stages.fleet import ANY, BULK, DEFAULT, INTERACTIVE, Counterpart, Fleet


async def test_a_full_queue_gives_way_to_the_tenant_with_less_in_it(one_slot: Counterpart) -> None:
    one_slot.fleet.pool.max_queue = 4
    for name in ["a1", "a2", "a3", "a4"]:
        one_slot.admit(name)
    one_slot.admit("b1")
    assert one_slot.tickets["a4"].future.exception().code == "queue_full"
    assert one_slot.tickets["a4"].future.exception().headers["Retry-After"]
    one_slot.admit("b2")
    with pytest.raises(ApiError):
        one_slot.admit("b3")
    assert [ticket.request_id for ticket in one_slot.fleet.pool.queue] == ["a1", "b1", "a2", "b2"]


async def test_a_full_queue_gives_way_to_a_higher_class(one_slot: Counterpart) -> None:
    one_slot.fleet.pool.max_queue = 2
    one_slot.admit("a1", BULK)
    one_slot.admit("a2", DEFAULT)
    one_slot.admit("b1", INTERACTIVE)
    one_slot.admit("b2", INTERACTIVE)
    for name in ("a1", "a2"):
        assert one_slot.tickets[name].future.exception().code == "queue_full"
    with pytest.raises(ApiError):
        one_slot.admit("c1", BULK)


async def test_a_full_queue_keeps_an_eighth_for_bulk(one_slot: Counterpart) -> None:
    one_slot.fleet.pool.max_queue = 16
    for n in range(16):
        one_slot.admit(f"a{n}")
    one_slot.admit("b1", BULK)
    one_slot.admit("b2", BULK)
    with pytest.raises(ApiError):
        one_slot.admit("b3", BULK)
    with pytest.raises(ApiError):
        one_slot.admit("a_new")
    assert one_slot.tickets["b1"] in one_slot.fleet.pool.queue
    assert one_slot.tickets["b2"] in one_slot.fleet.pool.queue
    assert one_slot.tickets["a15"].future.exception().code == "queue_full"


async def test_a_request_that_would_wait_past_its_deadline_is_refused_at_once() -> None:
    fleet = Fleet(1, max_wait_seconds=10)
    counterpart = Counterpart(fleet)
    counterpart.admit("x")
    for n in range(5):
        counterpart.admit(f"a{n}")
    fleet.workers[0].service_time.observe(4.0)
    fleet.clock.advance(1)
    with pytest.raises(ApiError) as refused:
        counterpart.admit("a_late")
    assert (refused.value.status_code, refused.value.code) == (429, "wait_too_long")
    assert int(refused.value.headers["Retry-After"]) == 13  # 3 + 5 x 4 seconds of waiting, 10 allowed
    for stack in counterpart.admissions.values():
        stack.close()


async def test_nothing_is_refused_for_a_wait_that_nobody_has_measured() -> None:
    fleet = Fleet(1, max_wait_seconds=0.1)
    with fleet.pool.admit("running", ANY), fleet.pool.admit("waiting", ANY) as waiting:
        assert waiting in fleet.pool.queue


async def test_a_client_with_all_its_requests_open_is_told_when_the_first_will_end(
    open_tickets: contextlib.ExitStack,
) -> None:
    fleet = Fleet(4)
    fleet.workers[0].service_time.observe(20.0)
    standing = Standing("a", max_streams=2)
    for wait_seconds in (5, 3):
        open_tickets.enter_context(fleet.pool.admit("r", ANY, standing=standing))
        fleet.clock.advance(wait_seconds)
    with pytest.raises(ApiError) as refused, fleet.pool.admit("r", ANY, standing=standing):
        pass
    assert refused.value.code == "too_many_streams"
    assert refused.value.headers["Retry-After"] == "12"


async def test_a_resumed_clip_is_not_refused_for_what_another_gateway_tells_of_it(
    open_tickets: contextlib.ExitStack,
) -> None:
    fleet, standing = Fleet(4), Standing("a", max_streams=1)
    fleet.pool.tickets.elsewhere = {"a": 1}.__getitem__
    with pytest.raises(ApiError) as refused, fleet.pool.admit("new", ANY, standing=standing):
        pass
    assert refused.value.code == "too_many_streams"
    resumed = replace(ANY, revision="1")
    open_tickets.enter_context(fleet.pool.admit("resumed", resumed, standing=standing))
    with pytest.raises(ApiError) as refused, fleet.pool.admit("again", resumed, standing=standing):
        pass
    assert refused.value.code == "too_many_streams"


async def test_what_accompanies_a_request_counts_once_that_has_ended(
    open_tickets: contextlib.ExitStack,
) -> None:
    fleet, standing = Fleet(4), Standing("a", max_streams=1)
    tickets = fleet.pool.tickets
    along = open_tickets.enter_context(
        fleet.pool.admit("answer", ANY, standing=replace(standing, accompanies=True))
    )
    with fleet.pool.admit("answer", ANY, standing=standing):
        open_tickets.enter_context(fleet.pool.admit("b", ANY, standing=replace(standing, accompanies=True)))
        assert tickets.of("a", False) == 1
    for _ in range(2):
        tickets.count(along)
        assert tickets.of("a", False) == 1
    with pytest.raises(ApiError) as refused, fleet.pool.admit("new", ANY, standing=standing):
        pass
    assert refused.value.code == "too_many_streams"
    open_tickets.close()
    assert not tickets.streams
