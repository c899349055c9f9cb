"""This machine as a place for workers: child processes of the supervisor, on its CPU or its GPUs."""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from voxfleet.fleet.controller import Controller
from voxfleet.fleet.file import WorkersSection
from voxfleet.fleet.place import Member, PlaceFull, Starts
from voxfleet.processes import ports
from voxfleet.processes.devices import DeviceError, Placement, on_team, place_workers, teams_of
from voxfleet.processes.service import Health
from voxfleet.processes.worker_service import LOOPBACK, WorkerPlan
from voxfleet.serving.supervisor import Supervisor


@dataclass
class _Child:
    kind: str
    port: ports.HeldPort
    gpus: tuple[str, ...]
    healthy: bool = False
    draining: bool = False
    ending: bool = False


class LocalPlace:
    """Workers beside the gateway; see `Place`."""

    name = "local"

    def __init__(
        self,
        supervisor: Supervisor,
        kinds: Mapping[str, WorkersSection],
        gpus: Sequence[str],
        first_port: int,
    ) -> None:
        """`gpus`: as `CUDA_VISIBLE_DEVICES` names them."""
        self._supervisor = supervisor
        self._kinds = kinds
        self._gpus = list(gpus)
        self._first_port = first_port
        self._children: dict[str, _Child] = {}
        self._numbers = itertools.count(1)
        self._starts = Starts()
        self._ending: set[asyncio.Task[None]] = set()

    def start(self, kind: str) -> str:
        """On the GPUs that have the fewest workers, where the kind uses GPUs. Raises PlaceFull."""
        section = self._kinds[kind]
        placement, gpus = self._placement(section)
        child = _Child(kind, self._held_port(), gpus)
        id = f"{kind}-{next(self._numbers)}"
        self._children[id] = child
        self._supervisor.add_worker(
            WorkerPlan(id, child.port.number, section.model, placement, section.slots)
        )
        return id

    def drain(self, id: str) -> None:
        """See `Place`."""
        self._children[id].draining = True

    def stop(self, id: str) -> None:
        """Stop a worker; it ends within seconds."""
        child = self._children[id]
        if child.ending:
            return
        child.ending = True
        task = asyncio.create_task(self._end(id))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    def members(self) -> list[Member]:
        """All child processes that are workers."""
        return [
            Member(id, child.kind, draining=child.draining, ending=child.ending)
            for id, child in self._children.items()
        ]

    def failed_starts(self, kind: str) -> int:
        """In a row, over all of the kind."""
        return self._starts.failed[kind]

    def on_health(self, id: str, health: Health) -> None:
        """A worker answered."""
        child = self._children.get(id)
        if child is not None and health.healthy and not child.healthy:
            child.healthy = True
            self._starts.succeeded(child.kind)

    def on_down(self, id: str, failed_starts: int) -> None:
        """It is started again; of several that do not start, one goes on trying."""
        child = self._children.get(id)
        if child is None:
            return
        child.healthy = False
        trying = sum(one.kind == child.kind and not one.healthy for one in self._children.values())
        if failed_starts and self._starts.one_failed(child.kind, trying):
            self.stop(id)

    async def _end(self, id: str) -> None:
        await self._supervisor.remove_worker(id)
        self._children.pop(id).port.release()

    def _placement(self, section: WorkersSection) -> tuple[Placement, tuple[str, ...]]:
        device, ranks = (
            "cpu" if section.model == "synthetic" else section.device,
            section.tensor_parallel_size,
        )
        if device != "cpu" and self._gpus:
            try:
                teams = teams_of(self._gpus, ranks)
            except DeviceError as error:
                raise PlaceFull(str(error)) from error
            used = Counter(gpu for child in self._children.values() for gpu in child.gpus)
            team = min(teams, key=lambda names: sum(used[name] for name in names))
            return on_team(team), tuple(team)
        on_cpu = 1 + sum(not child.gpus for child in self._children.values())
        return place_workers(on_cpu, device, [], ranks)[0], ()

    def _held_port(self) -> ports.HeldPort:
        """One that no other worker has, not even one that is being started again."""
        try:
            (port,) = ports.hold_free(LOOPBACK, self._first_port, 1)
        except ports.PortError as error:
            raise PlaceFull(str(error)) from error
        return port


class LocalOverseer:
    """The controller of this machine's fleet, which hears of its workers from the supervisor."""

    def __init__(self, place: LocalPlace, controller: Controller) -> None:
        self._place = place
        self._controller = controller

    async def run(self) -> None:
        """See `Controller.run`."""
        await self._controller.run()

    def on_health(self, worker: str, health: Health) -> None:
        """See `LocalPlace`."""
        self._place.on_health(worker, health)

    def on_down(self, worker: str, failed_starts: int) -> None:
        """See `LocalPlace`."""
        self._place.on_down(worker, failed_starts)
