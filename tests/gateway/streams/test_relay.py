"""The relay against workers that misbehave: whatever happens on the wire, the clip is right or the error is
explicit.
"""

from __future__ import annotations

import asyncio

import pytest
from prometheus_client import generate_latest

from gateway.errors import ApiError
from gateway.requests import TtsRequest
from gateway.slots.capacity.worker import Health
from gateway.slots.requirement import Requirement
from gateway.synthesis.synthesis import Synthesis
from tests.gateway.stages.scripted_worker import Act, ScriptedWorker
from tests.gateway.streams.stage import (
    CLIP,
    IMPATIENT,
    PATCHES,
    TEXT,
    Ear,
    gateway_of,
    prefer_the_first,
    speak,
)
from worker.protocol import ErrorDetail

FAULTS = (
    "cut",
    "close",
    "leave",
    "silence",
    "hang",
    "corrupt",
    "truncated",
    "gap",
    "repeat",
    "stale",
    "other request",
    "short latents",
    "long patch",
    "short patch",
    "text",
    "failed",
    "cancelled",
    "stop",
    "last patch failed",
    "no numbers",
    "backwards",
    "unasked pause",
    "flood",
    "words",
)


SILENT = ("silence", "hang", "backwards")
"""After these nothing new comes."""


@pytest.mark.parametrize("patches", [1, 3])
@pytest.mark.parametrize("fault", FAULTS)
async def test_after_any_fault_the_clip_is_finished_by_another_worker(fault: str, patches: int) -> None:
    faulty = ScriptedWorker([Act(patches, fault)])
    sound = ScriptedWorker([Act()])
    patience = IMPATIENT if fault in SILENT else {}
    async with gateway_of(faulty, sound, **patience) as gateway:
        prefer_the_first(gateway)
        ear = Ear()
        outcome = await speak(gateway, ear)
    assert ear.pcm == CLIP
    assert ear.starts == ["w0"]
    assert (outcome.migrations, outcome.finish_reason) == (1, "stop")
    resumed = sound.requests[0]
    assert resumed.resume_latents.shape == (patches, 4, 64)
    assert resumed.attempt == 2
    assert resumed.request_id != faulty.requests[0].request_id


@pytest.mark.parametrize("cut_after", range(PATCHES))
async def test_a_cut_after_any_patch_leaves_no_seam(cut_after: int) -> None:
    worker = ScriptedWorker([Act(cut_after, "cut"), Act()])
    async with gateway_of(worker) as gateway:
        ear = Ear()
        outcome = await speak(gateway, ear)
    assert ear.pcm == CLIP
    assert outcome.migrations == 1


async def test_a_clip_that_breaks_often_but_gets_on_is_finished_up_to_the_limit() -> None:
    worker = ScriptedWorker([Act(1, "cut"), Act(1, "cut"), Act(1, "cut"), Act()])
    async with gateway_of(worker, max_migrations=3) as gateway:
        ear = Ear()
        outcome = await speak(gateway, ear)
    assert ear.pcm == CLIP
    assert outcome.migrations == 3


async def test_beyond_the_limit_of_migrations_the_client_gets_an_error() -> None:
    worker = ScriptedWorker([Act(1, "corrupt")])
    async with gateway_of(worker, max_migrations=2) as gateway:
        ear = Ear()
        with pytest.raises(ApiError) as failed:
            await speak(gateway, ear)
    assert (failed.value.status_code, failed.value.code) == (500, "worker_failed")
    assert len(worker.requests) == 3
    assert CLIP.startswith(ear.pcm)


@pytest.mark.parametrize("fault", ["cut", "failed", "hang"])
async def test_a_request_that_ends_two_workers_without_a_patch_is_refused(fault: str) -> None:
    """S27: a request under which workers die is not tried on all of them."""
    workers = [ScriptedWorker([Act(0, fault)]) for _ in range(3)]
    async with gateway_of(*workers, **IMPATIENT) as gateway:
        with pytest.raises(ApiError) as failed:
            await speak(gateway, Ear())
    assert failed.value.code == "worker_failed"
    assert sum(len(worker.requests) for worker in workers) == 2


async def test_a_begun_clip_is_not_continued_with_other_weights() -> None:
    faulty = ScriptedWorker([Act(2, "cut")], revision="1")
    other = ScriptedWorker([Act()], revision="2")
    async with gateway_of(faulty, other, failover_timeout_seconds=0.3) as gateway:
        prefer_the_first(gateway)
        faulty.healthy = False
        ear = Ear()
        with pytest.raises(ApiError) as failed:
            await speak(gateway, ear)
    assert failed.value.status_code == 503
    assert not other.requests
    assert CLIP.startswith(ear.pcm)


async def test_a_worker_that_does_not_accept_is_passed_over() -> None:
    mute, sound = ScriptedWorker([Act(fault="mute")]), ScriptedWorker([Act()])
    async with gateway_of(mute, sound, **IMPATIENT) as gateway:
        prefer_the_first(gateway)
        outcome = await speak(gateway, ear := Ear())
    assert ear.pcm == CLIP
    assert outcome.migrations == 0, "nothing had begun"


async def test_a_worker_without_a_slot_is_asked_again_a_little_later() -> None:
    busy = ErrorDetail(message="all slots are used", type="capacity_error", code="busy")
    worker = ScriptedWorker([Act(refusal=busy), Act(refusal=busy), Act()])
    async with gateway_of(worker) as gateway:
        outcome = await speak(gateway, ear := Ear())
        assert gateway.pool.workers["w0"].health is Health.UP
    assert ear.pcm == CLIP
    assert outcome.migrations == 0
    assert len(worker.requests) == 3


TOO_LONG = ErrorDetail(message="too long", type="invalid_request_error", param="text", code="text_too_long")


async def test_what_a_worker_rejects_is_the_fault_of_the_request() -> None:
    worker = ScriptedWorker([Act(refusal=TOO_LONG)])
    async with gateway_of(worker) as gateway:
        with pytest.raises(ApiError) as refused:
            await speak(gateway, Ear())
        assert gateway.pool.workers["w0"].health is Health.UP
    assert (refused.value.status_code, refused.value.param) == (422, "text")
    assert len(worker.requests) == 1


async def test_what_one_worker_calls_wrong_another_one_takes_and_the_first_is_doubted() -> None:
    wrong, sound = ScriptedWorker([Act(refusal=TOO_LONG)]), ScriptedWorker([Act()])
    async with gateway_of(wrong, sound) as gateway:
        prefer_the_first(gateway)
        outcome = await speak(gateway, ear := Ear())
        liar = gateway.pool.workers["w0"]
        assert liar.trust.on_trial and liar.figures.failures["rejected"] == 1
        assert not gateway.pool.workers["w1"].trust.on_trial
    assert (ear.pcm, outcome.migrations) == (CLIP, 0)
    assert (len(wrong.requests), len(sound.requests)) == (1, 1)


async def test_what_two_workers_call_wrong_is_wrong_and_nobody_is_doubted() -> None:
    workers = [ScriptedWorker([Act(refusal=TOO_LONG)]) for _ in range(3)]
    async with gateway_of(*workers) as gateway:
        with pytest.raises(ApiError) as refused:
            await speak(gateway, Ear())
        assert not any(worker.trust.on_trial for worker in gateway.pool.workers.values())
    assert refused.value.code == "text_too_long"
    assert sum(len(worker.requests) for worker in workers) == 2


async def test_a_worker_with_another_model_contradicts_nobody() -> None:
    short, other = ScriptedWorker([Act(refusal=TOO_LONG)]), ScriptedWorker([Act()], revision="2")
    async with gateway_of(short, other) as gateway:
        prefer_the_first(gateway)
        with pytest.raises(ApiError, match="too long"):
            await speak(gateway, Ear())
    assert not other.requests


async def test_who_waits_in_vain_for_another_worker_hears_what_the_first_one_said() -> None:
    wrong, taken = ScriptedWorker([Act(refusal=TOO_LONG)]), ScriptedWorker([Act(1, "hang")], slots=1)
    async with gateway_of(wrong, taken, failover_timeout_seconds=0.1, queue_timeout_seconds=60) as gateway:
        gateway.pool.reports.refused(gateway.pool.workers["w0"])
        first = asyncio.create_task(speak(gateway, ear := Ear()))
        await ear.on_audio.wait()
        with pytest.raises(ApiError, match="too long"):
            await speak(gateway, Ear())
        first.cancel()
        await asyncio.wait({first})


@pytest.mark.parametrize("patches", [0, 2])
async def test_an_adapter_that_makes_no_numbers_is_no_fault_of_its_worker(patches: int) -> None:
    """Or whoever has one could hold back a worker for all others."""
    worker = ScriptedWorker([Act(patches, "adapter")])
    async with gateway_of(worker) as gateway:
        for _ in range(5):
            with pytest.raises(ApiError) as refused:
                await speak(gateway, Ear())
            assert (refused.value.status_code, refused.value.code) == (422, "invalid_adapter")
        held = gateway.pool.workers["w0"]
        assert held.health is Health.UP and not held.trust.on_trial and not held.figures.failures.total()
    assert len(worker.requests) == 5


async def test_where_another_worker_makes_numbers_with_an_adapter_the_first_is_doubted() -> None:
    broken, sound = ScriptedWorker([Act(2, "adapter")]), ScriptedWorker([Act()])
    async with gateway_of(broken, sound) as gateway:
        prefer_the_first(gateway)
        await speak(gateway, ear := Ear())
        assert gateway.pool.workers["w0"].trust.on_trial
    assert ear.pcm == CLIP


async def test_an_adapter_that_makes_no_numbers_at_two_workers_is_refused() -> None:
    workers = [ScriptedWorker([Act(2, "adapter")]), ScriptedWorker([Act(0, "adapter")])]
    async with gateway_of(*workers) as gateway:
        prefer_the_first(gateway)
        with pytest.raises(ApiError, match="not finite"):
            await speak(gateway, Ear())
        assert not any(worker.trust.on_trial for worker in gateway.pool.workers.values())
    assert [len(worker.requests) for worker in workers] == [1, 1]


async def test_what_was_begun_is_not_lost_by_who_rejects_it_later() -> None:
    worker = ScriptedWorker([Act(2, "cut"), Act(refusal=TOO_LONG), Act()])
    async with gateway_of(worker) as gateway:
        ear = Ear()
        outcome = await speak(gateway, ear)
    assert ear.pcm == CLIP
    assert (len(worker.requests), outcome.finish_reason) == (3, "stop")


@pytest.mark.parametrize("speed", [1.0, 2.0])
async def test_a_clip_is_at_least_as_long_as_a_patch(speed: float) -> None:
    worker = ScriptedWorker([Act()])
    shortest = worker.described().patch_seconds / speed
    async with gateway_of(worker) as gateway:
        request = TtsRequest(text=TEXT, speed=speed, max_seconds=0.99 * shortest)
        with pytest.raises(ApiError, match=f"max_seconds is at least {shortest:g}$") as refused:
            await Synthesis(gateway, request, "r1", Ear()).run()
        gateway.check_shortest(request.model_copy(update={"max_seconds": shortest}), Requirement())
    assert (refused.value.code, refused.value.param) == ("invalid_value", "max_seconds")
    assert not worker.requests


async def test_cancelling_a_running_synthesis_frees_the_slot_even_when_the_worker_hangs() -> None:
    worker = ScriptedWorker([Act(2, "silence")])
    async with gateway_of(worker, cancel_timeout_seconds=0.1) as gateway:
        ear = Ear()
        running = asyncio.create_task(speak(gateway, ear))
        await ear.on_audio.wait()
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        assert running.cancelled()
        assert not gateway.pool.workers["w0"].leases


async def test_a_request_that_was_ended_is_not_tried_again_when_its_worker_fails() -> None:
    worker = ScriptedWorker([Act(2, "silence"), Act(fault="mute")])
    async with gateway_of(worker, **IMPATIENT) as gateway:
        speaking = asyncio.create_task(speak(gateway, ear := Ear()))
        await ear.on_audio.wait()
        (ticket_id,) = gateway.pool.tickets
        gateway.pool.end(ticket_id, ApiError(409, "cancelled", "by hand"))
        with pytest.raises(ApiError, match="by hand"):
            await speaking
        assert len(worker.requests) == 1


async def test_a_worker_that_ends_in_order_hands_over_as_often_as_it_takes() -> None:
    worker = ScriptedWorker([*[Act(1, "leave")] * (PATCHES - 1), Act()])
    async with gateway_of(worker, max_migrations=0) as gateway:
        outcome = await speak(gateway, ear := Ear())
    assert ear.pcm == CLIP
    assert outcome.migrations == PATCHES - 1


async def test_streams_leave_a_worker_that_is_emptied_when_there_is_room_elsewhere() -> None:
    slow, other = ScriptedWorker([Act(2, "hang")]), ScriptedWorker([Act()])
    async with gateway_of(slow, other) as gateway:
        prefer_the_first(gateway)
        speaking = asyncio.create_task(speak(gateway, ear := Ear()))
        await ear.on_audio.wait()
        gateway.pool.workers["w0"].moving_out = True
        outcome = await speaking
    assert ear.pcm == CLIP
    assert outcome.migrations == 1
    assert other.requests[0].resume_latents is not None


async def test_what_a_broken_stream_cost_its_listener_is_in_the_metrics() -> None:
    worker = ScriptedWorker([Act(2, "cut"), Act()])
    async with gateway_of(worker) as gateway:
        await speak(gateway, Ear())
        metrics = generate_latest(gateway.metrics.registry).decode()
    for name in ("migration_gap_seconds", "audible_gap_seconds", "client_lead_seconds"):
        assert f"voxfleet_{name}_count 1.0" in metrics
