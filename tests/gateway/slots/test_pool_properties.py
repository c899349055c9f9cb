"""The pool under anything that can happen, in any order.

Requests of several tenants and classes arrive, leave at any moment, finish, or fail and come back; workers
die, hang, drain, refuse, recover, restart as another process; time passes. Each request is a real task that
uses the pool as the gateway does. After every event: no worker has more leases than slots, nobody who could
run waits, nobody was overtaken within a tenant or by a lower class, and what is over has left nothing behind.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from gateway.errors import ApiError
from gateway.slots.capacity.worker import Worker
from gateway.slots.line.standing import Priority, Standing
from gateway.slots.line.tickets import Ticket
from gateway.slots.requirement import Requirement
from tests.gateway.stages.fleet import Fleet, check_queue, describe_model, status
from worker.protocol import WorkerState

MODELS = ("alpha", "beta")
SLOTS = (1, 2, 2)
MODEL_OF = ("alpha", "alpha", "beta")
TENANTS = ("ann", "bob")
MAX_QUEUE = 6
MAX_STREAMS = 5
AGEING_SECONDS = 20.0


@dataclass(eq=False)
class Client:
    """One request: a task that waits for its turn and then for the test to say how it ends."""

    requirement: Requirement
    standing: Standing
    ticket: Ticket | None = None
    task: asyncio.Task[str] | None = None
    end: asyncio.Event = field(default_factory=asyncio.Event)
    fails: bool = False
    heard_seconds: float = 0.0
    grants: list[Worker] = field(default_factory=list)

    async def run(self, fleet: Fleet, name: str) -> str:
        try:
            with fleet.pool.admit(name, self.requirement, standing=self.standing) as self.ticket:
                while True:
                    async with fleet.pool.lease(self.ticket) as lease:
                        self.grants.append(lease.worker)
                        await self.end.wait()
                        self.end.clear()
                        self.ticket.audio_seconds += self.heard_seconds
                        if not self.fails:
                            return "served"
                        fleet.pool.requeue(self.ticket, exclude=lease.worker)
        except ApiError as error:
            return error.code


class PoolMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.loop = asyncio.new_event_loop()
        self.fleet = Fleet(*(0 for _ in SLOTS), max_queue=MAX_QUEUE, ageing_seconds=AGEING_SECONDS)
        self.clients: list[Client] = []
        self.boots = [0 for _ in SLOTS]
        self.steps = 0
        self.returned = 0
        """Tickets that came back into line, where the bound for newcomers does not hold."""
        for index in range(len(SLOTS)):
            self.apply(lambda index=index: self.report(index))

    def teardown(self) -> None:
        for client in self.clients:
            client.task.cancel()
        self.settle()
        pool = self.fleet.pool
        assert not pool.tickets
        assert not len(pool.queue)
        assert not any(worker.leases for worker in pool.workers.values())
        check_queue(pool.queue)
        assert not pool.tickets.streams
        self.loop.close()

    # ------------------------------------------------------------------------------------------ the machinery

    def settle(self) -> None:
        """Run every task until all wait for something."""
        for _ in range(8):
            self.loop.run_until_complete(asyncio.sleep(0))

    def apply(self, action) -> None:
        """One event, and then: nobody who waits was overtaken by somebody who got a slot because of it."""
        before = {id(client): len(client.grants) for client in self.clients}

        async def act() -> None:
            action()

        self.loop.run_until_complete(act())
        self.settle()
        waiting = [client.ticket for client in self.clients if self.waits(client)]
        for client in self.clients:
            if len(client.grants) > before.get(id(client), 0):
                assert [ticket for ticket in waiting if self.has_been_overtaken(ticket, client)] == []
        self.clients = [
            client for client in self.clients if not client.task.done() or not client.task.result()
        ]

    def has_been_overtaken(self, ticket: Ticket, by: Client) -> bool:
        """Whether the ticket could have had the slot that `by` has got, and had the better claim."""
        worker, winner = by.grants[-1], by.ticket
        if not worker.offers(ticket.requirement) or worker.id in ticket.excluded:
            return False
        if ticket.attempts or winner.attempts > 1:
            return ticket.attempts > 0 and (winner.attempts == 1 or ticket.sequence < winner.sequence)
        if ticket.standing.priority is not winner.standing.priority:
            aged = self.aged(winner)
            return ticket.standing.priority.exceeds(winner.standing.priority) and not aged
        same_tenant = ticket.standing.tenant == winner.standing.tenant
        return same_tenant and ticket.sequence < winner.sequence

    def aged(self, ticket: Ticket) -> bool:
        """Whether somebody in bulk, waiting or just served, had waited long enough to go before its class."""
        if ticket.standing.priority is not Priority.BULK:
            return False
        now = self.fleet.clock.now
        tickets = (client.ticket for client in self.clients)
        return any(
            other.standing.priority is Priority.BULK and now - other.enqueued_at >= AGEING_SECONDS
            for other in tickets
        )

    def waits(self, client: Client) -> bool:
        return client.ticket is not None and client.ticket in self.fleet.pool.queue

    def report(self, index: int, state: WorkerState = WorkerState.IDLE) -> None:
        self.steps += 1
        self.fleet.pool.reports.answered(
            self.fleet.workers[index],
            status(
                state,
                slots=SLOTS[index],
                boot_id=f"boot-{self.boots[index]}",
                model=describe_model(MODEL_OF[index]),
                step=self.steps,
            ),
        )

    # --------------------------------------------------------------------------------------------- the events

    @rule(
        model=st.sampled_from((None, *MODELS)),
        tenant=st.sampled_from(TENANTS),
        priority=st.sampled_from(Priority),
        audio_seconds=st.sampled_from([0.5, 1.0, 4.0]),
    )
    def arrive(self, model: str | None, tenant: str, priority: Priority, audio_seconds: float) -> None:
        client = Client(Requirement(model), Standing(tenant, priority, audio_seconds, 1.0, MAX_STREAMS))

        def start() -> None:
            name = f"r{len(self.clients)}"
            client.task = asyncio.get_running_loop().create_task(client.run(self.fleet, name))

        waiting = len(self.fleet.pool.queue)
        self.clients.append(client)
        self.apply(start)
        if client.task.done():
            assert client.task.result() in ("queue_full", "no_worker", "too_many_streams")
            assert client.task.result() != "queue_full" or waiting >= MAX_QUEUE

    @precondition(lambda self: self.clients)
    @rule(data=st.data(), before_it_runs=st.booleans())
    def leave(self, data: st.DataObject, before_it_runs: bool) -> None:
        """A client goes, possibly in the very moment in which another one finishes."""
        client = data.draw(st.sampled_from(self.clients))
        running = [other for other in self.clients if other.ticket.lease and other is not client]

        def go() -> None:
            if before_it_runs and running:
                running[0].fails = False
                running[0].end.set()
            client.task.cancel()

        self.clients.remove(client)
        self.apply(go)
        assert client.task.cancelled()

    @precondition(lambda self: any(client.ticket.lease for client in self.clients))
    @rule(data=st.data(), fails=st.booleans(), heard_seconds=st.sampled_from([0.0, 1.0, 9.0]))
    def end_attempt(self, data: st.DataObject, fails: bool, heard_seconds: float) -> None:
        client = data.draw(st.sampled_from([client for client in self.clients if client.ticket.lease]))

        def end() -> None:
            client.fails = fails
            client.heard_seconds = heard_seconds
            client.end.set()

        self.apply(end)

    @precondition(lambda self: self.clients)
    @rule(data=st.data())
    def end_from_outside(self, data: st.DataObject) -> None:
        client = data.draw(st.sampled_from(self.clients))
        reason = ApiError(409, "cancelled", "by hand")
        waited = self.waits(client)
        self.apply(lambda: self.fleet.pool.end(client.ticket.id, reason))
        assert not waited or client.task.result() == "cancelled"

    @precondition(lambda self: any(self.waits(client) for client in self.clients))
    @rule(data=st.data())
    def step_aside(self, data: st.DataObject) -> None:
        client = data.draw(st.sampled_from([client for client in self.clients if self.waits(client)]))
        self.apply(lambda: self.fleet.pool.step_aside(client.ticket))
        assert client.ticket.aside and not self.waits(client)

    @precondition(lambda self: any(client.ticket.aside for client in self.clients))
    @rule(data=st.data())
    def step_back(self, data: st.DataObject) -> None:
        client = data.draw(st.sampled_from([client for client in self.clients if client.ticket.aside]))
        self.returned += not client.ticket.attempts
        self.apply(lambda: self.fleet.pool.step_back(client.ticket))
        assert not client.ticket.aside

    @rule(index=st.sampled_from(range(len(SLOTS))))
    def worker_misses_a_probe(self, index: int) -> None:
        self.apply(lambda: self.fleet.pool.reports.missed(self.fleet.workers[index], "timeout"))

    @rule(index=st.sampled_from(range(len(SLOTS))))
    def worker_dies(self, index: int) -> None:
        self.apply(lambda: self.fleet.die(self.fleet.workers[index]))

    @rule(index=st.sampled_from(range(len(SLOTS))))
    def worker_is_suspected(self, index: int) -> None:
        self.apply(lambda: self.fleet.pool.reports.suspected(self.fleet.workers[index], "silence"))

    @rule(index=st.sampled_from(range(len(SLOTS))))
    def worker_refuses(self, index: int) -> None:
        self.apply(lambda: self.fleet.pool.reports.refused(self.fleet.workers[index]))

    @rule(
        index=st.sampled_from(range(len(SLOTS))),
        state=st.sampled_from(
            [WorkerState.IDLE, WorkerState.LOADING, WorkerState.DRAINING, WorkerState.ERROR]
        ),
    )
    def worker_answers(self, index: int, state: WorkerState) -> None:
        self.apply(lambda: self.report(index, state))

    @rule(index=st.sampled_from(range(len(SLOTS))))
    def worker_restarts(self, index: int) -> None:
        self.boots[index] += 1
        self.apply(lambda: self.report(index))

    @rule(index=st.sampled_from(range(len(SLOTS))), shares=st.booleans())
    def worker_begins_or_ceases_to_share(self, index: int, shares: bool) -> None:
        worker = self.fleet.workers[index]
        sharing = worker.sharing

        def change() -> None:
            with self.fleet.pool.slots_change(worker):
                sharing.opened(lambda message: None) if shares else sharing.closed()

        self.apply(change)

    @precondition(lambda self: any(worker.sharing.open for worker in self.fleet.workers))
    @rule(data=st.data(), others=st.integers(0, 2), waiting=st.integers(0, 1), grants=st.booleans())
    def worker_tells_of_its_slots(self, data: st.DataObject, others: int, waiting: int, grants: bool) -> None:
        workers = [worker for worker in self.fleet.workers if worker.sharing.open]
        worker = data.draw(st.sampled_from(workers))
        sharing = worker.sharing

        def tell() -> None:
            self.steps += 1
            with self.fleet.pool.slots_change(worker):
                sharing.granted(self.steps) if grants else sharing.stood(others, waiting)

        self.apply(tell)

    @rule(seconds=st.sampled_from([0.01, 0.2, 2.0, 30.0]))
    def time_passes(self, seconds: float) -> None:
        self.apply(lambda: self.fleet.clock.advance(seconds))

    # -------------------------------------------------------------------------------------- what always holds

    @invariant()
    def no_worker_has_more_leases_than_slots(self) -> None:
        for worker in self.fleet.workers:
            assert len(worker.leases) <= worker.slots_total

    @invariant()
    def no_grant_is_kept_without_use(self) -> None:
        for worker in self.fleet.workers:
            assert not worker.sharing._grants
            assert len(worker.sharing._claims) <= len(worker.leases)

    @invariant()
    def leases_belong_to_live_tickets(self) -> None:
        pool = self.fleet.pool
        for worker in self.fleet.workers:
            for lease in worker.leases.values():
                assert lease.ticket.lease is lease
                assert pool.tickets[lease.ticket.id] is lease.ticket
                assert lease.ticket not in pool.queue

    @invariant()
    def every_ticket_has_one_client(self) -> None:
        assert {id(ticket) for ticket in self.fleet.pool.tickets.values()} == {
            id(client.ticket) for client in self.clients
        }

    @invariant()
    def nobody_waits_who_could_run(self) -> None:
        for ticket in self.fleet.pool.queue:
            for worker in self.fleet.workers:
                assert not (
                    worker.has_room() and worker.offers(ticket.requirement) and self.may(ticket, worker)
                )

    @invariant()
    def groups_agree_with_their_workers(self) -> None:
        groups = list(self.fleet.pool._groups)
        ready = [entry for group in groups for entry in group.ready]
        assert all(group.ready == sorted(group.ready) for group in groups)
        assert {worker.id: load for load, _, worker in ready} == {
            worker.id: worker.slots_used / worker.slots_total
            for worker in self.fleet.workers
            if worker.has_room()
        }
        serving = {id for group in groups for id in group.serving}
        assert serving == {worker.id for worker in self.fleet.workers if worker.serving}
        sharing = {id for group in groups for id in group.sharing}
        assert sharing == {
            worker.id for worker in self.fleet.workers if worker.sharing.open and worker.wants_work()
        }

    def may(self, ticket: Ticket, worker: Worker) -> bool:
        others = [
            other
            for other in self.fleet.workers
            if other.serving and other.offers(ticket.requirement) and other.id not in ticket.excluded
        ]
        return worker.id not in ticket.excluded or not others

    @invariant()
    def the_queue_is_bounded_and_agrees_with_itself(self) -> None:
        queue = self.fleet.pool.queue
        check_queue(queue)
        assert sum(not ticket.attempts for ticket in queue) <= MAX_QUEUE + self.returned

    @invariant()
    def no_tenant_has_more_than_it_may(self) -> None:
        streams = self.fleet.pool.tickets.streams
        tenants = [ticket.standing.tenant for ticket in self.fleet.pool.tickets.values()]
        assert {tenant: tenants.count(tenant) for tenant in tenants} == dict(streams)
        assert all(count <= MAX_STREAMS for count in streams.values())

    @invariant()
    def a_ticket_waits_or_runs(self) -> None:
        for ticket in self.fleet.pool.tickets.values():
            states = ticket in self.fleet.pool.queue, ticket.lease is not None, ticket.aside
            assert sum(states) == 1


TestPool = PoolMachine.TestCase
TestPool.settings = settings(max_examples=100, stateful_step_count=40)
