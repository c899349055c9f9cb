"""Gateways of several builds on one database are told of, at each of them."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Any

import pytest
from structlog.testing import capture_logs

from gateway.database import Database
from gateway.operations.measurements.builds import GatewayBuilds
from gateway.operations.measurements.history import History
from tests.gateway.stages.fleet import Fleet

NOW = 1_800_000_000.0
OLD, NEW = "0.1.0+aaaaaaa", "0.1.0+bbbbbbb"
Log = list[MutableMapping[str, Any]]


def gateway(database: Database, build: str, at: float = NOW) -> History:
    fleet = Fleet(1)
    history = History(fleet.pool, database, lambda: at, fleet.clock, build)
    history.look()
    return history


def warnings_of(log: Log) -> list[Any]:
    return [line["builds"] for line in log if line["log_level"] == "warning"]


async def test_builds_are_counted_and_a_mixture_is_logged_once(database: Database) -> None:
    gateways = [gateway(database, build) for build in (OLD, NEW, OLD)]
    builds = gateways[1].builds
    with capture_logs() as log:
        await gateways[0].write()
        await builds.look()
        assert builds.describe() == [{"build": OLD, "gateways": 1}] and warnings_of(log) == []
        for each in gateways[1:]:
            await each.write()
        for _ in range(3):
            await builds.look()
    assert builds.describe() == [{"build": OLD, "gateways": 2}, {"build": NEW, "gateways": 1}]
    assert warnings_of(log) == [{OLD: 2, NEW: 1}]


async def test_a_gateway_that_has_ended_or_is_silent_is_none(database: Database) -> None:
    """As before each upgrade of a single one."""
    await gateway(database, OLD, NOW - 100).write()
    before = gateway(database, OLD, NOW - 11)
    await before.write()
    await before.close()
    now = gateway(database, NEW)
    await now.write()
    with capture_logs() as log:
        await now.builds.look()
    assert now.builds.describe() == [{"build": NEW, "gateways": 1}] and log == []


async def test_an_older_version_tells_no_build(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as older:
        older.setattr("gateway.operations.measurements.history.BUILD", "unknown")
        await gateway(database, OLD).write()
    now = gateway(database, NEW)
    await now.write()
    await now.builds.look()
    assert {each["build"] for each in now.builds.describe()} == {"", NEW}


async def test_while_the_database_fails_the_last_counts_hold(database: Database) -> None:
    await gateway(database, OLD).write()
    builds = GatewayBuilds(database, lambda: NOW)
    await builds.look()
    await database.close()
    await builds.look()
    assert builds.describe() == [{"build": OLD, "gateways": 1}]
    await database.open()
