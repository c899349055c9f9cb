"""When a request is tried again and when it is refused: the history of its attempts decides."""

from __future__ import annotations

import pytest

from gateway.errors import ApiError
from gateway.slots.capacity.worker import Worker
from gateway.slots.requirement import Requirement
from gateway.streams.failover import HANDED_OVER, MAX_DEATHS, MAX_UNREACHABLE, Failover
from gateway.streams.retry_budget import RetryBudget
from tests.gateway.stages.fleet import Fleet, ManualClock, status
from worker.protocol import WorkerState


async def probe_nothing(worker: Worker) -> None:
    """Nobody asks the worker."""


def failover_of(floor: int = 100, migrations: int = 3, probe=probe_nothing) -> Failover:
    return Failover(RetryBudget(0.0, lambda: floor, ManualClock()), migrations, probe)


async def break_on(failover: Failover, worker: Worker, reason: str, progress: bool = True) -> None:
    await failover.after_break(worker, reason, progress=progress, patience_seconds=0.0)


async def test_a_clip_moves_three_times_because_of_faults_and_no_more() -> None:
    fleet, failover = Fleet(1), failover_of()
    for _ in range(3):
        await break_on(failover, fleet.workers[0], "corrupt")
    with pytest.raises(ApiError) as refused:
        await break_on(failover, fleet.workers[0], "corrupt")
    assert refused.value.code == "worker_failed"
    assert failover.migrations == 4


async def test_faults_that_a_clip_flowed_on_after_are_forgotten() -> None:
    """A worker on a busy machine stands still now and then, however long the clip is."""
    clock, fleet = ManualClock(), Fleet(1)
    failover = Failover(RetryBudget(0.0, lambda: 100, clock), 1, probe_nothing, clock)
    for _ in range(9):
        clock.advance(11)
        await break_on(failover, fleet.workers[0], "silence")
    clock.advance(9)
    with pytest.raises(ApiError):
        await break_on(failover, fleet.workers[0], "silence")


async def test_a_worker_that_brings_nothing_is_forgiven_nothing() -> None:
    clock, fleet = ManualClock(), Fleet(1)
    failover = Failover(RetryBudget(0.0, lambda: 100, clock), 1, probe_nothing, clock)
    await break_on(failover, fleet.workers[0], "silence", progress=False)
    clock.advance(11)
    with pytest.raises(ApiError):
        await break_on(failover, fleet.workers[0], "silence", progress=False)


async def test_a_worker_that_hands_its_streams_over_is_no_fault_and_costs_nothing() -> None:
    fleet, failover = Fleet(1), failover_of(floor=0, migrations=0)
    for _ in range(50):
        await break_on(failover, fleet.workers[0], HANDED_OVER)
        failover.moved()
    assert failover.migrations == 100


async def test_a_request_under_which_two_workers_died_is_refused() -> None:
    fleet, failover = Fleet(1, 1, 1), failover_of()
    fleet.die(fleet.workers[0])
    await break_on(failover, fleet.workers[0], "closed")
    fleet.die(fleet.workers[1])
    with pytest.raises(ApiError) as refused:
        await break_on(failover, fleet.workers[1], "closed")
    assert (refused.value.status_code, refused.value.code) == (500, "worker_failed")


async def test_a_worker_that_came_back_as_another_process_has_died() -> None:
    fleet, failover = Fleet(1, 1), failover_of()
    for worker in fleet.workers[:MAX_DEATHS]:
        broken = break_on(failover, worker, "closed")
        if worker is fleet.workers[0]:
            await broken
            fleet.pool.reports.answered(worker, status(boot_id="boot-2"))
        else:
            fleet.pool.reports.answered(worker, status(boot_id="boot-1", state=WorkerState.ERROR))
            with pytest.raises(ApiError):
                await broken


async def test_connections_cut_under_workers_that_live_on_are_no_deaths() -> None:
    fleet, failover = Fleet(1, 1, 1), failover_of()
    for worker in fleet.workers:
        await break_on(failover, worker, "closed")
    assert failover.migrations == 3


async def test_the_second_death_is_asked_about_before_it_counts() -> None:
    fleet = Fleet(1, 1)
    asked = []

    async def probe(worker: Worker) -> None:
        asked.append(worker)
        fleet.die(worker)

    failover = failover_of(probe=probe)
    fleet.die(fleet.workers[0])
    await break_on(failover, fleet.workers[0], "closed")
    assert not asked
    with pytest.raises(ApiError):
        await break_on(failover, fleet.workers[1], "closed")
    assert asked == [fleet.workers[1]]


@pytest.mark.parametrize("reason", ["failed", "stalled"])
async def test_an_engine_that_gives_a_request_up_twice_is_believed(reason: str) -> None:
    fleet, failover = Fleet(1, 1), failover_of()
    await break_on(failover, fleet.workers[0], reason)
    with pytest.raises(ApiError):
        await break_on(failover, fleet.workers[1], reason)


async def test_beyond_the_retry_budget_a_request_is_told() -> None:
    fleet, failover = Fleet(1), failover_of(floor=0)
    others = failover._budget
    while others.spend():
        pass
    with pytest.raises(ApiError) as refused:
        await break_on(failover, fleet.workers[0], "silence", progress=False)
    assert (refused.value.status_code, refused.value.code) == (503, "retry_budget")
    assert "Retry-After" in refused.value.headers


async def test_a_clip_that_goes_on_where_it_stopped_waits_for_no_budget() -> None:
    fleet, failover = Fleet(1), failover_of(floor=0)
    while failover._budget.spend():
        pass
    await break_on(failover, fleet.workers[0], "silence")
    assert failover._budget.left < 0, "it is charged all the same"


async def test_a_request_that_no_worker_takes_is_given_up() -> None:
    failover = failover_of()
    for _ in range(MAX_UNREACHABLE - 1):
        await failover.after_unreachable(OSError("refused"), 0.0)
    with pytest.raises(ApiError) as refused:
        await failover.after_unreachable(OSError("refused"), 0.0)
    assert refused.value.code == "worker_unreachable"


# ----------------------------------------------------------------------------------------- half-open trials


def leases_of(fleet: Fleet, count: int) -> list:
    """So many requests that want a slot; the open context managers, in order."""
    opened = []
    for number in range(count):
        context = fleet.pool.admit(f"r{number}", Requirement())
        opened.append((context, context.__enter__()))
    return opened


def close_all(opened: list) -> None:
    for context, _ in opened:
        context.__exit__(None, None, None)


async def test_a_suspect_that_answers_again_gets_one_request_until_one_has_brought_audio() -> None:
    fleet = Fleet(4)
    worker = fleet.workers[0]
    fleet.pool.reports.suspected(worker, "silence")
    opened = leases_of(fleet, 3)
    assert not worker.leases
    fleet.pool.reports.answered(worker, status(slots=4, step=1))
    fleet.clock.advance(1.0)
    assert len(worker.leases) == 1
    fleet.pool.reports.audio_came(worker)
    assert len(worker.leases) == 3
    close_all(opened)


async def test_a_trial_that_ends_without_audio_gives_the_next_request_a_try() -> None:
    fleet = Fleet(4)
    worker = fleet.workers[0]
    fleet.pool.reports.suspected(worker, "silence")
    fleet.pool.reports.answered(worker, status(slots=4, step=1))
    fleet.clock.advance(1.0)
    opened = leases_of(fleet, 2)
    assert len(worker.leases) == 1
    close_all(opened[:1])
    assert len(worker.leases) == 1
    close_all(opened[1:])


async def test_a_new_process_is_not_on_trial_for_what_the_old_one_did() -> None:
    fleet = Fleet(4)
    worker = fleet.workers[0]
    fleet.pool.reports.suspected(worker, "closed")
    fleet.pool.reports.answered(worker, status(slots=4, boot_id="boot-2"))
    fleet.clock.advance(1.0)
    opened = leases_of(fleet, 3)
    assert len(worker.leases) == 3
    close_all(opened)
