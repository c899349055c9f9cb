"""Who gets the next slot of a worker that several gateways use."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from worker.gateways.turns import Hold, NoSlotError, Turns
from worker.protocol.slot_messages import GRANT_SECONDS, Grant, SlotClaim, Standing


class Gateway:
    """One that hears at once, and uses each grant at once if it `takes`."""

    def __init__(self, stage: Stage, name: str, takes: bool = True) -> None:
        self.stage, self.name, self.takes = stage, name, takes
        self.grants: list[int] = []
        self.standing = Standing(others=0, waiting=0)
        self.holds: list[Hold] = []
        self.served = 0
        self.outlet = self.hear
        self.party = stage.turns.join(name, self.outlet)

    def hear(self, message: Grant | Standing) -> None:
        if isinstance(message, Standing):
            self.standing = message
        else:
            self.grants.append(message.number)

    def wait(self, requests: int) -> None:
        self.stage.turns.wait(self.party, requests)

    def start(self, **claim: object) -> Hold:
        self.holds.append(self.stage.turns.take(self.name, SlotClaim(**{"lease": "l", **claim})))
        return self.holds[-1]

    def use_grants(self) -> None:
        while self.takes and self.grants:
            self.start(grant=self.grants.pop(0))
            self.served += 1

    def leave(self) -> None:
        self.stage.turns.leave(self.name, self.outlet)


class Stage:
    """Slots and a clock."""

    def __init__(self, slots: int) -> None:
        self.due: list[tuple[float, object]] = []
        self.soon: list[object] = []
        self.turns = Turns(slots, lambda delay, ring: self.due.append((delay, ring)), self.soon.append)

    def settle(self) -> None:
        while self.soon:
            self.soon.pop(0)()

    def expire(self) -> None:
        for delay, ring in self.due:
            assert delay == GRANT_SECONDS
            ring()
        self.due.clear()


def test_a_gateway_that_waits_alone_takes_what_is_free_without_asking() -> None:
    stage = Stage(2)
    alone, idle = Gateway(stage, "alone-gateway"), Gateway(stage, "idle-gateway")
    alone.wait(2)
    hold = alone.start()
    alone.start()
    stage.settle()
    assert not alone.grants and alone.standing == Standing(others=0, waiting=0)
    assert idle.standing == Standing(others=2, waiting=1)
    with pytest.raises(NoSlotError):
        idle.start()
    hold.release()
    hold.release()
    stage.settle()
    assert not alone.grants and idle.standing.others == 1
    idle.start()


def test_two_that_wait_get_slots_in_turns_whatever_each_has_in_line() -> None:
    stage = Stage(1)
    busy, other = Gateway(stage, "busy-gateway"), Gateway(stage, "other-gateway")
    running = busy.start()
    busy.wait(1000)
    other.wait(1)
    order = []
    for _ in range(6):
        running.release()
        (turn,) = [gateway for gateway in (busy, other) if gateway.grants]
        order.append(turn.name[0])
        turn.use_grants()
        running = turn.holds[-1]
    assert "".join(order) == "obobob"


def test_who_waits_longest_is_next_among_many() -> None:
    stage = Stage(3)
    gateways = [Gateway(stage, f"gateway-{n}") for n in range(5)]
    holds = [stage.turns.take(None) for _ in range(3)]
    for gateway in gateways:
        gateway.wait(3)
    for _ in range(40):
        holds.pop(0).release()
        for gateway in gateways:
            gateway.use_grants()
            holds += gateway.holds
            gateway.holds = []
    assert [gateway.served for gateway in gateways] == [8] * 5


def test_a_grant_that_is_not_used_goes_to_the_next() -> None:
    stage = Stage(1)
    hung, other = Gateway(stage, "hung-gateway", takes=False), Gateway(stage, "other-gateway")
    running = other.start()
    hung.wait(1)
    other.wait(1)
    running.release()
    assert hung.grants and not other.grants
    stage.expire()
    stage.settle()
    assert not other.grants and other.standing == Standing(others=0, waiting=0), "it may take what is free"
    other.start()
    with pytest.raises(NoSlotError):
        hung.start(grant=hung.grants[0])


def test_what_nobody_needs_is_given_back() -> None:
    stage = Stage(1)
    gateways = [Gateway(stage, f"gateway-{n}", takes=False) for n in range(3)]
    running = stage.turns.take(None)
    for gateway in gateways:
        gateway.wait(1)
    running.release()
    stage.turns.give_back(gateways[0].party, None, gateways[0].grants.pop())
    assert gateways[1].grants and not gateways[0].grants
    stage.turns.give_back(gateways[2].party, None, gateways[1].grants[0])
    assert not gateways[2].grants, "nobody gives back what is another's"


def test_a_gateway_that_dies_loses_turns_grants_and_kept_slots_at_once() -> None:
    stage = Stage(3)
    dead, other = Gateway(stage, "dead-gateway", takes=False), Gateway(stage, "other-gateway")
    running = dead.start(lease="running", keep=True)
    stage.turns.keep(dead.party, "kept", None)
    blocking = other.start()
    dead.wait(5)
    other.wait(5)
    blocking.release()
    assert len(dead.grants) == 1
    dead.leave()
    stage.settle()
    assert other.standing == Standing(others=1, waiting=0), "its request still runs"
    running.release()
    assert stage.turns.free == 3
    stage.expire()
    assert stage.turns.free == 3


def test_a_second_socket_of_a_gateway_replaces_the_first() -> None:
    stage = Stage(1)
    first = Gateway(stage, "a-gateway")
    first.wait(1)
    second, other = Gateway(stage, "a-gateway"), Gateway(stage, "other-gateway")
    first.leave()
    assert stage.turns.gateways == 2
    second.wait(1)
    other.wait(1)
    assert second.grants or other.grants


def test_a_kept_slot_is_nobody_else_s_between_two_requests() -> None:
    stage = Stage(1)
    live, other = Gateway(stage, "live-gateway"), Gateway(stage, "other-gateway")
    stage.turns.keep(live.party, "session", None)
    live.start(lease="session", keep=True).release()
    live.wait(1)
    other.wait(1)
    with pytest.raises(NoSlotError):
        other.start()
    live.start(lease="session", keep=True).release()
    assert not other.grants
    stage.turns.give_back(live.party, "session", None)
    assert other.grants or live.grants


def test_a_lease_that_ends_while_its_request_does_not_frees_the_slot_when_that_has_ended() -> None:
    stage = Stage(1)
    gateway = Gateway(stage, "a-gateway")
    running = gateway.start(lease="session", keep=True)
    stage.turns.give_back(gateway.party, "session", None)
    assert stage.turns.free == 0
    running.release()
    assert stage.turns.free == 1


def test_a_lease_that_ends_before_its_request_is_heard_of_keeps_nothing() -> None:
    """The client left at once, and the worker read of its end on the other socket first."""
    stage = Stage(1)
    gateway = Gateway(stage, "one-gateway")
    stage.turns.give_back(gateway.party, "gone", None)
    late = gateway.start(lease="gone", keep=True)
    assert stage.turns.free == 0
    late.release()
    assert stage.turns.free == 1
    gateway.start(lease="next", keep=True).release()
    assert stage.turns.free == 0


def test_the_last_part_of_a_clip_keeps_nothing() -> None:
    stage = Stage(1)
    gateway = Gateway(stage, "a-gateway")
    gateway.start(lease="clip", keep=True).release()
    assert stage.turns.free == 0
    gateway.start(lease="clip").release()
    assert stage.turns.free == 1


def test_a_worker_that_drains_grants_nothing() -> None:
    stage = Stage(1)
    one, two = Gateway(stage, "one-gateway"), Gateway(stage, "two-gateway")
    stage.turns.reopen(False)
    one.wait(1)
    two.wait(1)
    assert not one.grants + two.grants
    stage.turns.reopen(True)
    assert one.grants + two.grants


@given(slots=st.integers(1, 4), seed=st.integers(0, 10_000))
def test_whatever_happens_no_slot_is_used_twice_or_lost(slots: int, seed: int) -> None:
    draw, stage = random.Random(seed), Stage(slots)
    gateways = [Gateway(stage, f"gateway-{n}") for n in range(3)]
    running: list[Hold] = []

    def start(name: str | None, claim: SlotClaim | None) -> None:
        try:
            running.append(stage.turns.take(name, claim))
        except NoSlotError:
            assert stage.turns.free <= 0

    for _ in range(60):
        gateway = draw.choice(gateways)
        lease, grant = f"l{draw.randrange(4)}", draw.choice([None, *gateway.grants])
        event = draw.randrange(9)
        if event == 0:
            gateway.wait(draw.randrange(4))
        elif event <= 2:
            start(gateway.name, SlotClaim(lease=lease, grant=grant, keep=draw.random() < 0.5))
        elif event == 3:
            start(None, None)
        elif event == 4:
            stage.turns.keep(gateway.party, lease, grant)
        elif event == 5:
            stage.turns.give_back(gateway.party, draw.choice([None, lease]), grant)
        elif event == 6 and running:
            running.pop(draw.randrange(len(running))).release()
        elif event == 7:
            stage.expire()
        elif event == 8:
            gateway.leave()
            gateways[gateways.index(gateway)] = Gateway(stage, gateway.name)
        stage.settle()
        parties = stage.turns._parties
        assert sum(party.requests + sum(party.kept.values()) for party in parties.values()) == len(running)
        assert all(party.requests >= 0 for party in parties.values())
        assert 0 <= stage.turns.free <= slots
    for hold in running:
        hold.release()
    for gateway in gateways:
        gateway.leave()
    assert stage.turns.free == slots and not stage.turns._parties
