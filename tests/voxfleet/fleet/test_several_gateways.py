"""`voxfleet fleet up` with several gateways, on this machine and in a cluster of Ray."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from benchmarks.chaos.listeners import Heard, load
from tests.database.postgres import PostgresServer
from tests.voxfleet.conftest import ROOT, Served, is_gone, voxfleet, wait_until, words_of
from voxfleet.processes.ports import any_free

TOKEN = "correct-horse-battery-staple"
FILE = """
place: PLACE
gateways: 2
workers:
  desk: {model: synthetic, slots: 4, audio_seconds_per_second: 50, least: 1, most: 2}
ray: {address: "local", workers: {desk: {cpus: 0.1, memory_gib: 0.1}}}
"""
NEEDS_RAY = pytest.mark.skipif(find_spec("ray") is None, reason="the extra `ray` is not installed")
PLACES = [pytest.param("local", id="here"), pytest.param("ray", marks=NEEDS_RAY)]

pytestmark = pytest.mark.timeout(600)  # processes come and go; on a busy computer that takes minutes


class Fleet:
    """Two gateways, their workers, and what operators do with them."""

    def __init__(self, place: str, folder: Path, database: str) -> None:
        self._file = folder / "fleet.yaml"
        self._file.write_text(FILE.replace("PLACE", place), encoding="utf-8")
        self._environment = {
            "VOXFLEET_DATA_DIR": str(folder / "data"),
            "VOXFLEET_DATABASE_URL": database,
            "VOXFLEET_ADMIN_TOKEN": TOKEN,
            "VOXFLEET_WORKER_STEP_MS": "40",
            "RAY_USAGE_STATS_ENABLED": "0",
        }
        host, port = "127.0.0.1", any_free("127.0.0.1")
        self.urls = [f"http://{host}:{port}", f"http://{host}:{port + 1}"]
        self.served = Served(
            *(str(self._file), "--host", host, "--port", str(port)),
            command=("fleet", "up"),
            **self._environment,
        )

    def command(self, *words: str) -> str:
        """What `voxfleet` said; in `words`, FILE is the fleet file."""
        done = subprocess.run(
            voxfleet(*(str(self._file) if word == "FILE" else word for word in words)),
            cwd=ROOT,
            env={**os.environ, **self._environment},
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def get(self, number: int, path: str) -> Any:
        headers = {"X-Admin-Token": TOKEN}
        return httpx.get(self.urls[number] + path, headers=headers, timeout=60, trust_env=False).json()

    def said(self, number: int) -> list[str | None]:
        """Sayings of the event log, as that gateway shows it."""
        return [event.get("saying") for event in self.get(number, "/api/log?limit=500")["events"]]

    def serving(self, number: int) -> set[str]:
        """Workers that serve, as that gateway knows them."""
        workers = self.get(number, "/api/workers")["workers"]
        return {one["id"] for one in workers if one["state"] in ("IDLE", "BUSY")}

    def process(self, number: int) -> psutil.Process:
        """Of that gateway."""
        port = self.urls[number].rpartition(":")[2]
        [found] = [one for one in self.served.children("gateway") if port in words_of(one)]
        return found


@pytest.fixture
def fleet(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Fleet]:
    with ExitStack() as stack:
        database = stack.enter_context(PostgresServer()).create_database()
        fleet = Fleet(request.param, tmp_path, database)
        stack.callback(fleet.served.close)
        assert fleet.served.wait_ready() == fleet.urls[0]
        yield fleet


@pytest.mark.parametrize("fleet", PLACES, indirect=True)
def test_gateways_share_workers_and_database_and_one_may_die(fleet: Fleet) -> None:
    for number in (0, 1):
        wait_until(lambda number=number: fleet.serving(number) == {"desk-1"}, "both have the worker")

    fleet.command("fleet", "scale", "FILE", "desk", "2", "--url", fleet.urls[1])
    for number in (0, 1):
        wait_until(lambda number=number: fleet.serving(number) == {"desk-1", "desk-2"}, "both have one more")
    for number in (0, 1):  # of one log
        wait_until(
            lambda number=number: fleet.said(number).count("fleet_up_floor") == 2, "both starts are said"
        )
        assert fleet.said(number).count("order_count") == 1
        assert "at least 2 are to run" in fleet.command("doctor", "--fleet", "--url", fleet.urls[number])

    async def listen_while_one_dies() -> list[Heard]:
        """To both, with tokens by which another gateway goes on."""
        heard = asyncio.create_task(load(fleet.urls, 16, 8, 40, 1, resume=True))
        await asyncio.sleep(2.0)
        victim.kill()
        return await heard

    victim = fleet.process(0)
    heard = asyncio.run(listen_while_one_dies())
    assert [one.error for one in heard if one.error is not None] == []
    assert all(one.is_right() for one in heard)
    assert any(one.reconnections for one in heard)
    wait_until(lambda: fleet.process(0).pid != victim.pid and is_gone(victim), "it is started again")
    wait_until(lambda: _answers(fleet), "it answers")
    wait_until(lambda: fleet.serving(0) == {"desk-1", "desk-2"}, "it has all workers")

    fleet.command("fleet", "down", "FILE", "--url", fleet.urls[1])
    assert fleet.served.wait_exit() == 0, fleet.served.output


def _answers(fleet: Fleet) -> bool:
    try:
        return httpx.get(f"{fleet.urls[0]}/health", timeout=60, trust_env=False).is_success
    except httpx.TransportError:
        return False
