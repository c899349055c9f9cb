"""The slot of a live session that rests, and its place while it waits for one."""

from __future__ import annotations

import asyncio
from contextlib import ExitStack

from gateway.slots.line.standing import Standing
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
