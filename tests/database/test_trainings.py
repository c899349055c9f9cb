"""The rows of trainings on both databases: bounds hold however many ask at once, and what ended stays."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from sqlalchemy import Delete
from sqlalchemy.ext.asyncio import AsyncSession

from gateway.database import Database, Training, TrainingRecording
from gateway.database.tables import now
from gateway.errors import ApiError
from gateway.training import store as store_module
from gateway.training.files import new_recording_id, new_training_id
from gateway.training.store import OPEN, STILL, TrainingBounds, TrainingStore
from tests.database.postgres import PostgresServer, done_or_waiting


@pytest.fixture
def store(database: Database) -> TrainingStore:
    return TrainingStore(database, TrainingBounds(trainings=5, per_owner=2, recordings=3, seconds=20))


def training(owner: str = "key:ann", **fields: Any) -> Training:
    about = {"name": "Anna", "consent_by": "Ann 安", "consent_statement": "I agree.", "steps": 9}
    return Training(id=new_training_id(), owner=owner, **about, **fields)


def recording(of: Training, seconds: float = 4.0) -> TrainingRecording:
    return TrainingRecording(
        id=new_recording_id(), training_id=of.id, name="a.wav", transcript="你好。", audio_seconds=seconds
    )


async def outcomes(*asked: Any) -> list[str]:
    """Codes of those that were refused."""
    answers = await asyncio.gather(*asked, return_exceptions=True)
    refused = [answer for answer in answers if answer is not None]
    assert all(isinstance(answer, ApiError) for answer in refused), refused
    return [answer.code for answer in refused]


async def test_a_client_and_all_together_have_so_many(store: TrainingStore) -> None:
    own = [training() for _ in range(5)]
    assert await outcomes(*(store.add(one) for one in own)) == ["too_many_trainings"] * 3
    others = [training(f"key:{number}") for number in range(5)]
    assert await outcomes(*(store.add(one) for one in others)) == ["too_many_trainings"] * 2
    assert len(await store.list(None)) == 5 and len(await store.list("key:ann")) == 2


async def test_recordings_are_counted_and_stay_while_it_is_worked_on(store: TrainingStore) -> None:
    one = training(progress={"step": 3})
    await store.add(one)
    sent = [recording(one) for _ in range(6)]
    refused = await outcomes(*(store.add_recording(each, 7) for each in sent))
    assert refused == ["too_many_recordings"] * 3
    kept = await store.recordings(one.id)
    row = await store.get(one.id)
    assert (len(kept), row.recordings, row.audio_seconds, row.size_bytes, row.progress) == (3, 3, 12, 7, {})
    assert [each.checks for each in kept] == [[]] * 3 and kept[0].transcript == "你好。"
    await store.remove_recording(one.id, kept[0].id)
    assert await outcomes(store.add_recording(recording(one, 13.0), 7)) == ["too_many_recordings"]
    assert await outcomes(store.remove_recording(one.id, kept[0].id)) == ["unknown_recording"]
    assert await store.change(one.id, STILL, state="queued", started_at=now())
    for refused in (store.add_recording(recording(one), 7), store.remove_recording(one.id, kept[1].id)):
        assert await outcomes(refused) == ["training_state"]
    await store.remove(one.id)
    assert await store.recordings(one.id) == [] and await store.get(one.id) is None
    assert await outcomes(store.add_recording(recording(one), 7)) == ["unknown_training"]


@pytest.fixture
async def shared(postgres: PostgresServer) -> AsyncIterator[TrainingStore]:
    """As two gateways have it."""
    database = Database(postgres.create_database())
    await database.open()
    yield TrainingStore(database, TrainingBounds(trainings=5, per_owner=2, recordings=3, seconds=20))
    await database.close()


async def test_no_recording_is_added_while_its_training_is_deleted(
    shared: TrainingStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its transcript would stay for ever."""
    one, added = training(), list[asyncio.Task[list[str]]]()
    await shared.add(one)
    execute = AsyncSession.execute

    async def add_meanwhile(session: AsyncSession, statement: Any, **options: Any) -> Any:
        found = await execute(session, statement, **options)
        if isinstance(statement, Delete) and not added:
            added.append(asyncio.create_task(outcomes(shared.add_recording(recording(one), 7))))
            await done_or_waiting(added[0], session)
        return found

    monkeypatch.setattr(AsyncSession, "execute", add_meanwhile)
    await shared.remove(one.id)
    assert await added[0] == ["unknown_training"]
    assert await shared.recordings(one.id) == []


async def test_no_training_is_started_while_a_recording_is_added(
    shared: TrainingStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, still, seen = training(), store_module._still, list[bool]()
    await shared.add(one)

    async def start_meanwhile(session: AsyncSession, training_id: str) -> Training:
        found = await still(session, training_id)
        started.append(asyncio.create_task(shared.reopen(training_id, STILL)))
        await done_or_waiting(started[0], session)
        seen.append(started[0].done())
        return found

    started: list[asyncio.Task[bool]] = []
    monkeypatch.setattr(store_module, "_still", start_meanwhile)
    await shared.add_recording(recording(one), 7)
    assert seen == [False] and await started[0]


async def test_one_of_two_starts_wins_and_what_ended_is_not_worked_on(store: TrainingStore) -> None:
    first, second = training(), training("key:bob")
    for one in (first, second):
        await store.add(one)
    assert await store.open_trainings() == []
    starts = [store.change(second.id, STILL, state="queued", started_at=now()) for _ in range(2)]
    assert sorted(await asyncio.gather(*starts)) == [False, True]
    assert await store.change(first.id, STILL, state="queued", started_at=now())
    assert [row.id for row in await store.open_trainings()] == [second.id, first.id]
    assert await store.change(second.id, OPEN, state="running")
    failure = ApiError(422, "recordings_unusable", "too little")
    assert await store.end(second.id, "failed", failure)
    assert not await store.end(second.id, "cancelled")
    assert not await store.change(second.id, ("running",), progress={"step": 1})
    row = await store.get(second.id)
    assert (row.state, row.error_code, row.progress) == ("failed", "recordings_unusable", {})
    assert [row.id for row in await store.open_trainings()] == [first.id]
