"""A fleet in a cluster of Ray with several nodes on this machine, and what can be done to it under load.

Needs the extra `ray`. Three synthetic workers have a node each, and a worker of the bundled voice another.
There is no second one of these that its clips could move to, so the gateway waits for longer than usual.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Self

from benchmarks.chaos.fleet import Fault, Server
from benchmarks.chaos.listeners import Heard, hear, pauses
from benchmarks.chaos.loads import Size, distribution, under_load, verdict
from benchmarks.chaos.ray_growing import GrowingNodes
from benchmarks.chaos.ray_nodes import RayNodes
from benchmarks.shared.fleet import free_port
from benchmarks.shared.http_client import get

VOICE = "voxfleet-mini-en"
SENTENCE = "The old lighthouse keeper climbed the stairs every evening to light the lamp above the bay."
PATIENCE_SECONDS = 300.0
WORKERS, SLOTS = 3, 20
WAIT_SECONDS = 120.0
_POLL_SECONDS = 0.2


class RayFleet:
    """`async with RayFleet(step_ms=40, least=3) as fleet`."""

    def __init__(
        self,
        step_ms: float,
        *,
        least: int,
        bundled: int = 0,
        kind: str = f"slots: {SLOTS}, audio_seconds_per_second: 100",
        rules: str = "",
        cluster: RayNodes | None = None,
    ) -> None:
        """`bundled`: workers of the bundled voice. `kind`: what the fleet file says of synthetic workers;
        `rules`: of the whole. `cluster`: one that adds nodes by itself.
        """
        self._grows = cluster is not None
        self.cluster = cluster or RayNodes(any_thread=True)
        self._step_ms, self._least, self.bundled = step_ms, least, bundled
        self._kind, self._rules = kind, rules
        self.version = 1

    async def __aenter__(self) -> Self:
        with ExitStack() as stack:
            self._folder = Path(stack.enter_context(TemporaryDirectory(prefix="voxfleet-")))
            stack.enter_context(self.cluster)
            count = 0 if self._grows else WORKERS + self.bundled
            self.nodes = [self.cluster.add(cpus=1) for _ in range(count)]
            self._write_file()
            self._edge = self._up(free_port())
            stack.callback(self._edge.kill)
            await self.until_serving()
            self._stack = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is not None:
            error.add_note(self._edge.log_tail())
        with self._stack:
            self._edge.signal(signal.SIGTERM)
            await self._edge.ended()

    @property
    def urls(self) -> Sequence[str]:
        """Of its gateway."""
        return [self._edge.url]

    async def until_serving(self) -> None:
        """Until all workers that there are to be at least serve, and no other."""
        await self.until(lambda kinds: all(_is_settled(kind) for kind in kinds))

    async def until(self, condition: Any) -> None:
        """Until what the controller reports of the kinds of workers fulfils it. Raises TimeoutError."""
        async with asyncio.timeout(PATIENCE_SECONDS):
            while not (kinds := await self.kinds()) or not condition(kinds):
                if self._edge.has_ended:
                    raise RuntimeError(self._edge.log_tail())
                await asyncio.sleep(_POLL_SECONDS)

    async def kinds(self) -> list[dict[str, Any]]:
        """What the controller reports; nothing while it is away."""
        try:
            status, answer = await get(self._edge.port, "/api/fleet")
        except (OSError, asyncio.IncompleteReadError):
            return []
        return answer["fleet"]["kinds"] if status == 200 and answer["fleet"] else []

    async def kill_a_node(self) -> Fault:
        """The one that is there for longest loses power, and another one of its kind comes."""
        node = self.nodes.pop(0)
        processes = await asyncio.to_thread(self.cluster.processes_of, node)
        workers = {one.environ()["VOXFLEET_WORKER_WORKER_ID"] for one in self.cluster.workers_of(node)}
        _, queue = await get(self._edge.port, "/api/queue")
        running = [one["request_id"] for one in queue["running"] if one["worker_id"] in workers]
        fault = Fault(time.perf_counter(), -1, frozenset(running))
        self.cluster.cut(processes)
        await asyncio.to_thread(self.cluster.forget, node)
        self.nodes.append(await asyncio.to_thread(self.cluster.add, 1))
        return fault

    async def roll(self) -> None:
        """Another version of every worker, one after the other."""
        self.version += 1
        self._write_file()
        again = self._up(free_port())
        if status := await again.ended():
            raise RuntimeError(f"{status}: {again.log_tail()}")
        await self.until(lambda kinds: any(kind["former"] for kind in kinds))
        await self.until_serving()

    def _up(self, port: int) -> Server:
        words = ("fleet", "up", str(self._folder / "fleet.yaml"), "--host", "127.0.0.1")
        settings = {"log_level": "error", "failover_timeout_seconds": WAIT_SECONDS}
        settings |= {"data_dir": self._folder / "data", "worker_step_ms": self._step_ms}
        return Server(*words, port=port, **settings)

    def _write_file(self) -> None:
        tones = f"{self._kind}, least: {self._least}, most: {WORKERS}, version: v{self.version}"
        voice = f"least: {self.bundled}, most: {self.bundled}, version: v{self.version}"
        words = [
            "place: ray",
            "workers:",
            f"  tones: {{model: synthetic, {tones}}}",
            f"  voice: {{model: bundled, slots: 2, audio_seconds_per_second: 4, {voice}}}",
            f"ray: {{address: '{self.cluster.address}', workers: {{tones: {SHARE}, voice: {SHARE}}}}}",
            self._rules,
        ]
        (self._folder / "fleet.yaml").write_text("\n".join(words), encoding="utf-8")


SHARE = "{cpus: 1, memory_gib: 0.1}"


def _is_settled(kind: dict[str, Any]) -> bool:
    moving = kind["loading"] + kind["draining"] + kind["former"]
    return kind["serving"] == kind["least"] and not moving


async def dying_nodes(size: Size, seed: int) -> dict[str, Any]:
    """See `benchmarks.chaos.faults.ray`."""
    faults: list[Fault] = []
    async with RayFleet(size.step_ms, least=WORKERS, bundled=1) as fleet:
        expected = await _say(fleet, -1)
        enough = asyncio.Event()
        voice = asyncio.create_task(_say_again(fleet, enough))

        async def trouble() -> None:
            await asyncio.sleep(size.fault_every_seconds)
            faults.append(await fleet.kill_a_node())
            await fleet.until_serving()

        heard = await under_load(fleet, size, seed, trouble, model="synthetic")
        enough.set()
        said = await voice
    whole = [one for one in said if one.error is None]
    bundled = {
        "requests": len(said),
        "lost": len(said) - len(whole),
        "wrong": sum(one.digest != expected.digest for one in whole),
        "migrations": sum(one.migrations for one in whole),
    }
    found = verdict(heard) | {"nodes_killed": len(faults), "pauses": distribution(pauses(heard, faults))}
    return found | {"bundled": bundled} | {name: found[name] + bundled[name] for name in ("lost", "wrong")}


async def _say_again(fleet: RayFleet, enough: asyncio.Event) -> list[Heard]:
    said = []
    while not enough.is_set():
        said.append(await _say(fleet, len(said)))
    return said


async def _say(fleet: RayFleet, number: int) -> Heard:
    return await hear(fleet.urls[0], Heard(number, SENTENCE, 7, model=VOICE))


async def new_versions(size: Size, seed: int) -> dict[str, Any]:
    """See `benchmarks.chaos.faults.ray_rolling`."""
    async with RayFleet(size.step_ms, least=WORKERS) as fleet:
        fleet.nodes.append(fleet.cluster.add(cpus=1))  # for one more
        heard = await under_load(fleet, size, seed, fleet.roll, model="synthetic")
        versions = fleet.version
    return verdict(heard) | {"versions": versions}


async def from_none_to_none(size: Size, seed: int) -> dict[str, Any]:
    """See `benchmarks.chaos.faults.ray_scale`."""
    return await _there_and_back(size, seed)


async def machines_by_need(size: Size, seed: int) -> dict[str, Any]:
    """See `benchmarks.chaos.faults.ray_machines`."""
    return await _there_and_back(size, seed, GrowingNodes(cpus=1, most=WORKERS, idle_seconds=3))


async def _there_and_back(size: Size, seed: int, machines: GrowingNodes | None = None) -> dict[str, Any]:
    """From no worker to as many as are needed, and back; with `machines` the same of nodes."""
    kind = "slots: 2, audio_seconds_per_second: 3, loading_seconds: 2"
    rules = "settle_seconds: 3\nidle_seconds: 5"
    most: Counter[str] = Counter()
    async with RayFleet(100.0, least=0, kind=kind, rules=rules, cluster=machines) as fleet:

        async def watch() -> None:
            now = {"most_workers": max((kind["serving"] for kind in await fleet.kinds()), default=0)}
            if machines is not None:
                now["most_nodes"] = machines.count()
            most.update({name: count - most[name] for name, count in now.items() if count > most[name]})
            await asyncio.sleep(_POLL_SECONDS)

        began = time.perf_counter()
        heard = await under_load(fleet, size, seed, watch, model="synthetic")
        first_seconds = min(one.arrivals[0] for one in heard if one.arrivals) - began
        found = {**most, "first_audio_seconds": round(first_seconds, 1)}
        ended = time.perf_counter()
        await fleet.until_serving()
        found["none_again_seconds"] = round(time.perf_counter() - ended, 1)
        if machines is not None:
            async with asyncio.timeout(PATIENCE_SECONDS):
                while machines.count():  # noqa: ASYNC110 - it asks, and waits for nobody
                    await asyncio.sleep(_POLL_SECONDS)
            found["no_node_again_seconds"] = round(time.perf_counter() - ended, 1)
    return verdict(heard) | found
