"""Whose turn it is: classes, ageing, and tenants by the audio they got."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import ApiError
from gateway.slots.requirement import Requirement
from tests.gateway.stages.fleet import (
    ANY,
    BULK,
    DEFAULT,
    INTERACTIVE,
    Counterpart,
    Fleet,
    check_queue,
    describe_model,
    status,
)


async def test_classes_are_served_strictly_in_order(one_slot: Counterpart) -> None:
    for name, priority in [("b1", BULK), ("d1", DEFAULT), ("i1", INTERACTIVE), ("d2", DEFAULT)]:
        one_slot.admit(name, priority)
    assert one_slot.serve(2) == "i1 d1"
    one_slot.admit("i2", INTERACTIVE)
    assert one_slot.serve(3) == "i2 d2 b1"


async def test_tenants_take_turns_however_many_they_send(one_slot: Counterpart) -> None:
    for name in ["a1", "a2", "a3", "a4", "b1", "c1", "b2"]:
        one_slot.admit(name)
    assert one_slot.serve(7) == "a1 b1 c1 a2 b2 a3 a4"


async def test_turns_are_taken_by_audio_and_not_by_requests(one_slot: Counterpart) -> None:
    for name in ["a1", "a2", "a3", "a4", "a5", "a6"]:
        one_slot.admit(name, audio_seconds=1)
    for name in ["b1", "b2"]:
        one_slot.admit(name, audio_seconds=3)
    assert one_slot.serve(8) == "a1 b1 a2 a3 a4 b2 a5 a6"


async def test_what_was_really_served_counts(one_slot: Counterpart) -> None:
    """A tenant whose clips are three times as long as its texts promise gets every fourth turn."""
    for n in range(9):
        one_slot.admit(f"a{n}")
        one_slot.admit(f"b{n}")
    served: Counter[str] = Counter()
    one_slot.serve(1)
    for _ in range(8):
        name = one_slot.running()
        served[name[0]] += 1
        one_slot.serve(1, audio_seconds=3.0 if name[0] == "a" else 1.0)
    assert served == {"a": 2, "b": 6}


@pytest.mark.parametrize("audio_seconds", [1.0, 3.0], ids=["as promised", "longer"])
async def test_a_share_follows_the_weight(one_slot: Counterpart, audio_seconds: float) -> None:
    for n in range(12):
        one_slot.admit(f"a{n}", weight=3.0)
        one_slot.admit(f"b{n}", weight=1.0)
    served = one_slot.serve(12, audio_seconds=audio_seconds)
    assert Counter(name[0] for name in served.split()) == {"a": 9, "b": 3}


async def test_nobody_saves_up_credit_by_staying_away(one_slot: Counterpart) -> None:
    for n in range(8):
        one_slot.admit(f"a{n}")
    one_slot.serve(4)
    for n in range(4):
        one_slot.admit(f"b{n}")
    assert one_slot.serve(4) in ("b0 a4 b1 a5", "a4 b0 a5 b1")


async def test_a_tenant_is_served_in_its_own_order_whatever_leaves(one_slot: Counterpart) -> None:
    for name in ["a1", "a2", "a3", "a4", "b1", "b2"]:
        one_slot.admit(name)
    one_slot.leave("a1")
    one_slot.leave("a3")
    assert one_slot.serve(4) == "a2 b1 a4 b2"


async def test_a_tenant_has_one_share_whatever_it_asks_for(one_slot: Counterpart) -> None:
    """Asking for the model by name opens no second line."""
    for n in range(4):
        one_slot.admit(f"a{n}", requirement=Requirement("alpha") if n % 2 else ANY)
        one_slot.admit(f"b{n}")
    assert one_slot.serve(6) == "a0 b0 a1 b1 a2 b2"


@pytest.mark.parametrize("tenants", [1, 1000])
@pytest.mark.parametrize("others_are_served", [False, True])
async def test_who_comes_and_leaves_again_and_again_leaves_nothing(
    tenants: int, others_are_served: bool
) -> None:
    """While somebody waits for a model whose one slot is taken."""
    fleet = Fleet(0, 0)
    for worker, name in zip(fleet.workers, ("alpha", "beta"), strict=True):
        fleet.pool.reports.answered(worker, status(model=describe_model(name)))
    alpha, beta = Requirement("alpha"), Requirement("beta")
    counterpart = Counterpart(fleet)
    counterpart.admit("x", requirement=alpha)
    with fleet.pool.admit("running", beta):
        counterpart.admit("a1", requirement=beta)
        for n in range(1000):
            tenant = chr(0x4E00 + n % tenants)
            counterpart.admit(f"{tenant}{n}", requirement=beta)
            counterpart.leave(f"{tenant}{n}")
            if others_are_served:
                counterpart.admit(f"c{n}", requirement=alpha)
                counterpart.serve(1)
        line = fleet.pool.queue._classes[DEFAULT]
        lane = line.lanes[beta]
        assert len(line._idle) <= 1 and len(line._shares) <= 3
        assert len(lane.lines) == len(lane._heap) <= 100
        for stack in counterpart.admissions.values():
            stack.close()


async def test_who_was_ahead_is_forgotten_once_others_have_had_as_much(one_slot: Counterpart) -> None:
    for name in ["a1", "a2", "a3", "a4", "a5", "a6", "b1", "c1"]:
        one_slot.admit(name)
    line = one_slot.fleet.pool.queue._classes[DEFAULT]
    assert one_slot.serve(3) == "a1 b1 c1"
    one_slot.admit("b2")
    assert set(line._shares) == set("abc"), "b and c are ahead"
    assert one_slot.serve(4) == "a2 b2 a3 a4"
    assert set(line._shares) == {"a"} and not line._idle


async def test_bulk_that_waited_too_long_gets_every_other_slot(one_slot: Counterpart) -> None:
    for n in range(3):
        one_slot.admit(f"b{n}", BULK)
    for n in range(9):
        one_slot.admit(f"i{n}", INTERACTIVE)
    assert one_slot.serve(2) == "i0 i1"
    one_slot.fleet.clock.advance(31)
    assert one_slot.serve(5) == "b0 i2 b1 i3 b2"


async def test_under_saturation_bulk_waits_no_longer_than_it_ages_and_its_own_line_takes() -> None:
    """Interactive requests never stop coming; every request takes a second; bulk comes every ten."""
    fleet = Fleet(1, max_queue=1000, ageing_seconds=30)
    counterpart = Counterpart(fleet)
    waits = []
    counterpart.admit("x")
    for second in range(600):
        counterpart.admit(f"i{second}", INTERACTIVE)
        if second % 10 == 0:
            counterpart.admit(f"b{second}", BULK)
        fleet.clock.advance(1)
        counterpart.serve(1)
        ticket = counterpart.tickets[counterpart.running()]
        if ticket.standing.priority is BULK:
            waits.append(fleet.clock.now - ticket.enqueued_at)
    assert len(waits) >= 55
    assert max(waits) <= 32
    for stack in counterpart.admissions.values():
        stack.close()


@pytest.mark.parametrize("lengths", [(1.0, 1.0), (0.5, 6.0)])
async def test_ten_times_the_load_wins_no_larger_share(lengths: tuple[float, float]) -> None:
    """Jain's index of the audio served to two tenants, one of which offers ten times as much."""
    fleet = Fleet(4, max_queue=40)
    counterpart = Counterpart(fleet)
    served = {"a": 0.0, "b": 0.0}
    draw = random.Random(7)
    for step in range(3000):
        tenant = "a" if draw.random() < 10 / 11 else "b"
        with contextlib.suppress(ApiError):
            counterpart.admit(f"{tenant}{step}", audio_seconds=lengths[tenant == "b"])
        displaced = [n for n, t in counterpart.tickets.items() if t.future.done() and not t.lease]
        for name in displaced:
            counterpart.leave(name)
        if step % 11 == 0:
            name = counterpart.running()
            ticket = counterpart.tickets[name]
            ticket.audio_seconds = ticket.standing.audio_seconds * draw.uniform(0.7, 1.4)
            served[name[0]] += ticket.audio_seconds
            counterpart.leave(name)
    total = sum(served.values())
    assert total**2 / (2 * sum(amount**2 for amount in served.values())) >= 0.95
    for stack in counterpart.admissions.values():
        stack.close()


async def test_a_begun_clip_goes_before_one_that_was_only_refused(one_slot: Counterpart) -> None:
    fleet = one_slot.fleet
    refused = one_slot.tickets["x"]
    fleet.pool.reports.refused(fleet.workers[0])
    fleet.pool.requeue(refused)
    begun = one_slot.admit("b1")
    fleet.pool.queue.remove(begun)
    begun.attempts = 1
    fleet.pool.requeue(begun, requirement=Requirement("alpha", "default", "1"))
    waiting = one_slot.admit("i1", INTERACTIVE)
    assert list(fleet.pool.queue) == [begun, refused, waiting]


@pytest.mark.parametrize("waiting", ["", "a", "aaa", "ab", "abcabc", "aabb"])
async def test_the_position_told_on_arrival_is_the_place_in_line(one_slot: Counterpart, waiting: str) -> None:
    one_slot.admit("i1", INTERACTIVE)
    for n, tenant in enumerate(waiting):
        one_slot.admit(f"{tenant}{n}")
    newcomer = one_slot.admit("a_new")
    assert newcomer.position == list(one_slot.fleet.pool.queue).index(newcomer) + 1


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([0.5, 1.0, 2.0])), max_size=12))
def test_the_order_that_is_announced_is_the_order_of_service(arrivals: list[tuple[str, float]]) -> None:
    async def run() -> None:
        counterpart = Counterpart(Fleet(1))
        counterpart.admit("x")
        for n, (tenant, audio_seconds) in enumerate(arrivals):
            counterpart.admit(f"{tenant}{n}", audio_seconds=audio_seconds)
        announced = " ".join(ticket.request_id for ticket in counterpart.fleet.pool.queue)
        assert counterpart.serve(len(arrivals)) == announced
        for stack in counterpart.admissions.values():
            stack.close()

    asyncio.run(run())


async def test_lanes_and_shares_survive_models_that_come_and_go() -> None:
    fleet = Fleet(0, 0)
    alpha, beta = fleet.workers
    fleet.pool.reports.answered(alpha, status(model=describe_model("alpha")))
    fleet.pool.reports.answered(beta, status(model=describe_model("beta")))
    counterpart = Counterpart(fleet)
    for n in range(4):
        counterpart.admit(f"a{n}", requirement=Requirement("alpha"))
        counterpart.admit(f"b{n}", requirement=Requirement("beta"))
    check_queue(fleet.pool.queue)
    fleet.die(alpha)
    fleet.clock.advance(60)
    assert [ticket.request_id for ticket in fleet.pool.queue] == ["b1", "b2", "b3"]
    check_queue(fleet.pool.queue)
    for stack in counterpart.admissions.values():
        stack.close()
    check_queue(fleet.pool.queue)


async def test_who_leaves_in_the_moment_of_its_turn_is_not_charged(one_slot: Counterpart) -> None:
    """Its wait is cancelled, and a slot becomes free before the request was seen to leave."""
    gone = one_slot.admit("a1", audio_seconds=9)
    one_slot.admit("a2")
    one_slot.admit("b1")
    gone.future.cancel()
    assert one_slot.serve(1) == "a2"
    one_slot.leave("a1")
    one_slot.admit("a3")
    one_slot.admit("b2")
    assert one_slot.serve(3) == "b1 a3 b2"


async def test_who_steps_aside_is_passed_over_and_keeps_its_place(one_slot: Counterpart) -> None:
    for name in ["a1", "b1", "c1", "d1"]:
        one_slot.admit(name)
    pool, stepped = one_slot.fleet.pool, one_slot.tickets["a1"]
    pool.step_aside(stepped)
    assert one_slot.serve(2) == "b1 c1"
    one_slot.admit("a2")
    one_slot.admit("e1")
    pool.step_back(stepped)
    assert one_slot.serve(4) == "a1 d1 e1 a2"
    pool.step_back(stepped)
    assert not stepped.waiting, "it is long over"


async def test_who_comes_back_at_once_is_where_it_was(one_slot: Counterpart) -> None:
    """Nothing was known of its tenant meanwhile, and nobody was served."""
    for name in ["a1", "b1", "c1"]:
        one_slot.admit(name)
    pool = one_slot.fleet.pool
    for name in ["b1", "a1"]:
        pool.step_aside(one_slot.tickets[name])
        pool.step_back(one_slot.tickets[name])
    assert one_slot.serve(3) == "a1 b1 c1"


async def test_nobody_saves_up_turns_by_stepping_aside(one_slot: Counterpart) -> None:
    for name in ["a1", *(f"b{n}" for n in range(6))]:
        one_slot.admit(name)
    stepped = one_slot.tickets["a1"]
    one_slot.fleet.pool.step_aside(stepped)
    one_slot.serve(4)
    for n in range(2, 5):
        one_slot.admit(f"a{n}")
    one_slot.fleet.pool.step_back(stepped)
    assert one_slot.serve(6) == "a1 b4 a2 b5 a3 a4"
