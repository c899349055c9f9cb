"""A key of a request makes one row on both databases, however many ask at once."""

from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs

from gateway.database import Database, Job
from gateway.database.repeats import Asked, made_once
from gateway.database.transactions import answered
from gateway.errors import ApiError
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


async def test_a_request_that_came_twice_at_once_is_no_failure_of_the_database(database: Database) -> None:
    both_looked = asyncio.Barrier(2)
    asked = Asked.of("a key", "key:ann", "Hello.")

    async def make() -> Job:
        job = Job(id=new_job_id(), owner="key:ann")
        asked.mark(job)
        await both_looked.wait()
        async with answered(database, "jobs", "jobs_unavailable") as rows:
            rows.add(job)
        return job

    with capture_logs() as events:
        one, other = await asyncio.gather(*(made_once(database, Job, asked, make) for _ in range(2)))
    assert one.id == other.id
    assert [(event["log_level"], event["event"]) for event in events] == [
        ("info", "a request came twice at once")
    ]
    with capture_logs() as events, pytest.raises(ApiError):
        async with answered(database, "jobs", "jobs_unavailable") as rows:
            rows.add(Job(id=one.id, owner="key:ann"))
    assert [event["event"] for event in events] == ["the database failed"]
