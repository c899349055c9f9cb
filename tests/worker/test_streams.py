"""Requests over real sockets: frames, heartbeats, slots, cancel, leaving, resuming, failing."""

import asyncio
import itertools
import random
import socket
from collections.abc import Callable

import pytest

from tests.worker.harness import Client, WorkerProcess, expected_clip, joined_latents
from worker.protocol import Accepted, ErrorMessage, Frame, FrameKind

TEXT = "The quick brown fox jumps over the lazy dog."
LONG = TEXT * 50
"""900 patches: still running when a test is done with it."""
StartWorker = Callable[..., WorkerProcess]


def check_clip(frames: list[Frame], text: str, seed: int, first: int = 0, **fields) -> None:
    """The frames are exactly the clip from patch `first` on, in order."""
    pcm, latents = expected_clip(text, seed, **fields)
    total = len(latents) // 1024
    assert [frame.sequence for frame in frames] == list(range(first, total))
    assert b"".join(frame.pcm for frame in frames) == pcm[first * 7680 :]
    assert b"".join(frame.latents for frame in frames) == latents[first * 1024 :]
    assert [frame.last for frame in frames] == [False] * (total - first - 1) + [True]


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


async def test_cancel_ends_the_request_and_frees_its_slot_within_a_step(start_worker: StartWorker) -> None:
    worker = start_worker(slots=1, step_ms=400).wait_until_ready()
    async with worker.connect() as websocket:
        client = Client(websocket)
        await client.start(LONG, seed=1)
        frame = await client.receive_audio()
        await client.cancel()
        rest = await client.receive_all_until_last()
        final = rest[-1]
        assert (final.kind, final.last, final.finish_reason) == (FrameKind.FINAL, True, "cancelled")
        assert final.step <= frame.step + 2
        assert final.sequence == 1 + sum(item.kind is FrameKind.AUDIO for item in rest) + frame.sequence
        await client.start("Hi.", seed=2)
        check_clip(await client.receive_clip(), "Hi.", 2)
    assert worker.health().counters.cancelled == 1


async def test_the_reader_of_the_last_frame_can_use_the_slot(start_worker: StartWorker) -> None:
    worker = start_worker(slots=1, step_ms=0).wait_until_ready()
    async with worker.connect() as first, worker.connect() as second:
        for seed in range(30):
            client = Client((first, second)[seed % 2])
            await client.start("Hello.", seed=seed)
            check_clip(await client.receive_clip(), "Hello.", seed)


async def test_a_cancel_without_an_open_request_does_nothing(worker: WorkerProcess) -> None:
    async with worker.connect() as websocket:
        client = Client(websocket)
        await client.cancel()
        await client.start(TEXT, seed=1)
        frames = await client.receive_clip()
        await client.cancel()
        await client.start(TEXT, seed=2)
        check_clip(frames, TEXT, 1)
        check_clip(await client.receive_clip(), TEXT, 2)


async def test_a_cancel_right_behind_the_start_is_obeyed(worker: WorkerProcess) -> None:
    async with worker.connect() as websocket:
        client = Client(websocket)
        await client.start(LONG, seed=1)
        await client.cancel()
        messages = await client.receive_all()
    assert isinstance(messages[0], Accepted)
    assert messages[-1].finish_reason == "cancelled"


@pytest.mark.parametrize("leave", ["abort", "close", "kill the socket while starting"])
async def test_a_client_that_leaves_frees_its_slot(worker: WorkerProcess, leave: str) -> None:
    before = worker.health().counters
    async with worker.connect() as websocket:
        client = Client(websocket)
        await client.start(LONG, seed=1)
        if leave == "close":
            await client.receive_audio()
            await websocket.close()
        elif leave == "abort":
            await client.receive_audio()
            websocket.transport.abort()
        else:
            await asyncio.sleep(0)
            websocket.transport.abort()
    status = await worker.wait_for_free_slots()
    assert status.counters.patches - before.patches < 900


async def test_a_client_that_never_reads_loses_its_request_and_nobody_elses(
    start_worker: StartWorker,
) -> None:
    worker = start_worker(slots=2, step_ms=1, max_unsent_bytes=200_000).wait_until_ready()
    stalled = socket.create_connection(("127.0.0.1", worker.port))
    stalled.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    async with worker.connect() as websocket, worker.connect(sock=stalled, max_queue=1) as silent:
        await Client(silent).start(TEXT, seed=1, min_seconds=600.0, request_id="silent")
        silent.transport.pause_reading()
        await Client(websocket).start(TEXT, seed=2, min_seconds=30.0)
        check_clip(await Client(websocket).receive_clip(), TEXT, 2, min_seconds=30.0)
        status = await worker.wait_for_free_slots()
        silent.transport.abort()
    assert status.counters.cancelled == 1
    assert status.counters.patches < 3750
    assert any("reader too slow" in line for line in worker.log)


async def test_a_request_that_fails_says_why_and_then_ends(start_worker: StartWorker) -> None:
    worker = start_worker("faulty", slots=2).wait_until_ready()
    async with worker.connect() as websocket:
        client = Client(websocket)
        await client.start("Please fail. " + TEXT, seed=1)
        messages = await client.receive_all()
        error, final = messages[-2:]
        assert isinstance(error, ErrorMessage)
        assert (error.error.type, error.error.code) == ("server_error", "engine_failed")
        assert error.error.message == "latents overflow"
        assert (final.kind, final.sequence, final.finish_reason) == (FrameKind.FINAL, 2, "error")
        await client.start(TEXT, seed=2)
        check_clip(await client.receive_clip(), TEXT, 2)
    assert worker.health().counters.errors == 1


async def test_an_engine_that_breaks_its_contract_costs_one_request(start_worker: StartWorker) -> None:
    worker = start_worker("faulty", slots=2).wait_until_ready()
    async with worker.connect() as broken, worker.connect() as websocket:
        await Client(broken).start("Please overgrow. " + LONG, seed=1, request_id="broken")
        await Client(websocket).start(TEXT, seed=2)
        check_clip(await Client(websocket).receive_clip(), TEXT, 2)
        error, final = (await Client(broken).receive_all())[-2:]
        assert (error.error.code, final.finish_reason, final.sequence) == ("engine_failed", "error", 2)
        assert (await worker.wait_for_free_slots()).state == "IDLE"
        await Client(broken).start(TEXT, seed=3)
        check_clip(await Client(broken).receive_clip(), TEXT, 3)


async def test_an_engine_that_dies_ends_every_request_and_shows(start_worker: StartWorker) -> None:
    worker = start_worker("faulty", slots=2).wait_until_ready()
    async with worker.connect() as first, worker.connect() as second:
        await Client(first).start(LONG, seed=1)
        await Client(first).receive_audio()
        await Client(second).start("Please die. " + TEXT, seed=2, request_id="deadly")
        for websocket in (first, second):
            messages = await Client(websocket).receive_all_until_last()
            assert messages[-2].error.code == "engine_failed"
            assert messages[-1].finish_reason == "error"
        await Client(first).start(TEXT, seed=3)
        assert (await Client(first).receive()).error.code == "worker_failed"
    status = worker.health()
    assert status.state == "ERROR"
    assert "device lost" in status.error


async def test_any_mix_of_finishing_cancelling_and_leaving_leaves_no_slot_used(
    start_worker: StartWorker,
) -> None:
    worker = start_worker(slots=4, step_ms=3).wait_until_ready()
    dice = random.Random(20)

    async def session(number: int) -> None:
        after, deed = dice.randrange(12), dice.choice(["finish", "cancel", "abort", "close", "garbage"])
        async with worker.connect() as websocket:
            client = Client(websocket)
            await client.start(TEXT, seed=number, request_id=f"r{number}")
            if isinstance(await client.receive(), ErrorMessage):
                return
            for _ in range(after):
                await client.receive()
            if deed == "finish":
                frames = await client.receive_all_until_last()
                assert frames[-1].finish_reason == "stop"
            elif deed == "cancel":
                await client.cancel()
                assert (await client.receive_all_until_last())[-1].last
            elif deed == "abort":
                websocket.transport.abort()
            elif deed == "garbage":
                await websocket.send(b"\x00")
                assert await client.closed() == 1008

    for start in range(0, 96, 6):
        await asyncio.gather(*(session(number) for number in range(start, start + 6)))
    status = await worker.wait_for_free_slots()
    assert status.state == "IDLE"
    assert status.counters.errors == 0
    assert status.counters.requests >= 48
    assert not worker.defects()
