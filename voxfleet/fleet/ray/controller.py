"""The actor that keeps as many workers as are needed, on the machine of the gateway.

It may die: workers speak on, and Ray starts it again, with the workers that it finds. It decides nothing
without having looked at the gateway.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
import ray

from voxfleet.fleet.controller import Controller
from voxfleet.fleet.desk import Desk, admin_headers
from voxfleet.fleet.ray.assignment import Assignment, Folder
from voxfleet.fleet.ray.events import EventThread
from voxfleet.fleet.ray.place import RayPlace


class FleetController:
    """See the module. What it prints is this actor's log in Ray's dashboard."""

    def __init__(self, folder: str, namespace: str) -> None:
        """`folder`: of its assignment. Raises OSError and ValueError where it has none."""
        self._folder = Folder(Path(folder))
        self._place = RayPlace(namespace)
        self._running: asyncio.Task[None] | None = None
        self._events = EventThread()
        self._events.call(self._begin())

    def __repr__(self) -> str:
        """What Ray's dashboard shows."""
        return "controller"

    def node(self) -> str:
        """Machine, by Ray's id; an answer means that it works."""
        return ray.get_runtime_context().get_node_id()

    def worker_secret(self) -> str:
        """For workers, which show it to gateways."""
        return self._folder.worker_secret()

    def apply(self, assignment: Assignment) -> None:
        """From now on it goes by this one; workers of another version are replaced one by one."""
        self._folder.keep(assignment)
        self._events.call(self._go_by(assignment))

    def assignment(self) -> Assignment:
        """The one that it goes by."""
        return self._folder.assignment()

    def end(self) -> None:
        """Stop every worker, and forget what it was told."""
        self._events.call(self._end())

    async def _begin(self) -> None:
        assignment = self._folder.assignment()
        self._place.use(assignment.specs())
        await self._place.adopt()
        await self._go_by(assignment)

    async def _go_by(self, assignment: Assignment) -> None:
        await self._halt()
        self._place.use(assignment.specs())
        http = httpx.AsyncClient(
            base_url=assignment.desk_url, headers=admin_headers(self._folder.admin_token()), trust_env=False
        )
        controller = Controller(
            assignment.file.rules(),
            self._place,
            Desk(http),
            _say,
            scaled=self._folder.scaled(),
            keep_scaled=self._folder.keep_scaled,
        )
        self._running = asyncio.create_task(_run(controller, http))

    async def _halt(self) -> None:
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait({self._running})

    async def _end(self) -> None:
        await self._halt()
        await self._place.end()
        self._folder.remove()


async def _run(controller: Controller, http: httpx.AsyncClient) -> None:
    async with http:
        await controller.run()


def _say(message: str) -> None:
    print(message, flush=True)
