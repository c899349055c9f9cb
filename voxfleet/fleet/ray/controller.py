"""The actor that keeps as many workers as are needed, on the machine of the gateway.

It may die: workers speak on, and Ray starts it again, with the workers that it finds. It decides nothing
without having looked at the gateway.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import ray

from voxfleet.fleet.controller import Controller
from voxfleet.fleet.desks import desks_of
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
        self._goes_by: tuple[str, str] | None = None
        """An assignment as JSON, and the token that opens its gateways."""
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
        token = self._folder.admin_token()
        goes_by = assignment.model_dump_json(), token
        if goes_by == self._goes_by and self._running is not None and not self._running.done():
            return  # what it has decided meanwhile is still to be said
        await self._halt()
        self._goes_by = goes_by
        self._place.use(assignment.specs())
        self._running = asyncio.create_task(self._run(assignment, token, self._folder.scaled()))

    async def _run(self, assignment: Assignment, token: str, scaled: dict[str, int]) -> None:
        async with desks_of(assignment.desk_urls, token) as desks:
            controller = Controller(
                assignment.file.rules(),
                self._place,
                desks,
                _say,
                scaled=scaled,
                keep_scaled=self._folder.keep_scaled,
            )
            await controller.run()

    async def _halt(self) -> None:
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait({self._running})

    async def _end(self) -> None:
        await self._halt()
        await self._place.end()
        self._folder.remove()


def _say(message: str) -> None:
    print(message, flush=True)
