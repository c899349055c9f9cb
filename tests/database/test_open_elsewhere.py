"""Limits of clients count once over the gateways of a database, and by each gateway where there is none."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
from sqlalchemy import select

from gateway.callers.elsewhere import NOTHING, STALE_SECONDS, Open, OpenElsewhere
from gateway.database import Database, OpenRequests
from gateway.database.address import DatabaseError

SECRET = b"the same at all gateways"


class Site:
    """A gateway's side, with what the test says is open there and a clock that the test moves."""

    def __init__(self, database: Database, secret: bytes = SECRET) -> None:
        self.open: dict[str, Open] = {}
        self.now = 0.0
        self.elsewhere = OpenElsewhere(
            database, secret, lambda tenant: self.open.get(tenant, NOTHING), lambda: self.now
        )

    async def has(self, tenant: str, streams: int, sessions: int = 0) -> None:
        self.open[tenant] = Open(streams, sessions)
        self.elsewhere.of(tenant)
        await self.elsewhere.exchange()


@pytest.fixture
async def sites(database: Database) -> AsyncIterator[tuple[Site, Site, Site]]:
    yield Site(database), Site(database), Site(database)


async def rows_of(database: Database) -> list[OpenRequests]:
    async with database.transaction() as rows:
        return list(await rows.scalars(select(OpenRequests)))


async def test_what_all_others_have_is_added_up(sites: tuple[Site, Site, Site]) -> None:
    one, two, three = sites
    await one.has("key:radio", 2, 1)
    await two.has("key:radio", 1)
    await two.has("key:other", 5)
    await three.has("key:radio", 4)
    assert three.elsewhere.of("key:radio") == Open(3, 1)
    await one.elsewhere.exchange()
    assert one.elsewhere.of("key:radio") == Open(5, 0)


async def test_a_gateway_that_says_nothing_more_counts_for_a_while(sites: tuple[Site, Site, Site]) -> None:
    one, two, _ = sites
    await one.has("key:radio", 2)
    await two.has("key:radio", 1)
    two.now = STALE_SECONDS
    await two.elsewhere.exchange()
    assert two.elsewhere.of("key:radio").streams == 2
    two.now = 2 * STALE_SECONDS
    await two.elsewhere.exchange()
    assert two.elsewhere.of("key:radio").streams == 0
    await one.elsewhere.exchange()
    await two.elsewhere.exchange()
    assert two.elsewhere.of("key:radio").streams == 2, "it was slow, not dead"


async def test_rows_of_the_dead_and_of_what_has_ended_go(
    sites: tuple[Site, Site, Site], database: Database
) -> None:
    one, two, _ = sites
    await one.has("key:radio", 2)
    await two.has("key:radio", 1)
    two.now = 100.0
    await two.elsewhere.exchange()
    assert [row.streams for row in await rows_of(database)] == [1]
    two.open.clear()
    await two.elsewhere.exchange()
    assert await rows_of(database) == []


async def test_who_was_heard_before_a_long_silence_is_not_taken_for_dead(
    sites: tuple[Site, Site, Site], database: Database
) -> None:
    one, two, _ = sites
    await one.has("key:radio", 2)
    await two.has("key:radio", 1)
    two.open.clear()
    await two.elsewhere.exchange()  # nobody with a limit is here any more, so nothing is asked for long
    two.now = 1000.0
    await one.elsewhere.exchange()
    await two.has("key:radio", 1)
    assert two.elsewhere.of("key:radio").streams == 2
    assert sorted(row.streams for row in await rows_of(database)) == [1, 2]


async def test_the_database_holds_no_names(sites: tuple[Site, Site, Site], database: Database) -> None:
    await sites[0].has("address:192.0.2.7", 1)
    (row,) = await rows_of(database)
    assert len(row.client) == 64 and "192.0" not in row.client
    stranger = Site(database, b"another secret")
    await stranger.has("address:192.0.2.7", 1)
    assert stranger.elsewhere.of("address:192.0.2.7") == NOTHING


async def test_while_the_database_fails_each_counts_by_itself(
    sites: tuple[Site, Site, Site], database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two, _ = sites
    await one.has("key:radio", 2)
    await two.has("key:radio", 1)
    assert two.elsewhere.of("key:radio").streams == 2

    def fail(**_: object) -> None:
        raise DatabaseError("gone")

    with monkeypatch.context() as broken:
        broken.setattr(database, "transaction", fail)
        await two.elsewhere.exchange()
        assert two.elsewhere.of("key:radio") == NOTHING
    await two.elsewhere.exchange()
    assert two.elsewhere.of("key:radio").streams == 2


async def test_a_gateway_that_stops_leaves_nothing(
    sites: tuple[Site, Site, Site], database: Database
) -> None:
    one = sites[0]
    async with one.elsewhere.running():
        await one.has("key:radio", 2)
        assert await rows_of(database)
    assert await rows_of(database) == []
