"""What operators are shown of workers and of requests."""

from __future__ import annotations

from gateway.operations.overview import describe_queue
from gateway.slots.capacity.estimates import EtaTuning, ServiceTime
from gateway.slots.capacity.figures import WINDOW_REQUESTS, WorkerFigures
from gateway.slots.line.about import About
from gateway.slots.line.standing import Standing
from gateway.slots.requirement import Requirement
from tests.gateway.stages.fleet import Fleet


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
