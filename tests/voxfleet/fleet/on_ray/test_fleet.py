"""`voxfleet fleet up` in a real cluster of Ray, with several nodes on this machine."""

from __future__ import annotations

import json
import os
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from tests.voxfleet.conftest import ROOT, Served, is_gone, speak, voxfleet, wait_until, words_of

pytest.importorskip("ray", reason="the extra `ray` is not installed")

from benchmarks.chaos.ray_growing import GrowingNodes  # these need Ray
from benchmarks.chaos.ray_nodes import RayNodes

TOKEN = "correct-horse-battery-staple"
TEXT = "A sentence that takes a while to say, and is said again and again. "
FILE = """
place: ray
workers:
  desk: {model: synthetic, slots: 4, audio_seconds_per_second: 50, RULES, version: "VERSION"}
settle_seconds: 3
idle_seconds: 5
ray:
  address: ADDRESS
  workers: {desk: {cpus: 1, memory_gib: 0.1}}
"""

pytestmark = pytest.mark.timeout(600)  # nodes and workers come and go; on a busy computer that takes minutes


class Fleet:
    """A fleet in a cluster, and who listens to it."""

    def __init__(self, nodes: RayNodes, folder: Path, rules: str = "least: 2, most: 2") -> None:
        self.nodes, self.file, self._rules = nodes, folder / "fleet.yaml", rules
        self.environment = {
            "VOXFLEET_DATA_DIR": str(folder / "data"),
            "VOXFLEET_ADMIN_TOKEN": TOKEN,
            "VOXFLEET_WORKER_STEP_MS": "20",
        }
        self.write("1")

    def write(self, version: str) -> None:
        text = FILE.replace("ADDRESS", self.nodes.address).replace("RULES", self._rules)
        text = text.replace("VERSION", version)
        self.file.write_text(text, encoding="utf-8")

    def up(self, port: str = "0") -> Served:
        return Served(str(self.file), "--port", port, command=("fleet", "up"), **self.environment)

    def command(self, name: str, *words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            voxfleet("fleet", name, str(self.file), *words),
            cwd=ROOT,
            env={**os.environ, **self.environment},
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )


def get(url: str, path: str) -> Any:
    return httpx.get(url + path, headers={"X-Admin-Token": TOKEN}, timeout=60, trust_env=False).json()


def serving(url: str) -> set[str]:
    return {one["id"] for one in get(url, "/api/workers")["workers"] if one["state"] in ("IDLE", "BUSY")}


def kind(url: str) -> dict:
    fleet = get(url, "/api/fleet")["fleet"]
    return fleet["kinds"][0] if fleet else {}


def settled(url: str, *workers: str) -> bool:
    """Two workers serve, and nothing is under way. workers: which; one that is busy may miss a probe."""
    now = kind(url)
    quiet = bool(now) and [now[name] for name in ("serving", "loading", "draining", "former")] == [2, 0, 0, 0]
    return quiet and (not workers or serving(url) == set(workers))


class Listeners:
    """Say the same text again and again, until the block ends; every clip is whole and the same."""

    def __init__(self, url: str, count: int = 4) -> None:
        self._url, self._enough = url, threading.Event()
        self._threads = ThreadPoolExecutor(count)
        self._running = [self._threads.submit(self._listen) for _ in range(count)]

    def _listen(self) -> list[bytes]:
        heard = []
        while not self._enough.is_set():
            heard.append(speak(self._url, TEXT, seed=7).content)
        return heard

    def __enter__(self) -> Listeners:
        return self

    def __exit__(self, *error: object) -> None:
        self._enough.set()
        with self._threads:
            heard = [clip for one in self._running for clip in one.result()]
        assert len(heard) >= len(self._running)
        self.heard = set(heard)
        assert len(self.heard) == 1


@pytest.fixture
def nodes() -> Iterator[RayNodes]:
    with RayNodes(cpus=1) as nodes:
        yield nodes


@pytest.fixture
def fleet(nodes: RayNodes, tmp_path: Path) -> Iterator[Fleet]:
    yield Fleet(nodes, tmp_path)


def controllers(nodes: RayNodes) -> list[psutil.Process]:
    """Processes of the actor, which runs where the gateway does."""
    return [
        one for one in nodes.processes_of(nodes.head) if "ray::FleetController" in " ".join(words_of(one))
    ]


def test_a_fleet_in_a_cluster_costs_no_clip_whatever_dies(nodes: RayNodes, fleet: Fleet) -> None:
    second = nodes.add(cpus=1)
    served = fleet.up()
    try:
        url = served.wait_ready()
        wait_until(lambda: settled(url, "desk-1", "desk-2"), "a worker serves on each node")
        assert [len(nodes.workers_of(node)) for node in (nodes.head, second)] == [1, 1]

        with Listeners(url):  # a node loses power
            nodes.kill(second)
            third = nodes.add(cpus=2)
            wait_until(lambda: nodes.workers_of(third), "its worker comes up elsewhere")
            wait_until(lambda: serving(url) == {"desk-1", "desk-2"}, "it serves")

        with Listeners(url):  # the controller dies
            (before,) = controllers(nodes)
            before.kill()
            wait_until(lambda: {one.pid for one in controllers(nodes)} - {before.pid}, "it is back")
            wait_until(
                lambda: settled(url, "desk-1", "desk-2"),
                "it has the workers that there are",
            )

        with Listeners(url):  # a new version
            fleet.write("2")
            plan = json.loads(fleet.command("plan", "--json", "--url", url).stdout)
            assert (plan["runs"], plan["replaced"]) == (2, 2)
            again = fleet.up()
            assert again.wait_exit() == 0, again.output
            wait_until(lambda: settled(url, "desk-3", "desk-4"), "all are of the new version")
        said = {event.get("saying") for event in get(url, "/api/log?limit=500")["events"]}
        assert {"fleet_up_version", "fleet_down_version"} <= said

        served.process.kill()  # and with it the gateway
        served.close()
        served = fleet.up(url.rpartition(":")[2])
        assert served.wait_ready() == url
        wait_until(lambda: settled(url, "desk-3", "desk-4"), "it has the workers that there are")

        secret = (Path(fleet.environment["VOXFLEET_DATA_DIR"]) / "worker-secret").read_text().strip()
        assert secrets_in_logs(Path(nodes.folder), secret, TOKEN) == []

        workers = [one for node in (nodes.head, third) for one in nodes.workers_of(node)]
        assert len(workers) == 2
        ended = fleet.command("down", "--url", url)
        assert ended.returncode == 0, ended.stderr
        assert served.wait_exit() == 0, served.output
        assert all(is_gone(worker) for worker in workers)
        assert controllers(nodes) == []
    finally:
        served.close()


def test_machines_come_and_go_by_need_of_workers(tmp_path: Path) -> None:
    """Ray's own autoscaler, which may have one machine; the head has no room."""
    with GrowingNodes(cpus=1, most=1, idle_seconds=2) as nodes:
        fleet = Fleet(nodes, tmp_path, "least: 0, most: 2")
        served = fleet.up()
        try:
            url = served.wait_ready()
            assert nodes.count() == 0
            alone = speak(url, TEXT, seed=7).content  # by a worker for which a machine is started
            assert nodes.count() == 1

            with Listeners(url) as listeners:
                assert fleet.command("scale", "desk", "2", "--url", url).returncode == 0
                told = "1 serve, 1 load (1 wait for a machine), 0 drain; 2 by order"
                wait_until(lambda: told in fleet.command("status", "--url", url).stdout, told)
                assert fleet.command("scale", "desk", "1", "--url", url).returncode == 0
                wait_until(lambda: kind(url).get("loading") == 0, "it waits no more")
            assert listeners.heard == {alone}

            assert fleet.command("scale", "desk", "auto", "--url", url).returncode == 0
            wait_until(lambda: nodes.count() == 0, "nobody asks, and the machine is given back")
            assert serving(url) == set()
            said = {event.get("saying") for event in get(url, "/api/log?limit=500")["events"]}
            assert {"fleet_up_cold", "fleet_down_unplaced", "fleet_down_idle"} <= said
        finally:
            served.close()


def secrets_in_logs(folder: Path, *secrets: str) -> list[str]:
    """Files below the folder that tell one."""
    files = [file for file in folder.rglob("*") if file.is_file()]
    assert any(file.name.startswith("worker-") for file in files)
    return [str(file) for file in files if any(secret.encode() in file.read_bytes() for secret in secrets)]
