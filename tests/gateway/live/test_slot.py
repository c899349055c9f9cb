"""The slot of a live session that rests while things happen to its worker."""

from __future__ import annotations

from tests.gateway.fleet import status
from tests.gateway.live.test_speech import PATIENT, SENTENCES, Client
from tests.gateway.recordings import until
from tests.gateway.scripted_worker import Act, ScriptedWorker
from tests.gateway.streams.test_relay import gateway_of


async def test_a_slot_of_a_worker_that_was_started_again_is_leased_again() -> None:
    options = {**PATIENT, "health_interval_seconds": 60}
    async with gateway_of(ScriptedWorker([Act(), Act(2, "hang")]), **options) as gateway:
        (worker,) = gateway.pool.workers.values()
        gateway.check_worker = lambda worker: None
        client = Client(gateway)
        client.session.append(SENTENCES[0])
        async with client.running():
            client.session.flush()
            await until(lambda: bool(client.of_type("utterance_done")))
            client.on_audio.clear()
            gateway.pool.report_status(worker, status(boot_id="another", slots=4))
            assert not worker.leases
            client.session.append(SENTENCES[1])
            client.session.flush()
            await client.on_audio.wait()
            assert len(worker.leases) == 1
            client.session.cancel(0)
            client.session.stop()
