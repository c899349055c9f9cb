"""A voice goes where it was spoken before, as long as that costs nobody any waiting."""

from __future__ import annotations

import contextlib

import pytest

from gateway.errors import ApiError
from gateway.slots.capacity.worker import Worker
from gateway.slots.line.tickets import Ticket
from gateway.slots.requirement import Requirement
from tests.gateway.stages.fleet import Fleet, describe_model, status, worker_of

VOICE = Requirement(affinity="a voice")


def admit(stack: contextlib.ExitStack, fleet: Fleet, requirement: Requirement = VOICE) -> Ticket:
    return stack.enter_context(fleet.pool.admit("r", requirement))


async def test_the_worker_that_spoke_with_the_voice_is_preferred(open_tickets) -> None:
    fleet = Fleet(4, 4, 4)
    fleet.workers[2].remember("a voice")
    assert worker_of(admit(open_tickets, fleet)) == "w2"
    assert worker_of(admit(open_tickets, fleet, Requirement(affinity="another"))) != "w2"


async def test_not_when_it_is_much_busier_than_another(open_tickets) -> None:
    fleet = Fleet(4, 4)
    fleet.workers[1].remember("a voice")
    taken = [worker_of(admit(open_tickets, fleet)) for _ in range(8)]
    assert taken[:2] == ["w1", "w1"], "up to half of its slots"
    assert sorted(taken) == ["w0"] * 4 + ["w1"] * 4, "and nobody waited"


async def test_not_when_it_has_no_room(open_tickets) -> None:
    fleet = Fleet(1, 1)
    fleet.workers[1].remember("a voice")
    assert [worker_of(admit(open_tickets, fleet)) for _ in range(3)] == ["w1", "w0", None]


async def test_who_came_first_is_served_first_whatever_is_in_the_caches(open_tickets) -> None:
    fleet = Fleet(1)
    fleet.workers[0].remember("a voice")
    with fleet.pool.admit("busy", Requirement()):
        first, second = admit(open_tickets, fleet, Requirement()), admit(open_tickets, fleet)
    assert worker_of(first) == "w0" and second.lease is None


async def test_a_restarted_worker_has_forgotten(open_tickets) -> None:
    fleet = Fleet(2, 2)
    fleet.workers[1].remember("a voice")
    fleet.pool.reports.answered(fleet.workers[1], status(slots=2, boot_id="another-process"))
    assert worker_of(admit(open_tickets, fleet)) == "w0"


def test_a_worker_remembers_the_latest_voices_only() -> None:
    worker = Worker("w0", "http://w0")
    for number in range(1000):
        worker.remember(f"voice {number}")
        worker.remember("often")
    assert worker.has_cached("often") and worker.has_cached("voice 999")
    assert not worker.has_cached("voice 0")
    assert sum(worker.has_cached(f"voice {number}") for number in range(1000)) < 100


def test_affinity_makes_no_lane_of_its_own() -> None:
    assert Requirement(affinity="a") == Requirement(affinity="b")
    assert hash(Requirement(affinity="a")) == hash(Requirement())


async def test_a_voice_waits_for_a_model_that_takes_it(open_tickets) -> None:
    fleet = Fleet(0, 0)
    needs = Requirement(features=frozenset({"reference", "prompt"}))
    plain, able = describe_model("plain"), describe_model("able", features=("prompt",))
    fleet.pool.reports.answered(fleet.workers[0], status(model=plain))
    fleet.die(fleet.workers[1])
    with pytest.raises(ApiError) as refusal:
        admit(open_tickets, fleet, needs)
    assert (refusal.value.status_code, refusal.value.code) == (422, "voice_not_supported")
    assert "prompt or reference" in refusal.value.message
    fleet.pool.reports.answered(fleet.workers[1], status(model=able))
    assert worker_of(admit(open_tickets, fleet, needs)) == "w1"
    assert admit(open_tickets, fleet, needs).lease is None, "the other worker's slot is of no use"
    for model, code in (("plain", "voice_not_supported"), ("nobody's", "unknown_model")):
        with pytest.raises(ApiError) as refusal:
            admit(open_tickets, fleet, Requirement(model, features=needs.features))
        assert refusal.value.code == code


async def test_a_model_that_only_continues_recordings_wants_their_words(open_tickets) -> None:
    fleet = Fleet(1)
    for features, hint in ((("prompt",), True), ((), False)):
        fleet.pool.reports.answered(fleet.workers[0], status(model=describe_model(features=features)))
        with pytest.raises(ApiError) as refusal:
            admit(open_tickets, fleet, Requirement(features=frozenset({"reference"})))
        assert refusal.value.code == "voice_not_supported"
        assert ("give the voice a transcript" in refusal.value.message) is hint
