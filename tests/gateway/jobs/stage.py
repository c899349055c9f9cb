"""A gateway with its jobs, a worker that reads part by part, and what it says."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx

from gateway.app import create_app
from gateway.jobs import service
from gateway.service import Gateway
from gateway.settings import load_settings
from tests.gateway.stages.processes import eventually
from tests.gateway.stages.scripted_worker import Act, ScriptedWorker
from tests.gateway.streams.stage import PATIENT, SEED, all_serving, pcm_of

RATE = 24_000
PARTS = ["Chapter 1", "One part is short.", "The next one is longer.", "Chapter 2", "The last."]
TEXT = "Chapter 1\n\nOne part is short. The next one is longer.\n\nChapter 2\n\nThe last."
PAUSE = bytes(2 * round(0.7 * RATE))
ADMIN = {"X-Admin-Token": "administrators-token"}


BEFORE_CHAPTER_2 = pcm_of(PARTS[0]) + PAUSE + pcm_of(PARTS[1]) + pcm_of(PARTS[2])
WHOLE = PAUSE.join([BEFORE_CHAPTER_2, pcm_of(PARTS[3]), pcm_of(PARTS[4])])


def reading_worker(*script: Act) -> ScriptedWorker:
    return ScriptedWorker(list(script or [Act()]), part_characters=24)


class Service:
    """A gateway with its jobs, and clients of it at addresses of their own."""

    def __init__(self, gateway: Gateway, app: Any) -> None:
        self.gateway = gateway
        self.jobs: service.Jobs = app.state.jobs
        self._app = app

    def at(self, address: str = "10.0.0.1", **options: Any) -> httpx.AsyncClient:
        transport = httpx.ASGITransport(self._app, client=(address, 5000))
        return httpx.AsyncClient(transport=transport, base_url="http://voxfleet", **options)

    async def post(self, **fields: Any) -> str:
        """The id of a new job."""
        async with self.at() as http:
            answer = await http.post("/api/jobs", json={"text": TEXT, "seed": SEED, **fields})
        assert answer.status_code == 202, answer.text
        assert answer.headers["Location"] == f"/api/jobs/{answer.json()['job']['id']}"
        return answer.json()["job"]["id"]

    async def get(self, job_id: str) -> dict[str, Any]:
        async with self.at() as http:
            return (await http.get(f"/api/jobs/{job_id}")).json()["job"]

    async def until(self, job_id: str, state: str) -> dict[str, Any]:
        async def poll() -> dict[str, Any] | None:
            job = await self.get(job_id)
            return job if job["state"] == state else None

        return await eventually(poll, f"the job is not {state}")

    async def until_parts(self, job_id: str, parts: int) -> None:
        async def poll() -> bool | None:
            return True if (await self.jobs.store.get(job_id)).parts >= parts else None

        await eventually(poll, f"the job has not {parts} parts")

    async def result(self, job_id: str, **query: Any) -> bytes:
        async with self.at() as http:
            answer = await http.get(f"/api/jobs/{job_id}/result", params=query)
        assert answer.status_code == 200, answer.text
        return answer.content


@asynccontextmanager
async def running(
    tmp_path: Path, *workers: ScriptedWorker, working: bool = True, **options: Any
) -> AsyncIterator[Service]:
    """Nothing may be held when the block ends."""
    async with AsyncExitStack() as stack:
        for worker in workers:
            await stack.enter_async_context(worker.running())
        options = {"data_dir": tmp_path / "data", "admin_token": ADMIN["X-Admin-Token"], **PATIENT, **options}
        app = create_app(load_settings(worker_urls=[worker.url for worker in workers], **options))
        gateway: Gateway = app.state.gateway
        await stack.enter_async_context(gateway.running())
        await all_serving(gateway)
        if working:
            await stack.enter_async_context(app.state.jobs.running())
        yield Service(gateway, app)
    assert not gateway.pool.tickets
    assert not any(worker.leases for worker in gateway.pool.workers.values())
