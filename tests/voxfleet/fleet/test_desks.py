"""Several gateways that look like one to the controller."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from gateway.operations.fleet_messages import FleetReport, KindReport, Said
from voxfleet.fleet.desk import Desk, DeskError
from voxfleet.fleet.desks import Desks

REPORT = FleetReport(
    place="local",
    objective_seconds=1,
    kinds=[KindReport(kind="gpu", model="alpha", least=0, most=2)],
    said=[Said(kind="gpu", saying="fleet_down_version", facts={})],
)


class Gateway:
    """Answers what a test sets, unless it is down."""

    def __init__(self, boot: str, **seen: Any) -> None:
        orders = {"workers": {}, "down": False, **seen.pop("orders", {})}
        self.seen = {"boot": boot, "orders": orders, "models": {}, "workers": [], **seen}
        self.down = self.late = False
        self.said: list[dict[str, Any]] = []
        self.drained: list[str] = []

    def desk(self) -> Desk:
        transport = httpx.MockTransport(self._answer)
        return Desk(httpx.AsyncClient(base_url="http://gateway", transport=transport))

    def _answer(self, request: httpx.Request) -> httpx.Response:
        if self.down:
            raise httpx.ConnectError("nobody listens")
        if request.method == "POST":
            self.drained.append(request.url.path)
            return httpx.Response(200, json={})
        if request.method == "PUT":
            self.said += json.loads(request.content)["said"]
        if self.late:
            raise httpx.ReadTimeout("it is busy")
        return httpx.Response(200, json=self.seen)


def alpha(**totals: float) -> dict[str, Any]:
    return {"alpha": totals}


def worker(state: str, used: int = 0, made: float = 0.0) -> dict[str, Any]:
    return {
        "id": "gpu-1",
        "boot": "b",
        "state": state,
        "slots_used": used,
        "model": "a",
        "audio_seconds": made,
    }


async def test_what_each_gateway_counts_is_added_up_from_the_first_look_on() -> None:
    one, other = Gateway("a", models=alpha(requests=1000)), Gateway("b", models=alpha(requests=7))
    desks = Desks([one.desk(), other.desk()])
    assert (await desks.exchange(REPORT)).models["alpha"].requests == 0
    one.seen["models"] = alpha(requests=1002, waiting=1, longest_wait_seconds=2.0)
    other.seen["models"] = alpha(requests=10, waiting=3, longest_wait_seconds=1.0)
    seen = (await desks.exchange(REPORT)).models["alpha"]
    assert (seen.requests, seen.waiting, seen.longest_wait_seconds) == (5, 4, 2.0)


async def test_a_gateway_that_dies_and_comes_back_adds_what_is_new() -> None:
    one, other = Gateway("a", models=alpha(requests=10)), Gateway("b", models=alpha(requests=10))
    desks = Desks([one.desk(), other.desk()])
    first = await desks.exchange(REPORT)
    one.down = True
    other.seen["models"] = alpha(requests=11)
    assert (await desks.exchange(REPORT)).models["alpha"].requests == 1
    one.down, one.seen["boot"], one.seen["models"] = False, "a again", alpha(requests=4)
    last = await desks.exchange(REPORT)
    assert (last.models["alpha"].requests, last.boot) == (5, first.boot)


async def test_what_was_decided_is_told_once_though_a_gateway_answers_late() -> None:
    """It is in the log that they share."""
    late, other = Gateway("a"), Gateway("b")
    late.late = True
    await Desks([late.desk(), other.desk()]).exchange(REPORT)
    assert (len(late.said), len(other.said)) == (0, 1)


async def test_what_was_decided_is_told_to_one_gateway_that_answers() -> None:
    one, other = Gateway("a"), Gateway("b")
    desks = Desks([one.desk(), other.desk()])
    await desks.exchange(REPORT)
    assert (len(one.said), len(other.said)) == (1, 0)
    one.down = True
    await desks.exchange(REPORT)
    assert (len(one.said), len(other.said)) == (1, 1)


async def test_orders_hold_wherever_they_were_left() -> None:
    one, other = Gateway("a", orders={"workers": {"gpu": 2}}), Gateway("b", orders={"down": True})
    desks = Desks([one.desk(), other.desk()])
    orders = (await desks.exchange(REPORT)).orders
    assert (orders.workers, orders.down) == ({"gpu": 2}, True)
    assert await desks.is_over()


async def test_a_worker_is_as_those_gateways_say_that_talk_with_it() -> None:
    one, other = Gateway("a", workers=[worker("DOWN")]), Gateway("b", workers=[worker("BUSY", 2, 30.0)])
    desks = Desks([one.desk(), other.desk()])
    (seen,) = (await desks.exchange(REPORT)).workers
    assert (seen.state, seen.slots_used, seen.audio_seconds) == ("BUSY", 2, 30.0)
    one.seen["workers"] = [worker("DRAINING", 1)]
    (seen,) = (await desks.exchange(REPORT)).workers
    assert (seen.state, seen.slots_used) == ("DRAINING", 2)


async def test_all_gateways_drain_a_worker_and_one_that_is_away_keeps_none_from_it() -> None:
    one, other = Gateway("a"), Gateway("b")
    desks = Desks([one.desk(), other.desk()])
    await desks.drain("gpu-1")
    assert (len(one.drained), len(other.drained)) == (1, 1)
    one.down = True
    await desks.drain("gpu-1")
    assert len(other.drained) == 2
    other.down = True
    for call in (desks.drain("gpu-1"), desks.exchange(REPORT), desks.is_over()):
        with pytest.raises(DeskError, match="does not answer"):
            await call
