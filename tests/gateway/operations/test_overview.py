"""What operators are shown of workers and of requests."""

from __future__ import annotations

from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from gateway.database import Database
from gateway.metrics import Metrics
from gateway.operations.measurements.builds import GatewayBuilds
from gateway.operations.overview import describe_queue, describe_ticket, describe_workers
from gateway.slots.capacity.estimates import EtaTuning, ServiceTime
from gateway.slots.capacity.figures import WINDOW_REQUESTS, WorkerFigures
from gateway.slots.line.about import About
from gateway.slots.line.standing import Standing
from gateway.slots.requirement import Requirement
from telemetry.build import build
from tests.gateway.stages.fleet import Fleet, status


def run(fleet: Fleet, builds: list[str]) -> None:
    """Workers that answer, of these builds."""
    for worker, own in zip(fleet.workers, builds, strict=False):
        fleet.pool.reports.answered(worker, status().model_copy(update={"build": own}))


def builds_told(fleet: Fleet) -> dict[str, float]:
    families = text_string_to_metric_families(generate_latest(Metrics(fleet.pool).registry).decode())
    return {
        sample.labels["version"]: sample.value
        for family in families
        for sample in family.samples
        if sample.name == "voxfleet_worker_builds"
    }


async def test_operators_see_which_builds_run() -> None:
    fleet = Fleet(1, 1, 1, 1)
    run(fleet, ["0.1.0+aaaaaaa", "0.1.0+bbbbbbb", "0.1.0+bbbbbbb", ""])
    told = describe_workers(fleet.pool, GatewayBuilds(Database("sqlite:///:memory:")).describe())
    assert told["gateways"] == [{"build": build(), "gateways": 1}]
    assert told["build"] == build()
    assert [worker["build"] for worker in told["workers"]] == ["0.1.0+aaaaaaa", *["0.1.0+bbbbbbb"] * 2, ""]
    assert builds_told(fleet) == {"0.1.0+bbbbbbb": 2, "0.1.0+aaaaaaa": 1, "": 1}
    fleet.die(fleet.workers[1])
    assert builds_told(fleet)["0.1.0+bbbbbbb"] == 1


async def test_of_many_builds_the_rarest_are_counted_together() -> None:
    fleet = Fleet(*[1] * 12)
    run(fleet, ["often", "often", *map(str, range(10))])
    told = builds_told(fleet)
    assert len(told) == 9 and told["often"] == 2 and told["other"] == 3


def test_figures_of_a_worker_are_of_its_last_requests() -> None:
    figures = WorkerFigures()
    assert figures.describe()["first_audio_p50_seconds"] is None
    for _ in range(1000):
        figures.first_audio(9.0)
    for number in range(WINDOW_REQUESTS):
        figures.first_audio(number / 100)
        figures.served(seconds=1.0, audio_seconds=4.0)
    figures.served(seconds=1.0, audio_seconds=0.0)
    shown = figures.describe()
    assert shown["first_audio_p50_seconds"] == 1.27
    assert shown["first_audio_p95_seconds"] == 2.43
    assert shown["rtf_p50"] == 0.25
    assert shown["requests_served"] == WINDOW_REQUESTS + 1


def test_estimates_follow_the_tuning_that_is_shared() -> None:
    tuning = EtaTuning()
    fresh, seasoned = ServiceTime(tuning), ServiceTime(tuning)
    seasoned.observe(10.0)
    tuning.prior_seconds, tuning.alpha, tuning.overdue_share = 42.0, 1.0, 0.5
    assert fresh.seconds == 42.0
    assert seasoned.remaining(100.0) == 5.0
    seasoned.observe(2.0)
    assert seasoned.seconds == 2.0


async def test_a_request_is_listed_with_its_voice_its_length_and_its_client() -> None:
    fleet = Fleet(1)
    about = About("Hazel", 1200, "openai", "curl 8.5.0")
    standing = Standing("key:shop", client="curl 8.5.0")
    with (
        fleet.pool.admit("r1", Requirement(), standing=standing, about=about),
        fleet.pool.admit("r2", Requirement(), standing=standing, about=about),
    ):
        shown = describe_queue(fleet.pool)
    told = {"voice": "Hazel", "characters": 1200, "protocol": "openai", "client": "curl 8.5.0"}
    for request in (*shown["queue"], *shown["running"]):
        assert told.items() <= request.items() and request["tenant"] == "key:shop"
    assert len(shown["queue"]) == len(shown["running"]) == 1


async def test_of_one_request_its_place_is_told_as_of_all() -> None:
    fleet = Fleet(1)
    with (
        fleet.pool.admit("r1", Requirement()) as running,
        fleet.pool.admit("r2", Requirement()) as first,
        fleet.pool.admit("r3", Requirement()) as second,
    ):
        for listed, ticket in zip(describe_queue(fleet.pool)["queue"], (first, second), strict=True):
            told = describe_ticket(fleet.pool, ticket)
            assert told.pop("state") == "queued"
            assert told.items() <= listed.items()
        place = {"position": None, "eta_seconds": None}
        ids = {"ticket_id": running.id, "request_id": "r1"}
        assert describe_ticket(fleet.pool, running) == {**ids, "state": "running", **place}
        fleet.pool.step_aside(second)
        assert describe_ticket(fleet.pool, second)["state"] == "resting"
        fleet.pool.step_back(second)
        assert describe_ticket(fleet.pool, second)["position"] == 2
