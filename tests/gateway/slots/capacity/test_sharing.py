"""A worker that other gateways use too: what this one takes, asks for, estimates and shows."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any

import pytest

from gateway.slots.capacity.worker import Worker
from gateway.slots.line.tickets import Ticket
from tests.gateway.stages.fleet import ANY, Fleet, status


class Shared:
    """A pool with one worker, of which a test says what it tells."""

    def __init__(self, slots: int, stack: ExitStack) -> None:
        self.fleet = Fleet(slots)
        self.pool, (self.worker,) = self.fleet.pool, self.fleet.workers
        self.said: list[dict[str, Any]] = []
        self.stack = stack
        self.open()

    def open(self) -> None:
        with self.pool.slots_change(self.worker):
            self.worker.sharing.opened(
                lambda message: self.said.append(message.model_dump(exclude_none=True))
            )

    def close(self) -> None:
        with self.pool.slots_change(self.worker):
            self.worker.sharing.closed()

    def stand(self, others: int, waiting: int) -> None:
        with self.pool.slots_change(self.worker):
            self.worker.sharing.stood(others, waiting)

    def grant(self, number: int) -> None:
        with self.pool.slots_change(self.worker):
            self.worker.sharing.granted(number)

    def admit(self, name: str = "r") -> Ticket:
        return self.stack.enter_context(self.pool.admit(name, ANY))

    def news(self, kind: str) -> list[dict[str, Any]]:
        """What was said of that kind since the last call."""
        found = [message for message in self.said if message["type"] == kind]
        self.said = [message for message in self.said if message["type"] != kind]
        return found


@pytest.fixture
def shared(open_tickets: ExitStack) -> Shared:
    return Shared(2, open_tickets)


async def test_slots_of_others_are_not_taken_and_free_ones_are(shared: Shared) -> None:
    shared.stand(others=1, waiting=0)
    first, second = shared.admit(), shared.admit()
    assert first.lease is not None and second.lease is None
    assert shared.news("waiting") == [{"type": "waiting", "requests": 1}]
    shared.stand(others=1, waiting=0)
    assert not shared.news("waiting"), "that is no news"
    shared.stand(others=0, waiting=0)
    assert second.lease is not None and second.lease.claim().grant is None
    assert shared.news("waiting") == [{"type": "waiting", "requests": 0}]


async def test_while_others_wait_slots_are_taken_by_grants_alone(shared: Shared) -> None:
    shared.stand(others=0, waiting=1)
    tickets = [shared.admit() for _ in range(3)]
    assert not any(ticket.lease for ticket in tickets)
    assert shared.news("waiting")[-1]["requests"] == 2, "more than there are slots is not asked for"
    shared.grant(7)
    assert [ticket.lease is not None for ticket in tickets] == [True, False, False]
    assert shared.worker.room == 0
    claim = tickets[0].lease.claim()
    assert (claim.lease, claim.grant, claim.keep) == (tickets[0].lease.id, 7, False)
    shared.stand(others=0, waiting=0)
    assert [ticket.lease is not None for ticket in tickets] == [True, True, False]


async def test_a_grant_that_nobody_needs_is_given_back(shared: Shared) -> None:
    shared.stand(others=1, waiting=1)
    with shared.pool.admit("r", ANY):
        assert shared.news("waiting")[-1]["requests"] == 1
    assert shared.news("waiting")[-1]["requests"] == 0
    shared.grant(3)
    assert shared.news("give_back") == [{"type": "give_back", "grant": 3}]
    with shared.pool.admit("r", ANY):
        assert shared.news("waiting") == [{"type": "waiting", "requests": 1}], "the worker asks nobody again"


async def test_a_lease_that_ends_before_its_request_began_gives_its_grant_back(shared: Shared) -> None:
    shared.stand(others=1, waiting=1)
    with shared.pool.admit("r", ANY) as ticket:
        shared.grant(3)
        lease = ticket.lease
    assert shared.news("give_back") == [{"type": "give_back", "lease": lease.id, "grant": 3}]


async def test_a_session_keeps_its_slot_until_its_end_and_over_a_new_socket(shared: Shared) -> None:
    with shared.pool.admit("r", ANY) as ticket:
        ticket.lease.keep()
        assert shared.news("keep") == [{"type": "keep", "lease": ticket.lease.id}]
        shared.close()
        shared.open()
        assert shared.news("keep") == [{"type": "keep", "lease": ticket.lease.id}]
        lease = ticket.lease
    assert shared.news("give_back") == [{"type": "give_back", "lease": lease.id}]


async def test_a_worker_that_was_started_again_keeps_no_slot_of_before(shared: Shared) -> None:
    with shared.pool.admit("r", ANY) as ticket:
        ticket.lease.keep()
        shared.close()
        shared.news("keep")
        shared.pool.reports.answered(shared.worker, status(boot_id="second", slots=2))
        shared.open()
        assert not shared.news("keep")


@pytest.mark.parametrize("ends_first", [True, False])
async def test_a_lease_that_outlives_its_socket_is_given_back_over_the_next(
    shared: Shared, ends_first: bool
) -> None:
    """Its request may reach the worker after the new socket, and keeps a slot there."""
    sharing = shared.worker.sharing
    sharing.claim("lease", keep=True)
    shared.close()
    if ends_first:
        sharing.ended("lease")
    shared.open()
    if not ends_first:
        sharing.ended("lease")
    assert shared.news("give_back") == [{"type": "give_back", "lease": "lease"}]


async def test_a_worker_that_refused_is_waited_for_and_asked_meanwhile(shared: Shared) -> None:
    """What it says next is on its way; a hold, as for a worker that says nothing, would cost a turn."""
    ticket = shared.admit()
    shared.pool.reports.refused(shared.worker)
    shared.pool.requeue(ticket)
    assert ticket.lease is None and shared.news("waiting")[-1]["requests"] == 1
    shared.stand(others=0, waiting=0)
    assert ticket.lease is not None
    shared.pool.reports.refused(shared.worker)
    shared.pool.requeue(ticket)
    shared.fleet.clock.advance(1)
    assert ticket.lease is not None, "it had nothing to say"


async def test_without_the_socket_slots_are_taken_as_ever(shared: Shared) -> None:
    shared.stand(others=2, waiting=1)
    ticket = shared.admit()
    assert ticket.lease is None
    shared.said.clear()
    shared.close()
    assert ticket.lease is not None and ticket.lease.claim() is None and not shared.said


async def test_nothing_is_asked_of_a_worker_that_could_not_be_used(shared: Shared) -> None:
    """Or it would grant slots to a gateway that gives them back, again and again."""
    other = Worker("w1", "http://w1")
    shared.pool.add_worker(other)
    shared.pool.reports.answered(other, status(boot_id="other", slots=1))
    tickets = [shared.admit() for _ in range(3)]
    failed = next(ticket for ticket in tickets if ticket.lease.worker is shared.worker)
    shared.stand(others=0, waiting=1)
    shared.pool.requeue(failed, exclude=shared.worker)
    assert failed.lease is None, "it waits for the worker that did not fail it"
    shared.said.clear()
    shared.grant(5)
    assert failed.lease is None
    assert [message["type"] for message in shared.said] == ["give_back"]


async def test_estimates_and_lists_count_what_others_use(shared: Shared) -> None:
    shared.worker.service_time.observe(4.0)
    shared.stand(others=2, waiting=0)
    assert shared.pool.estimate_wait(ANY, 1) == 2.0, "half way through, on average"
    shown = shared.worker.describe()
    assert (shown["slots_used"], shown["slots_of_others"], shown["state"]) == (2, 2, "BUSY")
    shared.stand(others=1, waiting=0)
    assert shared.admit().lease is not None
    shared.stand(others=1, waiting=1)
    assert shared.pool.estimate_wait(ANY, 1) == 2.0
    assert shared.pool.estimate_wait(ANY, 2) == 8.0, "the others have their turn when ours has ended"
    assert shared.pool.estimate_wait(ANY, 3) == 10.0


async def test_what_a_worker_says_makes_no_nonsense_of_the_list(shared: Shared) -> None:
    for _ in range(2):
        shared.admit()
    shared.stand(others=4096, waiting=63)
    shown = shared.worker.describe()
    assert (shown["slots_used"], shown["slots_of_others"]) == (2, 0)
    assert shared.worker.room == 0 and shared.pool.estimate_wait(ANY, 1) < 10_000
