"""Which requests count for a promise, which of them miss it, and that labels stay few whatever is sent."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gateway.callers.identity import Caller
from gateway.live.hosted import HostedSession
from gateway.live.messages import Start
from gateway.metrics import Metrics
from gateway.operations.measurements.objectives import (
    JOBS,
    OBJECTIVES,
    Kind,
    note,
    note_missed,
    note_request,
    promise,
)
from gateway.requests import TtsRequest
from gateway.settings import GatewaySettings
from gateway.slots.line.standing import Priority, Standing
from gateway.synthesis.synthesis import Synthesis
from gateway.timing.part import PartTimes
from tests.gateway.stages.fleet import Fleet, describe_model
from tests.gateway.stages.scripted_worker import Act, ScriptedWorker
from tests.gateway.streams.stage import TEXT, Ear, gateway_of

KIND = Kind("m", "built_in", "voxfleet", "anonymous")


def counts(metrics: Metrics) -> dict[str, tuple[float, float]]:
    """Objective -> how many count for it, and how many of them missed it."""
    told: dict[str, dict[str, float]] = {name: {} for name in OBJECTIVES}
    for family in metrics.registry.collect():
        for sample in family.samples:
            if sample.name.startswith("voxfleet_objective") and sample.name.endswith("_total"):
                objective = sample.labels["objective"]
                kind = "missed" if "misses" in sample.name else "all"
                told[objective][kind] = told[objective].get(kind, 0) + sample.value
    return {name: (each.get("all", 0), each.get("missed", 0)) for name, each in told.items() if each}


@pytest.mark.parametrize(
    ("outcome", "status", "started", "first_audio", "expected"),
    [
        ("stop", None, True, 0.4, {"lost": (1, 0), "refused": (1, 0), "first_audio": (1, 0)}),
        ("stop", None, True, 1.5, {"lost": (1, 0), "refused": (1, 0), "first_audio": (1, 1)}),
        ("worker_lost", 503, True, 0.4, {"lost": (1, 1), "refused": (1, 0), "first_audio": (1, 0)}),
        ("internal_error", 500, True, None, {"lost": (1, 1), "refused": (1, 0)}),
        ("queue_full", 429, False, None, {"refused": (1, 1)}),
        ("no_worker", 503, False, None, {"refused": (1, 1)}),
        ("too_many_streams", 429, False, None, {}),
        ("unknown_voice", 404, False, None, {}),
        ("client_gone", None, True, 0.4, {}),
        ("cancelled", 499, True, 0.4, {}),
    ],
)
async def test_what_counts_and_what_is_missed(
    outcome: str,
    status: int | None,
    started: bool,
    first_audio: float | None,
    expected: dict[str, tuple[float, float]],
) -> None:
    metrics = Metrics(Fleet().pool)
    note_request(
        metrics, KIND, outcome=outcome, status=status, started=started, first_seconds=first_audio,
        promised_seconds=1.0,
    )  # fmt: skip
    assert counts(metrics) == expected


async def test_a_job_that_waits_for_room_refuses_nobody() -> None:
    """It tries again and again while no worker is there: its alert would wake somebody for nothing."""
    metrics, job = Metrics(Fleet().pool), replace(KIND, protocol=JOBS)
    about = {"first_seconds": None, "promised_seconds": 1.0}
    note_request(metrics, job, outcome="no_worker", status=503, started=False, **about)
    note_request(metrics, job, outcome="stop", status=None, started=True, **about)
    assert counts(metrics) == {"lost": (1, 0)}


@pytest.mark.parametrize(("first_seconds", "missed"), [(1.5, 0), (2.5, 1)])
async def test_a_first_token_has_a_promise_of_its_own(first_seconds: float, missed: int) -> None:
    metrics = Metrics(Fleet().pool)
    note_request(
        metrics, KIND, outcome="stop", status=None, started=True, first_seconds=first_seconds,
        promised_seconds=2.0, promise="first_token",
    )  # fmt: skip
    assert counts(metrics) == {"lost": (1, 0), "refused": (1, 0), "first_token": (1, missed)}


async def test_a_clip_misses_later_what_it_counts_for_once() -> None:
    metrics = Metrics(Fleet().pool)
    note(metrics, "underruns", KIND, missed=False)
    note_missed(metrics, "underruns", KIND)
    assert counts(metrics) == {"underruns": (1, 1)}


def labels_of(metrics: Metrics) -> list[dict[str, str]]:
    return [
        sample.labels
        for family in metrics.registry.collect()
        for sample in family.samples
        if sample.name == "voxfleet_objective_events_total"
    ]


async def test_clients_make_no_labels() -> None:
    metrics = Metrics(Fleet(1).pool)
    for number in range(200):
        kind = Kind.of(
            model=f"m{number}", voice=f"voice {number}", protocol="voxfleet", tenant=f"10.0.0.{number}"
        )
        note(metrics, "lost", kind, missed=True)
    note(metrics, "lost", Kind.of(model=None, voice="", protocol="voxfleet", tenant="key:a"), missed=False)
    note(metrics, "lost", Kind.of(model="alpha", voice="", protocol="voxfleet", tenant="admin"), missed=False)
    told = {(labels["model"], labels["voice"], labels["tenant"]) for labels in labels_of(metrics)}
    assert told == {
        ("", "built_in", "anonymous"), ("", "built_in", "key"), ("alpha", "built_in", "administrator"),
    }  # fmt: skip


async def test_workers_make_few_labels_and_a_model_that_is_gone_keeps_its_own() -> None:
    fleet = Fleet(1)
    metrics, worker = Metrics(fleet.pool), fleet.workers[0]
    for number in range(100):
        worker.model = describe_model(f"m{number}")
        note(metrics, "lost", Kind(f"m{number}", "built_in", "voxfleet", "key"), missed=False)
    note(metrics, "lost", Kind("m0", "built_in", "voxfleet", "key"), missed=True)
    models = {labels["model"] for labels in labels_of(metrics)}
    assert len(models) == 31
    assert {"m0", "other"} <= models


async def test_a_bulk_clip_is_not_late() -> None:
    async with gateway_of(ScriptedWorker([Act()]), objective_first_audio_seconds=1e-9) as gateway:
        for priority, late in ((Priority.BULK, None), (Priority.DEFAULT, (1, 1))):
            request, standing = TtsRequest(text=TEXT), Standing("key:shop", priority)
            await Synthesis(gateway, request, "r1", Ear(), standing).run()
            assert counts(gateway.metrics).get("first_audio") == late
        assert {labels["tenant"] for labels in labels_of(gateway.metrics)} == {"key"}


async def test_what_is_promised_is_told_as_metrics() -> None:
    metrics = Metrics(Fleet().pool)
    promise(metrics, GatewaySettings(objective_first_audio_seconds=0.4, objective_lost_budget=0.25))
    value = metrics.registry.get_sample_value
    assert value("voxfleet_objective_first_audio_seconds") == 0.4
    assert value("voxfleet_objective_budget", {"objective": "lost"}) == 0.25
    assert all(value("voxfleet_objective_budget", {"objective": name}) for name in OBJECTIVES)


class Outlet:
    """A live client that hears and says nothing."""

    def tell(self, message: dict[str, Any]) -> None: ...

    def audio(self, pcm: bytes) -> None: ...

    def timed(self, index: int, epoch: int, part: PartTimes) -> None: ...

    def drop_audio(self) -> int:
        return 0


@pytest.mark.parametrize(("promised_seconds", "missed"), [(1e-9, 1), (600.0, 0)])
async def test_the_first_audio_of_a_live_utterance_counts(promised_seconds: float, missed: int) -> None:
    async with gateway_of(ScriptedWorker([Act()]), objective_first_audio_seconds=promised_seconds) as gateway:
        assert gateway.pool.demand.objective_seconds == promised_seconds
        hosted = HostedSession(gateway, Outlet(), "r1", "voxfleet")
        hosted.open(Start(type="start", seed=7), Caller("key:shop", Priority.DEFAULT))
        hosted.session.append(TEXT)
        hosted.session.stop()
        await hosted.run()
        hosted.settle("stop")
        assert counts(gateway.metrics)["first_audio"] == (1, missed)
        assert {labels["tenant"] for labels in labels_of(gateway.metrics)} == {"key"}
