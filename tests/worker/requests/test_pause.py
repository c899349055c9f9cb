"""Pause and resume on the wire: confirmed in their place among the frames, without a trace in the clip."""

from __future__ import annotations

import asyncio

from tests.worker.harness import LONG, TEXT, Client, StartWorker, WorkerProcess, expected_clip
from worker.protocol import Accepted, Frame, FrameKind, Paused, PauseRequest, Resumed, ResumeRequest


async def pause(client: Client) -> list[Frame]:
    """Ask for a pause; the audio up to its confirmation."""
    await client.websocket.send(PauseRequest().model_dump_json())
    return await audio_until(client, Paused)


async def resume(client: Client) -> list[Frame]:
    await client.websocket.send(ResumeRequest().model_dump_json())
    return await audio_until(client, Resumed)


async def audio_until(client: Client, kind: type) -> list[Frame]:
    frames = []
    while not isinstance(message := await client.receive(), kind):
        if getattr(message, "kind", None) is FrameKind.AUDIO:
            frames.append(message)
    return frames


async def test_a_paused_clip_goes_on_byte_for_byte(start_worker: StartWorker) -> None:
    worker = start_worker(slots=2, step_ms=10, heartbeat_seconds=0.05).wait_until_ready()
    async with worker.connect() as websocket, worker.connect() as other:
        client = Client(websocket)
        await client.start(TEXT, seed=5)
        frames = [await client.receive_audio() for _ in range(3)]
        frames += await pause(client)
        beats = [await client.receive() for _ in range(4)]
        assert {beat.kind for beat in beats} == {FrameKind.HEARTBEAT}
        assert {beat.sequence for beat in beats} == {len(frames)}
        assert {beat.step for beat in beats} == {beats[0].step}
        status = await asyncio.to_thread(worker.health)
        assert (status.slots_used, status.slots_paused) == (1, 1)
        await Client(other).start(TEXT, seed=6, request_id="other")
        assert len(await Client(other).receive_clip()) == 18
        assert await resume(client) == []
        frames += [item for item in await client.receive_all_until_last() if item.kind is FrameKind.AUDIO]
    assert b"".join(frame.pcm for frame in frames) == expected_clip(TEXT, 5)[0]
    assert (await worker.wait_for_free_slots()).slots_paused == 0


async def test_a_paused_request_can_be_cancelled(worker: WorkerProcess) -> None:
    async with worker.connect() as websocket:
        client = Client(websocket)
        await client.start(LONG, seed=5)
        await client.receive_audio()
        await pause(client)
        await client.cancel()
        last = (await client.receive_all_until_last())[-1]
        assert (last.kind, last.finish_reason) == (FrameKind.FINAL, "cancelled")
        await client.start(TEXT, seed=6)
        assert len(await client.receive_clip()) == 18
    assert (await worker.wait_for_free_slots()).slots_paused == 0


async def test_who_leaves_a_paused_request_frees_its_slot(worker: WorkerProcess) -> None:
    async with worker.connect() as websocket:
        client = Client(websocket)
        await client.start(LONG, seed=5)
        await client.receive_audio()
        await pause(client)
        websocket.transport.abort()
    assert (await worker.wait_for_free_slots()).slots_paused == 0


async def test_a_pause_right_behind_the_request_is_confirmed_before_any_audio(worker: WorkerProcess) -> None:
    async with worker.connect() as websocket:
        client = Client(websocket)
        await client.start(TEXT, seed=5)
        await websocket.send(PauseRequest().model_dump_json())
        await websocket.send(ResumeRequest().model_dump_json())
        assert isinstance(await client.receive(), Accepted)
        frames = await audio_until(client, Paused) + await audio_until(client, Resumed)
        frames += [item for item in await client.receive_all_until_last() if item.kind is FrameKind.AUDIO]
    assert b"".join(frame.pcm for frame in frames) == expected_clip(TEXT, 5)[0]


async def test_pausing_without_a_request_does_nothing(worker: WorkerProcess) -> None:
    async with worker.connect() as websocket:
        await websocket.send(PauseRequest().model_dump_json())
        await websocket.send(ResumeRequest().model_dump_json())
        await Client(websocket).start(TEXT, seed=5)
        assert len(await Client(websocket).receive_clip()) == 18
