"""Workers that die, restart, load, drain or are suspected: what the pool does with those who run or wait."""

from __future__ import annotations

import pytest

from gateway.errors import ApiError
from gateway.slots.capacity.trust import PASSED_OVER_SECONDS
from gateway.slots.capacity.worker import Health
from gateway.slots.line.tickets import Ticket
from gateway.slots.requirement import Requirement
from tests.gateway.stages.fleet import ANY, Fleet, describe_model, status, worker_of
from worker.protocol import WorkerState


async def test_a_dead_worker_is_no_black_hole(open_tickets) -> None:
    """Releasing a lease of a dead worker must not make it look idle."""
    fleet = Fleet(1, 1)
    first = open_tickets.enter_context(fleet.pool.admit("first", ANY))
    dead = first.lease.worker
    fleet.die(dead)
    fleet.pool.requeue(first, exclude=dead)
    others = [open_tickets.enter_context(fleet.pool.admit(f"r{n}", ANY)) for n in range(20)]
    assert worker_of(first) not in (dead.id, None)
    assert all(worker_of(ticket) != dead.id for ticket in others)
    assert dead.state == "DOWN"


async def test_a_failed_request_comes_back_to_the_front_and_to_another_worker(open_tickets) -> None:
    fleet = Fleet(1, 1)
    first, second, third = (open_tickets.enter_context(fleet.pool.admit(n, ANY)) for n in ("a", "b", "c"))
    failed = first.lease.worker
    fleet.pool.requeue(first, exclude=failed)
    assert worker_of(third) == failed.id, "the slot that the failed request left is for the next in line"
    fleet.pool._release(second.lease)
    assert worker_of(first) not in (failed.id, None)
    assert first.lease.epoch == 2


async def test_a_failed_request_goes_ahead_of_those_who_wait(open_tickets) -> None:
    fleet = Fleet(1, 1)
    first, second, third = (open_tickets.enter_context(fleet.pool.admit(n, ANY)) for n in ("a", "b", "c"))
    fleet.die(first.lease.worker)
    fleet.pool.requeue(first, exclude=first.lease.worker)
    fleet.pool._release(second.lease)
    assert first.lease is not None
    assert third.lease is None


async def test_an_excluded_worker_is_used_when_there_is_no_other(open_tickets) -> None:
    fleet = Fleet(1)
    ticket = open_tickets.enter_context(fleet.pool.admit("only", ANY))
    fleet.pool.requeue(ticket, exclude=fleet.workers[0])
    assert worker_of(ticket) == "w0"


async def test_a_suspect_worker_gets_nothing_until_a_probe_and_its_hold(open_tickets) -> None:
    fleet = Fleet(1)
    fleet.pool.reports.suspected(fleet.workers[0], "silence")
    ticket = open_tickets.enter_context(fleet.pool.admit("r", ANY))
    fleet.clock.advance(5)
    assert ticket.lease is None
    fleet.pool.reports.answered(fleet.workers[0], status())
    assert worker_of(ticket) == "w0"


async def test_a_worker_is_suspected_after_several_failures_in_a_row_whatever_it_says(open_tickets) -> None:
    fleet = Fleet(2)
    worker = fleet.workers[0]
    for _ in range(2):
        fleet.pool.reports.failed(worker, "failed")
    fleet.pool.reports.audio_came(worker)
    for _ in range(2):
        fleet.pool.reports.failed(worker, "failed")
    assert worker.health is Health.UP
    fleet.pool.reports.failed(worker, "failed")
    assert worker.health is Health.SUSPECT
    fleet.pool.reports.answered(worker, status(slots=2))
    tickets = [open_tickets.enter_context(fleet.pool.admit(name, ANY)) for name in "ab"]
    fleet.clock.advance(5)
    assert [ticket.lease is not None for ticket in tickets] == [True, False], "one at a time, on trial"


async def test_a_worker_that_fails_on_trial_is_held_back_longer_each_time() -> None:
    """It is always free, and would take the requests that others could serve."""
    fleet = Fleet(1)
    worker, held = fleet.workers[0], []
    for _ in range(8):
        fleet.pool.reports.failed(worker, "failed")
        held.append(worker.trust.hold_seconds)
        fleet.pool.reports.answered(worker, status())
        fleet.clock.advance(5)
        worker.trust.accepted()
    assert held[:3] == [0, 0, 0.05] and held == sorted(held) and held[-1] == 1.0
    fleet.pool.reports.audio_came(worker)
    assert worker.trust.hold_seconds == 0 and not worker.trust.on_trial


async def test_a_suspect_whose_engine_stands_still_stays_suspect() -> None:
    fleet = Fleet(1)
    worker = fleet.workers[0]
    fleet.pool.reports.answered(worker, status(WorkerState.BUSY, slots_used=1, step=7))
    fleet.pool.reports.suspected(worker, "stalled")
    fleet.pool.reports.answered(worker, status(WorkerState.BUSY, slots_used=1, step=7))
    assert worker.health is Health.SUSPECT
    fleet.pool.reports.answered(worker, status(WorkerState.BUSY, slots_used=1, step=8))
    assert worker.health is Health.UP


async def test_a_restarted_worker_owes_nothing_to_old_leases(open_tickets) -> None:
    fleet = Fleet(1)
    old = open_tickets.enter_context(fleet.pool.admit("old", ANY))
    lease = old.lease
    fleet.die(fleet.workers[0])
    fleet.pool.reports.answered(fleet.workers[0], status(boot_id="boot-2"))
    new = open_tickets.enter_context(fleet.pool.admit("new", ANY))
    assert worker_of(new) == "w0"
    fleet.pool._release(lease)
    assert worker_of(new) == "w0"
    assert len(fleet.workers[0].leases) == 1


async def test_a_request_that_lost_its_restarted_worker_is_dispatched_again(open_tickets) -> None:
    fleet = Fleet(1)
    ticket = open_tickets.enter_context(fleet.pool.admit("r", ANY))
    fleet.pool.reports.answered(fleet.workers[0], status(boot_id="boot-2"))
    fleet.pool.requeue(ticket, exclude=fleet.workers[0])
    assert worker_of(ticket) == "w0"


async def test_a_begun_clip_goes_on_with_the_same_weights_only(open_tickets) -> None:
    fleet = Fleet(0, 0)
    fleet.pool.reports.answered(fleet.workers[0], status(model=describe_model(revision="1")))
    fleet.pool.reports.answered(fleet.workers[1], status(model=describe_model(revision="2")))
    ticket = open_tickets.enter_context(fleet.pool.admit("r", ANY))
    begun_with = ticket.lease.worker
    revision = Requirement("alpha", "default", begun_with.model.revision)
    fleet.pool.requeue(ticket, exclude=begun_with, requirement=revision)
    assert worker_of(ticket) == begun_with.id


async def test_without_any_worker_requests_are_refused_and_while_one_loads_they_wait(open_tickets) -> None:
    fleet = Fleet(0)
    fleet.die(fleet.workers[0])
    with pytest.raises(ApiError) as refused, fleet.pool.admit("r", ANY):
        raise AssertionError("was admitted")
    assert refused.value.status_code == 503
    assert "Retry-After" in refused.value.headers
    fleet.pool.reports.answered(fleet.workers[0], status(WorkerState.LOADING))
    ticket = open_tickets.enter_context(fleet.pool.admit("r", ANY))
    assert fleet.pool.estimate_wait(ANY, ticket.position) == 15.0
    fleet.pool.reports.answered(fleet.workers[0], status())
    assert worker_of(ticket) == "w0"


async def test_a_model_whose_worker_is_being_restarted_is_not_unknown() -> None:
    fleet = Fleet(1, 0)
    beta = fleet.workers[1]
    fleet.pool.reports.answered(beta, status(model=describe_model("beta")))
    fleet.pool.reports.answered(beta, status(WorkerState.LOADING, boot_id="boot-2"))
    fleet.die(beta)
    with pytest.raises(ApiError) as refused, fleet.pool.admit("r", Requirement("beta")):
        raise AssertionError("was admitted")
    assert refused.value.status_code == 503


async def test_waiting_requests_are_kept_for_the_grace_period_and_then_told(open_tickets) -> None:
    fleet = Fleet(1, grace_seconds=10)
    open_tickets.enter_context(fleet.pool.admit("running", ANY))
    waiting = open_tickets.enter_context(fleet.pool.admit("waiting", ANY))
    fleet.die(fleet.workers[0])
    fleet.clock.advance(9)
    assert not waiting.future.done()
    fleet.clock.advance(2)
    assert waiting.future.exception().status_code == 503
    assert not fleet.pool.queue


async def test_a_voice_that_turns_out_to_be_unknown_is_refused_when_the_model_is_loaded(open_tickets) -> None:
    fleet = Fleet(0)
    fleet.pool.reports.answered(fleet.workers[0], status(WorkerState.LOADING))
    ticket = open_tickets.enter_context(fleet.pool.admit("r", Requirement(voice="nobody")))
    fleet.pool.reports.answered(fleet.workers[0], status())
    fleet.clock.advance(0.001)
    assert ticket.future.exception().code == "unknown_voice"


async def test_a_draining_worker_gets_nothing_new_and_keeps_what_it_has(open_tickets) -> None:
    fleet = Fleet(2)
    running = open_tickets.enter_context(fleet.pool.admit("running", ANY))
    fleet.pool.reports.answered(fleet.workers[0], status(WorkerState.DRAINING, slots=2))
    assert worker_of(running) == "w0"
    assert fleet.workers[0].state == "DRAINING"
    with pytest.raises(ApiError) as refused, fleet.pool.admit("new", ANY):
        raise AssertionError("was admitted")
    assert refused.value.status_code == 503


async def test_waiting_requests_hear_that_the_last_worker_is_gone(open_tickets) -> None:
    fleet = Fleet(1)
    open_tickets.enter_context(fleet.pool.admit("running", ANY))
    heard: list[float | None] = []

    def listen(ticket: Ticket) -> None:
        heard.append(fleet.pool.estimate_wait(ANY, ticket.position))

    open_tickets.enter_context(fleet.pool.admit("waiting", ANY, listen))
    fleet.pool.reports.suspected(fleet.workers[0], "silence")
    assert heard == [None]


async def test_who_waits_for_a_worker_that_restarts_is_told_how_long(open_tickets) -> None:
    fleet = Fleet(2)
    worker = fleet.workers[0]
    for _ in range(2):
        open_tickets.enter_context(fleet.pool.admit("running", ANY))
    told: list[float | None] = []

    def tell(ticket: Ticket) -> None:
        told.append(fleet.pool.estimate_wait(ANY, ticket.position))

    worker.restarting = True
    fleet.pool.reports.answered(worker, status(WorkerState.DRAINING, slots=2))
    waiting = open_tickets.enter_context(fleet.pool.admit("r", ANY, tell))
    assert fleet.pool.estimate_wait(ANY, 1) == 15.0
    fleet.clock.advance(4)
    fleet.die(worker)
    assert fleet.pool.estimate_wait(ANY, 1) == 11.0
    fleet.pool.reports.answered(worker, status(WorkerState.LOADING, boot_id="boot-2", slots=2))
    assert fleet.pool.estimate_wait(ANY, 3) == 16.0, "its slots serve two at a time"
    fleet.clock.advance(2)
    fleet.pool.reports.answered(worker, status(boot_id="boot-2", slots=2))
    assert waiting.lease is not None
    worker.restarting = True
    fleet.pool.reports.answered(worker, status(WorkerState.DRAINING, boot_id="boot-2", slots=2))
    assert fleet.pool.estimate_wait(ANY, 1) == 6.0, "as long as the last time"


@pytest.mark.parametrize(("supervised", "known"), [(True, True), (False, False)])
async def test_a_worker_that_died_is_expected_back_where_somebody_starts_it(
    supervised: bool, known: bool
) -> None:
    fleet = Fleet(1)
    worker = fleet.workers[0]
    fleet.pool.reports.answered(worker, status().model_copy(update={"supervised": supervised}))
    fleet.die(worker)
    assert (fleet.pool.estimate_wait(ANY, 1) is not None) == known
    fleet.pool.reports.answered(worker, status(WorkerState.DRAINING).model_copy(update={"supervised": True}))
    assert fleet.pool.estimate_wait(ANY, 1) is None, "a drained worker comes back when somebody says so"


async def test_a_worker_whose_audio_comes_too_slowly_gets_what_others_have_no_room_for(open_tickets) -> None:
    fleet = Fleet(2, 2)
    slow = fleet.workers[0]

    def given(*names: str) -> str:
        tickets = [open_tickets.enter_context(fleet.pool.admit(name, ANY)) for name in names]
        return " ".join(str(worker_of(ticket)) for ticket in tickets)

    slow.trust.paced(seconds=50, audio_seconds=26)
    assert given("a", "b", "c", "d") == "w0 w1 w1 w0"
    open_tickets.close()
    assert given("e", "f") == "w1 w1"
    open_tickets.close()
    fleet.clock.advance(PASSED_OVER_SECONDS)
    assert given("g", "h", "i") == "w0 w1 w1", "it is seen with one request whether it still is slow"
    open_tickets.close()
    slow.trust.paced(seconds=3, audio_seconds=1)
    assert given("j") == "w1", "of a moment of audio nothing follows"
    open_tickets.close()
    slow.trust.paced(seconds=20, audio_seconds=26)
    fleet.pool.reports.answered(slow, status(slots=2))
    assert given("k", "l") == "w0 w1"


async def test_a_fleet_that_is_slow_everywhere_shares_the_load(open_tickets) -> None:
    fleet = Fleet(3, 3)
    for worker in fleet.workers:
        worker.trust.paced(seconds=50, audio_seconds=26)
    tickets = [open_tickets.enter_context(fleet.pool.admit(name, ANY)) for name in "abcdef"]
    assert [worker_of(ticket) for ticket in tickets] == ["w0", "w1"] * 3
