"""The slot of a live session that rests, and its place while it waits for one."""

from __future__ import annotations

import asyncio
import itertools
from contextlib import ExitStack

import pytest
from pytest import MonkeyPatch

from gateway.errors import ApiError
from gateway.live.session import timers
from gateway.slots.capacity.worker import Health
from gateway.slots.demand import Demand
from gateway.slots.line.standing import Standing
from gateway.synthesis import patience
from tests.gateway.live.client import SENTENCES, Client, owed
from tests.gateway.sessions.recordings import until
from tests.gateway.stages.fleet import ANY, status
from tests.gateway.stages.scripted_worker import Act, ScriptedWorker
from tests.gateway.streams.stage import gateway_of


async def test_a_slot_of_a_worker_that_was_started_again_is_leased_again() -> None:
    again = ScriptedWorker([Act(), Act(2, "hang")])
    async with gateway_of(again, health_interval_seconds=60) as gateway:
        (worker,) = gateway.pool.workers.values()
        gateway.check_worker = lambda worker: None
        client = Client(gateway)
        client.session.append(SENTENCES[0])
        async with client.running():
            client.session.flush()
            await until(lambda: bool(client.of_type("utterance_done")))
            client.on_audio.clear()
            gateway.pool.reports.answered(worker, status(boot_id="another", slots=4))
            assert not worker.leases
            client.session.append(SENTENCES[1])
            client.session.flush()
            await client.on_audio.wait()
            assert len(worker.leases) == 1
            client.session.cancel(0)
            client.session.stop()


async def test_a_session_that_pauses_while_it_waits_lets_others_pass_and_keeps_its_place() -> None:
    async with gateway_of(ScriptedWorker([Act()], slots=1)) as gateway:
        pool, client = gateway.pool, Client(gateway)
        with ExitStack() as running, ExitStack() as later, ExitStack() as last:
            running.enter_context(pool.admit("running", ANY))
            async with client.running():
                client.session.append(SENTENCES[0])
                await until(lambda: len(pool.queue) == 1)
                client.session.pause()
                assert not len(pool.queue) and client.of_type("paused")
                passing = later.enter_context(pool.admit("later", ANY, standing=Standing("another")))
                running.close()
                assert passing.lease is not None, "a slot went to a session that has no use for it"
                behind = last.enter_context(pool.admit("last", ANY, standing=Standing("a third")))
                client.session.resume()
                later.close()
                await until(lambda: bool(client.of_type("started")))
                assert behind.lease is None
                client.session.stop()
    assert client.pcm == owed(SENTENCES[0])


@pytest.mark.parametrize(("paused", "has_text"), [(False, False), (True, False), (True, True)])
async def test_a_session_that_says_nothing_gives_its_slot_to_who_waits(
    monkeypatch: MonkeyPatch, paused: bool, has_text: bool
) -> None:
    """Sockets that were opened and said nothing had all slots for ten seconds each; paused, for a minute."""
    monkeypatch.setattr(timers, "LOOKS", 100_000)
    limits = {"live_slot_seconds": 3600, "live_pause_seconds": 3600}
    async with gateway_of(ScriptedWorker([Act()], slots=1), **limits) as gateway:
        client = Client(gateway)
        async with client.running():
            await until(lambda: bool(client.of_type("started")))
            if paused:
                client.session.pause()
            if has_text:
                client.session.append(SENTENCES[0])
            await asyncio.sleep(0.1)
            assert not client.of_type("released"), "nobody waits"
            with gateway.pool.admit("other", ANY) as waiting:
                await until(lambda: waiting.lease is not None)
                assert client.of_type("released")[0]["reason"] == ("pause" if paused else "idle")
            if not has_text:
                client.session.append(SENTENCES[0])
            if paused:
                client.session.resume()
            client.session.stop()
    assert client.pcm == owed(SENTENCES[0])


async def test_a_slot_that_is_held_in_silence_costs_a_turn(monkeypatch: MonkeyPatch) -> None:
    """It cost nothing, and who was served waited for all who said nothing."""
    async with gateway_of(ScriptedWorker([Act()], slots=1)) as gateway:
        client, hours = Client(gateway), itertools.count(0, 3600)
        monkeypatch.setattr(gateway.pool, "now", lambda: next(hours))
        async with client.running():
            await until(lambda: bool(client.of_type("started")))
            (ticket,) = gateway.pool.tickets.values()
            client.session.stop()
    assert ticket.audio_seconds >= 3600


async def test_the_time_of_a_pause_does_not_count_as_waited() -> None:
    async with gateway_of(ScriptedWorker([Act()], slots=1), queue_timeout_seconds=0.2) as gateway:
        client = Client(gateway)
        with ExitStack() as busy:
            busy.enter_context(gateway.pool.admit("busy", ANY))
            async with client.running():
                client.session.append(SENTENCES[0])
                await until(lambda: len(gateway.pool.queue) == 1)
                client.session.pause()
                await asyncio.sleep(0.3)
                busy.close()
                client.session.resume()
                client.session.stop()
    assert client.pcm == owed(SENTENCES[0])


def refusals(demand: Demand) -> int:
    return sum(model.refused for model in demand.models.values())


async def _told_and_silent(client: Client) -> None:
    """It has said the first sentence, and given its slot back."""
    client.session.append(SENTENCES[0])
    client.session.flush()
    await until(lambda: bool(client.of_type("released")))


async def test_a_session_that_has_spoken_waits_for_room_in_a_full_line(monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "AGAIN_SECONDS", 0.01)
    limits = {"max_queue": 0, "live_slot_seconds": 0.01}
    async with gateway_of(ScriptedWorker([Act()], slots=1), **limits) as gateway:
        client, demand = Client(gateway), gateway.pool.demand
        async with client.running():
            await _told_and_silent(client)
            with gateway.pool.admit("busy", ANY):
                client.session.append(SENTENCES[1])
                client.session.flush()
                await until(lambda: refusals(demand) > 2)
                client.session.pause()
                client.session.resume()
            client.session.stop()
    assert client.pcm == owed(SENTENCES[0]) + owed(SENTENCES[1])


async def test_a_session_that_has_spoken_waits_for_a_worker_that_comes_back(monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "AGAIN_SECONDS", 0.01)
    only = ScriptedWorker([Act()])
    async with gateway_of(only, live_slot_seconds=0.01, no_worker_grace_seconds=60) as gateway:
        client, demand = Client(gateway), gateway.pool.demand
        (worker,) = gateway.pool.workers.values()
        async with client.running():
            await _told_and_silent(client)
            only.healthy = False
            gateway.check_worker(worker)
            await until(lambda: worker.health is Health.DOWN)
            client.session.append(SENTENCES[1])
            client.session.flush()
            await until(lambda: refusals(demand) > 1)
            only.healthy = True
            client.session.stop()
    assert client.pcm == owed(SENTENCES[0]) + owed(SENTENCES[1])


async def test_a_session_that_is_cut_off_outside_a_full_line_can_end(monkeypatch: MonkeyPatch) -> None:
    monkeypatch.setattr(patience, "AGAIN_SECONDS", 1e6)
    limits = {"max_queue": 0, "live_slot_seconds": 0.01}
    async with gateway_of(ScriptedWorker([Act()], slots=1), **limits) as gateway:
        client, demand = Client(gateway), gateway.pool.demand
        async with client.running():
            await _told_and_silent(client)
            gateway.pool.workers["w0"].service_time.observe(1e6)
            with gateway.pool.admit("busy", ANY):
                client.session.append(SENTENCES[1])
                client.session.flush()
                await until(lambda: refusals(demand) > 0)
                client.session.cancel(0)
                client.session.stop()
    assert client.pcm == owed(SENTENCES[0])


async def test_a_full_line_ends_a_session_in_the_end_and_one_that_has_not_begun_at_once(
    monkeypatch: MonkeyPatch,
) -> None:
    monkeypatch.setattr(patience, "AGAIN_SECONDS", 0.01)
    limits = {"max_queue": 0, "live_slot_seconds": 0.01, "queue_timeout_seconds": 0.05}
    async with gateway_of(ScriptedWorker([Act()], slots=1), **limits) as gateway:
        client = Client(gateway)
        with pytest.raises(ApiError) as refused, ExitStack() as busy:
            async with client.running():
                await _told_and_silent(client)
                busy.enter_context(gateway.pool.admit("busy", ANY))
                with pytest.raises(ApiError) as late:
                    await Client(gateway).say_all(SENTENCES[0])
                client.session.append(SENTENCES[1])
                client.session.stop()
    assert (refused.value.code, late.value.code) == ("queue_full", "queue_full")
