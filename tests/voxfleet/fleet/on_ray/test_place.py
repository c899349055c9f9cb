"""What a controller makes of workers that were there before it; the cluster is a stub."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import SimpleNamespace

import pytest

pytest.importorskip("ray", reason="the extra `ray` is not installed")

from ray.exceptions import GetTimeoutError

from voxfleet.fleet.ray import actors, place
from voxfleet.fleet.ray.worker import WorkerReport


class Cluster:
    """Actors by id, and a head that may be too slow to answer."""

    def __init__(self, *ids: str) -> None:
        self.alive = set(ids)
        self.slow = False
        self.asked: list[str] = []
        self.drained: list[str] = []

    def find(self, id: str, namespace: str) -> SimpleNamespace | None:
        self.asked.append(id)
        if self.slow:
            raise GetTimeoutError("the head does not answer")
        drain = SimpleNamespace(remote=lambda: self.drained.append(id))
        stop = SimpleNamespace(remote=lambda: asyncio.sleep(0))
        return SimpleNamespace(drain=drain, stop=stop) if id in self.alive else None

    def remove(self, id: str, namespace: str) -> None:
        self.alive.discard(id)


async def _report(actor: object) -> WorkerReport:
    return WorkerReport("digest", "node", healthy=True)


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Cluster:
    cluster = Cluster("gpu-1", "gpu-2")
    monkeypatch.setattr(actors, "find", cluster.find)
    monkeypatch.setattr(actors, "remove", cluster.remove)
    monkeypatch.setattr(actors, "worker_ids", lambda namespace: {"gpu-1", "gpu-2", "gpu-3"})
    monkeypatch.setattr(actors, "ids_of_groups", lambda namespace: set())
    monkeypatch.setattr(actors, "remove_groups_of", lambda ids, namespace: None)
    monkeypatch.setattr(place, "_ask", _report)
    monkeypatch.setattr(place, "_LOOK_SECONDS", 0.001)
    return cluster


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not condition():  # noqa: ASYNC110 - threads are waited for
            await asyncio.sleep(0.001)


async def test_adopted_workers_outlive_a_head_that_is_slow_to_answer(cluster: Cluster) -> None:
    workers = place.RayPlace("fleet")

    def placed() -> list[str]:
        return [member.id for member in workers.members() if member.placed]

    cluster.slow = True
    await workers.adopt()
    workers.drain("gpu-2")
    await until(lambda: min(cluster.asked.count(f"gpu-{number}") for number in (1, 2, 3)) > 1)
    assert len(workers.members()) == 3 and placed() == []
    cluster.slow = False
    await until(lambda: placed() == ["gpu-1", "gpu-2"] and len(workers.members()) == 2)
    assert cluster.alive == {"gpu-1", "gpu-2"} and cluster.drained == ["gpu-2"]
    await workers.end()
    assert not cluster.alive
