"""Workers that dial in, come, go and are emptied, as processes."""

from __future__ import annotations

import asyncio
import signal
from typing import Any

from tests.gateway.stages.processes import (
    LONG_TEXT,
    GatewayProcess,
    StartFleet,
    eventually,
    pcm_of,
    workers_of,
)
from tests.worker.harness import WorkerProcess

SECRET = "between-us-alone-1"


def dial_in(start: StartFleet, *gateways: GatewayProcess, **options: Any) -> WorkerProcess:
    urls = [gateway.url for gateway in gateways]
    environment = {"VOXFLEET_WORKER_SECRET": SECRET}
    return start.worker(environment=environment, gateway_urls=urls, **options)


async def states(gateway: GatewayProcess, *expected: str) -> list[dict[str, Any]]:
    async def poll() -> list[dict[str, Any]] | None:
        workers = await workers_of(gateway)
        return workers if sorted(worker["state"] for worker in workers) == sorted(expected) else None

    return await eventually(poll, f"the workers are not {expected}")


async def test_workers_dial_in_at_every_gateway_they_are_told_and_serve_both(start: StartFleet) -> None:
    gateways = [start.gateway([], worker_secret=SECRET) for _ in range(2)]
    dial_in(start, *gateways, worker_id="alpha", step_ms=5)
    for gateway in gateways:
        (worker,) = await states(gateway, "IDLE")
        assert worker["id"] == "alpha"
        async with gateway.stream(text=LONG_TEXT, seed=9) as stream:
            assert await stream.receive_rest() == 1000
        assert stream.pcm == pcm_of(LONG_TEXT, 9)


async def test_a_worker_with_the_wrong_secret_is_not_let_in(start: StartFleet) -> None:
    gateway = start.gateway([], worker_secret="another-shared-secret")
    worker = dial_in(start, gateway)

    async def refused() -> bool | None:
        refusals = [line for line in worker.log if "registration failed" in line]
        return True if any("HTTP 401" in line for line in refusals) else None

    await eventually(refused, "the worker was not refused")
    assert not await workers_of(gateway)


async def test_a_stream_outlives_the_worker_that_ends_and_goes_on_at_one_that_dials_in_later(
    start: StartFleet,
) -> None:
    gateway = start.gateway([], worker_secret=SECRET)
    first = dial_in(start, gateway, worker_id="first", step_ms=30, shutdown_seconds=0.2)
    await states(gateway, "IDLE")
    async with gateway.stream(text=LONG_TEXT, seed=9) as stream:
        await stream.receive_audio()
        first.process.send_signal(signal.SIGTERM)
        dial_in(start, gateway, worker_id="second", step_ms=5)
        assert await stream.receive_rest() == 1000
    assert stream.pcm == pcm_of(LONG_TEXT, 9)
    assert stream.messages[-1]["migrations"] == 1
    await states(gateway, "DOWN", "IDLE")


async def test_a_worker_that_is_killed_loses_its_lease(start: StartFleet) -> None:
    gateway = start.gateway([], worker_secret=SECRET)
    worker = dial_in(start, gateway)
    await states(gateway, "IDLE")
    worker.kill()
    await states(gateway, "DOWN")


async def test_drain_can_move_streams_instead_of_waiting_for_them(start: StartFleet) -> None:
    gateway, workers = start(2, slots=2, step_ms=40)
    async with gateway.http() as http, gateway.stream(text=LONG_TEXT, seed=9) as stream:
        await stream.receive_audio()
        busy = stream.of_type("started")[0]["worker_id"]
        response = await http.post(f"/api/workers/{busy}/drain", params={"streams": "move"})
        assert response.json()["state"] == "DRAINING"
        drained = workers[int(busy.removeprefix("w"))]
        emptied = await asyncio.to_thread(drained.wait_for, lambda status: status.slots_used == 0)
        assert emptied.state == "DRAINING"
        assert await stream.receive_rest() == 1000
    assert stream.pcm == pcm_of(LONG_TEXT, 9)
    assert stream.messages[-1]["migrations"] == 1
