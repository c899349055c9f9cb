"""Requests over real sockets: frames, heartbeats, slots and resuming."""

from __future__ import annotations

import asyncio
import itertools

import pytest

from tests.worker.harness import (
    LONG,
    TEXT,
    Client,
    StartWorker,
    WorkerProcess,
    check_clip,
    expected_clip,
    joined_latents,
)
from worker.protocol import Accepted, ErrorMessage, FrameKind


async def test_a_request_gives_its_clip_patch_by_patch(worker: WorkerProcess) -> None:
    async with worker.connect() as websocket:
        client = Client(websocket)
        await client.start(TEXT, seed=11, request_id="clip", attempt=3)
        messages = await client.receive_all()
    accepted, frames = messages[0], [item for item in messages[1:] if item.kind is FrameKind.AUDIO]
    status = worker.health()
    assert accepted == Accepted(
        request_id="clip",
        attempt=3,
        worker_id=status.worker_id,
        boot_id=status.boot_id,
        model_revision=status.model.revision,
        sample_rate=24_000,
    )
    check_clip(frames, TEXT, 11)
    assert {(item.request_id, item.attempt) for item in messages[1:]} == {("clip", 3)}
    assert frames[-1].finish_reason == "stop"
    steps = [item.step for item in messages[1:]]
    assert steps == sorted(steps)


async def test_one_connection_serves_requests_one_after_the_other(worker: WorkerProcess) -> None:
    before = worker.health().counters
    async with worker.connect() as websocket:
        client = Client(websocket)
        for seed in range(5):
            await client.start(TEXT, seed=seed)
            check_clip(await client.receive_clip(), TEXT, seed)
    after = worker.health().counters
    assert after.requests - before.requests == 5
    assert after.patches - before.patches == 5 * 18
    assert after.audio_seconds - before.audio_seconds == pytest.approx(5 * 18 * 0.16)
    assert (after.errors, after.cancelled) == (before.errors, before.cancelled)


async def test_concurrent_requests_do_not_mix(worker: WorkerProcess) -> None:
    async def speak(seed: int) -> None:
        async with worker.connect() as websocket:
            client = Client(websocket)
            await client.start(TEXT, seed=seed, request_id=f"r{seed}")
            frames = await client.receive_clip()
            assert {frame.request_id for frame in frames} == {f"r{seed}"}
            check_clip(frames, TEXT, seed)

    await asyncio.gather(speak(1), speak(2))


@pytest.mark.parametrize("cut", [1, 2, 9, 16, 17])
async def test_a_resumed_clip_equals_an_uninterrupted_one_byte_for_byte(
    worker: WorkerProcess, cut: int
) -> None:
    async with worker.connect() as websocket:
        client = Client(websocket)
        await client.start(TEXT, seed=5, attempt=1)
        head = [await client.receive_audio() for _ in range(cut)]
        websocket.transport.abort()
    async with worker.connect() as websocket:
        client = Client(websocket)
        await worker.wait_for_free_slots()
        await client.start(TEXT, seed=5, attempt=2, resume_latents=joined_latents(head))
        tail = await client.receive_clip()
    check_clip(tail, TEXT, 5, first=cut)
    assert b"".join(frame.pcm for frame in head + tail) == expected_clip(TEXT, 5)[0]


async def test_a_second_attempt_need_not_wait_for_the_end_of_the_first(worker: WorkerProcess) -> None:
    async with worker.connect() as first, worker.connect() as second:
        await Client(first).start(LONG, seed=5, attempt=1)
        head = [await Client(first).receive_audio() for _ in range(3)]
        await Client(second).start(LONG, seed=5, attempt=2, resume_latents=joined_latents(head))
        frame = await Client(second).receive_audio()
        assert (frame.sequence, frame.attempt) == (3, 2)


async def test_heartbeats_fill_the_silence_and_carry_the_step(start_worker: StartWorker) -> None:
    worker = start_worker(slots=1, step_ms=600, heartbeat_seconds=0.05).wait_until_ready()
    async with worker.connect() as websocket:
        client = Client(websocket)
        await client.start("Hello there.", seed=1)
        messages = (await client.receive_all())[1:]
    groups = [(kind, list(group)) for kind, group in itertools.groupby(messages, lambda item: item.kind)]
    beats = [group for kind, group in groups if kind is FrameKind.HEARTBEAT]
    frames = [item for item in messages if item.kind is FrameKind.AUDIO]
    assert len(frames) == 5
    assert groups[0][0] is FrameKind.HEARTBEAT
    assert len(beats) == len(frames)
    for index, group in enumerate(beats):
        assert {beat.sequence for beat in group} == {index}
        assert {beat.step for beat in group} <= {index, index + 1}


async def test_no_heartbeat_comes_between_requests(start_worker: StartWorker) -> None:
    worker = start_worker(slots=1, step_ms=5, heartbeat_seconds=0.01).wait_until_ready()
    async with worker.connect() as websocket:
        client = Client(websocket)
        await client.start(TEXT, seed=1)
        await client.receive_clip()
        await asyncio.sleep(0.1)
        await client.start(TEXT, seed=2)
        assert isinstance(await client.receive(), Accepted)
        await client.receive_all()


async def test_a_request_beyond_the_slots_is_busy_and_the_connection_stays_useful(
    worker: WorkerProcess,
) -> None:
    async with worker.connect() as first, worker.connect() as second, worker.connect() as third:
        for index, websocket in enumerate((first, second)):
            await Client(websocket).start(LONG, seed=index, request_id=f"long{index}")
            await Client(websocket).receive_audio()
        status = worker.health()
        assert (status.state, status.slots_used, status.slots_total) == ("BUSY", 2, 2)
        client = Client(third)
        await client.start(TEXT, seed=9, request_id="late", attempt=4)
        refusal = await client.receive()
        assert isinstance(refusal, ErrorMessage)
        assert (refusal.request_id, refusal.attempt) == ("late", 4)
        assert (refusal.error.code, refusal.error.type) == ("busy", "capacity_error")
        await Client(first).cancel()
        await Client(first).receive_all_until_last()
        await client.start(TEXT, seed=9, request_id="late", attempt=5)
        check_clip(await client.receive_clip(), TEXT, 9)


async def test_the_reader_of_the_last_frame_can_use_the_slot(start_worker: StartWorker) -> None:
    worker = start_worker(slots=1, step_ms=0).wait_until_ready()
    async with worker.connect() as first, worker.connect() as second:
        for seed in range(30):
            client = Client((first, second)[seed % 2])
            await client.start("Hello.", seed=seed)
            check_clip(await client.receive_clip(), "Hello.", seed)
