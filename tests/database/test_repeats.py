"""A key of a request makes one row on both databases, however many ask at once."""

from __future__ import annotations

import asyncio

from gateway.database import Database, Job
from gateway.database.repeats import Asked, made_once
from gateway.jobs.files import new_job_id
from gateway.jobs.store import JobStore


async def test_of_rows_with_one_key_there_is_one(database: Database) -> None:
    store, both_looked = JobStore(database, 10, 10), asyncio.Barrier(2)
    asked = Asked.of("a key", "key:ann", "Hello.")

    async def make() -> Job:
        job = Job(id=new_job_id(), owner="key:ann")
        asked.mark(job)
        await both_looked.wait()
        await store.add(job)
        return job

    one, other = await asyncio.gather(*(made_once(database, Job, asked, make) for _ in range(2)))
    assert one.id == other.id
    assert [job.id for job in await store.list(None, 10)] == [one.id]
