"""Connections to workers that are kept from one request to the next."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosedError

from gateway.settings import load_settings
from gateway.slots.capacity.worker import Health
from gateway.workers.frame_stream import FrameStream
from gateway.workers.metronome import Metronome
from tests.gateway.stages.scripted_worker import Act, ScriptedWorker
from tests.gateway.streams.stage import CLIP, IMPATIENT, Ear, gateway_of, speak
from worker.protocol import StartRequest


async def test_connections_are_used_again_after_requests_that_ended_in_order() -> None:
    worker = ScriptedWorker([Act()])
    async with gateway_of(worker) as gateway:
        for _ in range(5):
            await speak(gateway, ear := Ear())
            assert ear.pcm == CLIP
    assert worker.connections == 1


async def test_a_second_burst_finds_every_connection_of_the_first() -> None:
    worker = ScriptedWorker([Act()] * 200, slots=100, together=100)
    async with gateway_of(worker, connect_timeout_seconds=30) as gateway:
        for _ in range(2):
            await asyncio.gather(*(speak(gateway, Ear()) for _ in range(100)))
    assert worker.connections == 100


async def test_a_connection_that_closed_while_idle_costs_the_request_nothing() -> None:
    worker = ScriptedWorker([Act()])
    async with gateway_of(worker) as gateway:
        await speak(gateway, Ear())
        for connection in gateway.clients["w0"]._idle:
            connection.transport.abort()
        outcome = await speak(gateway, ear := Ear())
        assert gateway.pool.workers["w0"].health is Health.UP
    assert ear.pcm == CLIP
    assert outcome.migrations == 0


async def test_a_connection_that_closes_while_the_request_is_sent_is_told_once() -> None:
    """And no second time in the log, as a failure that nobody has looked at."""
    complaints: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: complaints.append(context))
    connection = Closing()
    request = StartRequest(request_id="r", text="Hi.", seed=1)
    with pytest.raises(ConnectionClosedError):
        await FrameStream(connection, request, load_settings(), Metronome()).start()
    connection.listener = connection.error = None
    gc.collect()
    assert complaints == []


class Closing:
    """A connection that is lost before it has sent anything."""

    def __init__(self) -> None:
        self.listener: Any = None
        self.error: ConnectionClosedError | None = ConnectionClosedError(None, None)

    async def send(self, message: str) -> None:
        self.listener.lost(self.error)
        raise self.error


async def test_when_one_kept_connection_is_dead_the_others_are_not_tried() -> None:
    """What drops idle connections without a word drops them all: a firewall, a partition."""
    worker = ScriptedWorker([Act(), Act(), Act(fault="mute"), Act()])
    async with gateway_of(worker, **IMPATIENT) as gateway:
        await asyncio.gather(speak(gateway, Ear()), speak(gateway, Ear()))
        assert worker.connections == 2
        await speak(gateway, ear := Ear())
        assert ear.pcm == CLIP
        assert worker.connections == 3
