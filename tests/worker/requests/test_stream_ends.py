"""Requests that end before their clip does: cancelled, left, not read, failed; nobody else notices."""

from __future__ import annotations

import asyncio
import random
import socket

import pytest

from tests.worker.harness import (
    LONG,
    PATIENCE_SECONDS,
    TEXT,
    Client,
    StartWorker,
    WorkerProcess,
    check_clip,
)
from worker.protocol import Accepted, ErrorMessage, FrameKind


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


async def test_a_client_that_takes_nothing_for_too_long_is_cut(start_worker: StartWorker) -> None:
    """However much might wait for it."""
    worker = start_worker(slots=1, step_ms=1, send_timeout_seconds=0.2, max_unsent_bytes=1 << 28)
    worker.wait_until_ready()
    stalled = socket.create_connection(("127.0.0.1", worker.port))
    stalled.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    async with worker.connect(sock=stalled, max_queue=1) as silent:
        client = Client(silent)
        await client.start(TEXT, seed=1, min_seconds=600.0)
        assert isinstance(await client.receive(), Accepted)
        silent.transport.pause_reading()
        status = await worker.wait_for_free_slots()
        assert status.counters.cancelled == 1 and status.counters.patches < 3750
        silent.transport.abort()
    assert not any("reader too slow" in line for line in worker.log)
    assert not worker.defects()


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
    assert worker.process.poll() is None


@pytest.mark.parametrize("supervised", [False, True])
@pytest.mark.parametrize(
    ("fate", "error"), [("die", "the engine died: RuntimeError: device lost"), ("hang", "the engine hangs")]
)
async def test_a_supervised_worker_that_lost_its_engine_ends_to_be_started_again(
    start_worker: StartWorker, fate: str, error: str, supervised: bool
) -> None:
    worker = start_worker("faulty", slots=1, supervised=supervised, step_timeout_seconds=0.5)
    async with worker.wait_until_ready().connect() as websocket:
        await Client(websocket).start(f"Please {fate}. {TEXT}", seed=2)
        await Client(websocket).receive_audio()
        status = await asyncio.to_thread(worker.wait_for, lambda status: status.state == "ERROR")
    assert status.error.startswith(error)
    if supervised:
        assert await asyncio.to_thread(worker.process.wait, PATIENCE_SECONDS) == 1
        assert any("to be started again" in line for line in worker.log)
    else:
        assert worker.terminate() == 1


async def test_a_worker_that_is_told_to_end_while_its_engine_begins_to_hang_ends(
    start_worker: StartWorker,
) -> None:
    worker = start_worker("faulty", slots=1, step_timeout_seconds=6, shutdown_seconds=0.1)
    async with worker.wait_until_ready().connect() as websocket:
        await Client(websocket).start(f"Please hang. {TEXT}", seed=2)
        for _ in range(2):
            await Client(websocket).receive_audio()
        assert await asyncio.to_thread(worker.terminate) == 1


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
