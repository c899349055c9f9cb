"""A pool with a clock that tests turn, the words that workers say to it, and requests that wait for it."""

from __future__ import annotations

import contextlib
import heapq
import itertools
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from gateway.slots.capacity.worker import Worker
from gateway.slots.line.queue import TicketQueue
from gateway.slots.line.standing import Priority, Standing
from gateway.slots.line.tickets import Ticket
from gateway.slots.pool import WorkerPool
from gateway.slots.requirement import Requirement
from worker.protocol import AnyModel, ModelDescription, WorkerState, WorkerStatus

INTERACTIVE, DEFAULT, BULK = Priority
ANY = Requirement()


class ManualClock:
    """Time that passes when told; callbacks run when their time has come."""

    def __init__(self) -> None:
        self.now = 1000.0
        self._due: list[tuple[float, int, Callable[[], None]]] = []
        self._numbers = itertools.count()

    def __call__(self) -> float:
        return self.now

    def call_later(self, delay_seconds: float, callback: Callable[[], None]) -> None:
        heapq.heappush(self._due, (self.now + delay_seconds, next(self._numbers), callback))

    def advance(self, seconds: float) -> None:
        """Let time pass and run what becomes due on the way."""
        until = self.now + seconds
        while self._due and self._due[0][0] <= until:
            self.now, _, callback = heapq.heappop(self._due)
            callback()
        self.now = until


def describe_model(
    name: str = "alpha",
    revision: str = "1",
    voices: tuple[str, ...] = (),
    part_characters: int | None = None,
    features: tuple[str, ...] = (),
    max_prompt_seconds: float | None = None,
) -> ModelDescription:
    return ModelDescription(
        name=name,
        revision=revision,
        sample_rate=24000,
        patch_samples=3840,
        patch_size=4,
        latent_dim=64,
        reference_sample_rate=16000,
        voices=("default", *voices),
        max_text_characters=4096,
        part_characters=part_characters,
        max_prompt_seconds=max_prompt_seconds,
        features=features,
        default_cfg_value=2.0,
        default_inference_timesteps=10,
    )


def status(
    state: WorkerState = WorkerState.IDLE,
    slots: int = 1,
    boot_id: str = "boot-1",
    model: AnyModel | None = None,
    slots_used: int = 0,
    step: int = 0,
) -> WorkerStatus:
    return WorkerStatus(
        worker_id="worker",
        boot_id=boot_id,
        state=state,
        slots_total=slots,
        slots_used=slots_used,
        model=None if state is WorkerState.LOADING else model or describe_model(),
        device="cpu",
        pid=1,
        step=step,
        uptime_seconds=1.0,
        memory_bytes=1,
    )


class Fleet:
    """A pool of workers that are up, with one slot each unless said otherwise."""

    def __init__(
        self,
        *slots: int,
        max_queue: int = 100,
        grace_seconds: float = 10.0,
        max_wait_seconds: float = math.inf,
        ageing_seconds: float = 30.0,
    ) -> None:
        self.clock = ManualClock()
        self.workers = [Worker(f"w{index}", f"http://w{index}") for index in range(len(slots))]
        self.pool = WorkerPool(
            self.workers,
            max_queue=max_queue,
            no_worker_grace_seconds=grace_seconds,
            max_wait_seconds=max_wait_seconds,
            ageing_seconds=ageing_seconds,
            clock=self.clock,
            call_later=self.clock.call_later,
        )
        for worker, count in zip(self.workers, slots, strict=True):
            if count:
                self.pool.reports.answered(worker, status(slots=count))

    def die(self, worker: Worker) -> None:
        """Fail as many probes as it takes."""
        for _ in range(worker.failures_down):
            self.pool.reports.missed(worker, "refused")


@dataclass
class Counterpart:
    """A fleet of one slot and everybody who waits for it."""

    fleet: Fleet
    admissions: dict[str, contextlib.ExitStack] = field(default_factory=dict)
    tickets: dict[str, Ticket] = field(default_factory=dict)

    def admit(
        self,
        name: str,
        priority: Priority = DEFAULT,
        audio_seconds: float = 1.0,
        weight: float = 1.0,
        requirement: Requirement = ANY,
    ) -> Ticket:
        """A request of the tenant that is the name's first letter."""
        stack = contextlib.ExitStack()
        standing = Standing(name[0], priority, audio_seconds, weight)
        self.tickets[name] = stack.enter_context(self.fleet.pool.admit(name, requirement, standing=standing))
        self.admissions[name] = stack
        return self.tickets[name]

    def leave(self, name: str) -> None:
        self.admissions.pop(name).close()
        del self.tickets[name]

    def running(self) -> str:
        return next(name for name, ticket in self.tickets.items() if ticket.lease)

    def serve(self, count: int, audio_seconds: float | None = None) -> str:
        """Finish what runs, `count` times; the names in the order in which they were served then."""
        order = []
        for _ in range(count):
            ticket = self.tickets[self.running()]
            expected = ticket.standing.audio_seconds
            ticket.audio_seconds = expected if audio_seconds is None else audio_seconds
            self.leave(self.running())
            order.append(self.running())
        return " ".join(order)


@contextlib.contextmanager
def one_taken_slot(**rules: Any) -> Iterator[Counterpart]:
    """A fleet of one slot that "x" has, with these rules; who is there at the end leaves."""
    counterpart = Counterpart(Fleet(1, **rules))
    counterpart.admit("x")
    yield counterpart
    for stack in counterpart.admissions.values():
        stack.close()
    check_queue(counterpart.fleet.pool.queue)


def worker_of(ticket: Ticket) -> str | None:
    return ticket.lease.worker.id if ticket.lease else None


def check_queue(queue: TicketQueue) -> None:
    """All that the queue's parts must agree on, and nothing kept of whoever is gone."""
    in_order = list(queue)
    assert len(in_order) == len(queue) == len({ticket.id for ticket in in_order})
    assert all(ticket in queue for ticket in in_order)
    assert {ticket.requirement for ticket in in_order} == set(queue.requirements)
    by_lane = [ticket for requirement in queue.requirements for ticket in queue.lane(requirement)]
    assert {ticket.id for ticket in by_lane} == {ticket.id for ticket in in_order}
    for line in queue._classes.values():
        shares = line._shares.values()
        assert len(line) == sum(len(share.tickets) for share in shares)
        assert line.tenants == sum(bool(share.tickets) for share in shares)
        longest = max((len(share.tickets) for share in shares), default=0)
        latest = line.latest_of_longest()
        assert (latest is None) == (not longest)
        assert latest is None or len(latest.share.tickets) == longest
        if not len(line):
            assert not line.lanes
            assert not shares
            assert not line._idle
