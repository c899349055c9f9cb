"""What the event log says of overload, and of workers that restart or go down."""

from __future__ import annotations

import asyncio

import pytest

from gateway.database import Database
from gateway.errors import ApiError
from gateway.operations import restart
from gateway.operations.event_log import EventLog
from gateway.operations.overload import QUIET_SECONDS, OverloadWatch
from gateway.operations.worker_journal import WorkerJournal
from gateway.workers.client import WorkerUnreachable
from tests.gateway.stages.fleet import Fleet, ManualClock, status
from worker.protocol import WorkerState, WorkerStatus


class Recorded(EventLog):
    """Keeps what it is told, for tests without a database."""

    def __init__(self) -> None:
        super().__init__(Database("sqlite:///:memory:"))
        self.lines: list[tuple[str, str, str]] = []

    def _append(self, kind: str, subject: str, message: str, *rest: object) -> None:
        self.lines.append((kind, subject, message))


def test_an_overload_is_two_lines_however_many_are_refused() -> None:
    clock, log = ManualClock(), Recorded()
    watch = OverloadWatch(log, clock, clock.call_later)
    watch.note("stop")
    assert log.lines == []
    for _ in range(300):
        watch.note("queue_full")
        clock.advance(0.1)
    watch.note("wait_too_long")
    assert [line[0] for line in log.lines] == ["overload"]
    clock.advance(QUIET_SECONDS + 1)
    assert log.lines[1] == ("overload_ended", "", "300 x queue_full, 1 x wait_too_long refused in 30 s")
    watch.note("queue_timeout")
    assert [line[0] for line in log.lines] == ["overload", "overload_ended", "overload"]


def test_a_restart_that_was_asked_for_is_no_error_in_the_journal() -> None:
    fleet, log = Fleet(0), Recorded()
    WorkerJournal(fleet.pool, log)
    (worker,) = fleet.workers
    fleet.pool.reports.answered(worker, status())
    worker.restarting = True
    fleet.pool.reports.answered(worker, status(WorkerState.DRAINING))
    fleet.die(worker)
    fleet.pool.reports.missed(worker, "refused")
    fleet.pool.reports.missed(worker, "refused")
    fleet.pool.reports.answered(worker, status(boot_id="boot-2"))
    kinds = [kind for kind, _, _ in log.lines]
    assert kinds == ["worker_up", "worker_draining", "worker_restarting", "worker_restarted", "worker_up"]


class EndsAtOnce:
    """The client of an idle worker, and its control: a probe finds it gone before its answer is read."""

    def __init__(self, fleet: Fleet, answers: bool = True) -> None:
        self._fleet, self._answers = fleet, answers
        self.control = self

    async def shut_down(self, wait_seconds: float) -> WorkerStatus:
        """Raises WorkerUnreachable unless it `answers`."""
        await asyncio.sleep(0)
        self._fleet.die(self._fleet.workers[0])
        if not self._answers:
            raise WorkerUnreachable("cut off")
        return status(WorkerState.DRAINING)


def supervised_fleet() -> tuple[Fleet, Recorded]:
    fleet, log = Fleet(0), Recorded()
    WorkerJournal(fleet.pool, log)
    fleet.pool.reports.answered(fleet.workers[0], status().model_copy(update={"supervised": True}))
    log.lines.clear()
    return fleet, log


async def test_an_idle_worker_that_ends_before_its_answer_is_read_restarts_and_is_not_down(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fleet, log = supervised_fleet()
    monkeypatch.setattr(restart, "RETURN_SECONDS", 0.0)
    worker = await restart.restart_worker(fleet.pool, {"w0": EndsAtOnce(fleet)}, "w0", 0.0)
    fleet.pool.reports.missed(worker, "refused")
    assert [kind for kind, _, _ in log.lines] == ["worker_restarting"]
    assert worker.state == "DOWN" and worker.pending
    given_up = asyncio.Event()
    fleet.pool.reports.on_health.append(lambda worker: given_up.set())
    await given_up.wait()
    assert log.lines[1:] == [("worker_down", "w0", "it was not started again")]
    assert not worker.pending


async def test_a_worker_that_did_not_hear_of_its_restart_is_down() -> None:
    fleet, log = supervised_fleet()
    with pytest.raises(ApiError, match="does not answer"):
        await restart.restart_worker(fleet.pool, {"w0": EndsAtOnce(fleet, answers=False)}, "w0", 30.0)
    fleet.pool.reports.missed(fleet.workers[0], "refused")
    assert [kind for kind, _, _ in log.lines][-1] == "worker_down"


async def test_a_restart_that_is_asked_for_twice_at_once_is_one() -> None:
    fleet, _ = supervised_fleet()
    clients = {"w0": EndsAtOnce(fleet)}
    asked = [restart.restart_worker(fleet.pool, clients, "w0", 30.0) for _ in range(2)]
    first, second = await asyncio.gather(*asked, return_exceptions=True)
    assert first is fleet.workers[0] and first.restarting
    assert isinstance(second, ApiError) and second.code == "already_restarting"


def test_the_journal_has_each_change_of_a_worker_once() -> None:
    fleet, log = Fleet(0), Recorded()
    WorkerJournal(fleet.pool, log)
    (worker,) = fleet.workers

    def heard() -> list[str]:
        kinds = [kind for kind, subject, _ in log.lines if subject == worker.id]
        log.lines.clear()
        return kinds

    fleet.pool.reports.answered(worker, status(WorkerState.LOADING))
    for _ in range(3):
        fleet.pool.reports.answered(worker, status())
    assert heard() == ["worker_loading", "worker_up"]
    fleet.die(worker)
    fleet.pool.reports.missed(worker, "refused")
    assert heard() == ["worker_suspect", "worker_down"]
    fleet.pool.reports.answered(worker, status(boot_id="boot-2"))
    assert heard() == ["worker_restarted", "worker_up"]
    fleet.pool.reports.answered(worker, status(WorkerState.DRAINING, boot_id="boot-2"))
    fleet.pool.reports.gone(worker, "the worker left")
    assert log.lines[-1] == ("worker_down", worker.id, "the worker left")
    fleet.pool.remove_worker(worker)
    assert heard() == ["worker_draining", "worker_down", "worker_forgotten"]
