"""Probes of workers: what one worker does or leaves undone is no matter of another's health."""

from __future__ import annotations

import asyncio
from asyncio import StreamReader, StreamWriter

import pytest

from gateway.service import Gateway
from gateway.settings import load_settings
from gateway.slots.capacity.worker import Health
from gateway.workers.client import WorkerUnreachable
from tests.gateway.stages.scripted_worker import Act, ScriptedWorker
from tests.gateway.workers.health import until_health

SILENT = 150


async def test_many_workers_that_hang_do_not_bring_a_healthy_one_down() -> None:
    over = asyncio.Event()

    async def never_answer(reader: StreamReader, writer: StreamWriter) -> None:
        await over.wait()
        writer.close()

    silent = await asyncio.start_server(never_answer, "0.0.0.0", 0)
    port = silent.sockets[0].getsockname()[1]
    hanging = [f"http://127.0.1.{number}:{port}" for number in range(1, SILENT + 1)]
    options = {"health_interval_seconds": 0.5, "health_timeout_seconds": 2, "health_retry_seconds": 0.1}
    async with ScriptedWorker([Act()]).running() as healthy:
        gateway = Gateway(load_settings(worker_urls=",".join((healthy.url, *hanging)), **options))
        worker, *others = gateway.pool.workers.values()
        async with gateway.running():
            for other in others:
                await until_health(other, gateway, Health.DOWN)
            assert worker.health is not Health.DOWN
        over.set()
    silent.close()
    await silent.wait_closed()


async def test_what_a_worker_is_asked_ends_when_it_counts_as_down() -> None:
    """Such as encoding a voice, for which it would have a minute."""
    over = asyncio.Event()

    async def never_answer(reader: StreamReader, writer: StreamWriter) -> None:
        await over.wait()
        writer.close()

    silent = await asyncio.start_server(never_answer, "127.0.0.1", 0)
    url = f"http://127.0.0.1:{silent.sockets[0].getsockname()[1]}"
    options = {"health_timeout_seconds": 0.1, "health_retry_seconds": 0.1}
    gateway = Gateway(load_settings(worker_urls=url, **options))
    (worker,) = gateway.pool.workers.values()
    async with gateway.running():
        with pytest.raises(WorkerUnreachable):
            async with asyncio.timeout(30):
                await gateway.roster.clients[worker.id].control.encode(b"", "prompt")
        assert worker.health is Health.DOWN
        assert worker.last_failure == "it did not answer in time"
    over.set()
    silent.close()
    await silent.wait_closed()
