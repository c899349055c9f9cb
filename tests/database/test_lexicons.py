"""Lexicons in the database: changes at once lose no word, and speech never waits long for them."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy.exc import OperationalError

from gateway.database import Database
from gateway.errors import ApiError
from gateway.lexicons import SERVICE, Lexicons
from gateway.lexicons import service as lexicons_service
from gateway.lexicons.store import LexiconStore
from gateway.settings import GatewaySettings
from tests.gateway.stages.fleet import ManualClock


def lexicons_of(database: Database, clock: ManualClock | None = None) -> Lexicons:
    return Lexicons(GatewaySettings(), database, clock or ManualClock())


async def said(lexicons: Lexicons, text: str, tenant: str = "ann") -> str:
    return (await lexicons.of(tenant, {})).respell(text)[0].text


async def test_words_that_are_added_at_once_are_all_kept(database: Database) -> None:
    stores = [LexiconStore(database, 10, 100) for _ in range(2)]
    await asyncio.gather(*(stores[n % 2].set("ann", f"w{n}", "said") for n in range(8)))
    assert len((await stores[0].read("ann"))["ann"]) == 8
    await stores[1].replace("ann", {})
    assert await stores[0].read("ann", SERVICE) == {}


async def test_the_number_of_clients_is_bounded_and_the_service_is_none(database: Database) -> None:
    store = LexiconStore(database, 1, 1)
    await store.set(SERVICE, "a", "x")
    await store.set("ann", "a", "x")
    with pytest.raises(ApiError, match="at most 1 clients"):
        await store.set("bob", "a", "x")
    with pytest.raises(ApiError, match="at most 1 entries"):
        await store.set("ann", "b", "x")
    assert await store.set("ann", "a", "y") == {"a": "y"}


async def test_a_change_at_another_gateway_holds_after_two_seconds(database: Database) -> None:
    clock = ManualClock()
    here, there = lexicons_of(database, clock), lexicons_of(database)
    assert await said(here, "gif") == "gif"
    await there.set(SERVICE, "gif", "jif")
    assert (await said(there, "gif"), await said(here, "gif")) == ("jif", "gif")
    clock.advance(2.1)
    assert await said(here, "gif") == "jif"
    await here.set("ann", "gif", "own")
    assert (await said(here, "gif"), await said(here, "gif", "bob")) == ("own", "jif")


async def test_speech_goes_on_with_what_was_read_last(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = Database(f"sqlite:///{tmp_path}/voxfleet.db")
    await database.open()
    clock = ManualClock()
    lexicons = lexicons_of(database, clock)
    await lexicons.set("ann", "gif", "jif")
    reads = 0

    @asynccontextmanager
    async def broken(**options: Any) -> Any:
        nonlocal reads
        reads += 1
        raise OperationalError("select", {}, Exception("gone"))
        yield

    monkeypatch.setattr(database, "transaction", broken)
    clock.advance(5)
    assert [await said(lexicons, "gif") for _ in range(3)] == ["jif"] * 3
    assert reads == 2  # of the owner and of the service, not again for every request
    await lexicons.close()
    await database.close()


async def test_a_database_that_does_not_answer_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexicons_service, "_LONGEST_READ_SECONDS", 0.01)
    lexicons = lexicons_of(Database("sqlite:///:memory:"))
    answers = asyncio.Event()

    async def read(owner: str) -> dict[str, dict[str, str]]:
        await answers.wait()
        return {owner: {"gif": "jif"}}

    monkeypatch.setattr(lexicons.store, "read", read)
    assert await said(lexicons, "gif") == "gif"
    async with asyncio.timeout(5):
        assert [await said(lexicons, "gif") for _ in range(3)] == ["gif"] * 3
    answers.set()
    await lexicons.close()
    assert await said(lexicons, "gif") == "jif"
