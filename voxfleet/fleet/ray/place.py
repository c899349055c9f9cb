"""A cluster of Ray as a place for workers, for the controller that runs in it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from ray.actor import ActorHandle
from ray.exceptions import RayError

from voxfleet.fleet.log import get_logger
from voxfleet.fleet.place import Member, PlaceFull, Starts
from voxfleet.fleet.ray import actors
from voxfleet.fleet.ray.assignment import WorkerSpec
from voxfleet.fleet.ray.worker import SpeechWorker, WorkerReport

logger = get_logger(__name__)

_LOOK_SECONDS = 1.0
_STOP_SECONDS = 20.0


@dataclass
class _Seat:
    """One worker, from its start until nothing of it is left."""

    id: str
    kind: str
    spec: WorkerSpec | None
    """None: it was there before this controller."""
    actor: ActorHandle | None = None
    digest: str | None = None
    node: str = ""
    """Empty: it waits for room."""
    healthy: bool = False
    draining: bool = False
    failed_starts: int = 0
    leave: asyncio.Event = field(default_factory=asyncio.Event)


class RayPlace:
    """Workers as actors; see `Place`."""

    name = "ray"

    def __init__(self, namespace: str) -> None:
        self._namespace = namespace
        self._specs: Mapping[str, WorkerSpec] = {}
        self._seats: dict[str, _Seat] = {}
        self._lives: set[asyncio.Task[None]] = set()
        self._starts = Starts()
        self._last_number = 0

    def use(self, specs: Mapping[str, WorkerSpec]) -> None:
        """From now on workers of these kinds are started like this; others are of a former version."""
        self._specs = specs

    async def adopt(self) -> None:
        """Take over the workers that are there. Raises RayError."""
        ids = await asyncio.to_thread(actors.worker_ids, self._namespace)
        for id in sorted(ids):
            kind, _, number = id.rpartition("-")
            if not (kind and number.isdecimal()):
                continue
            self._last_number = max(self._last_number, int(number))
            self._seat(_Seat(id, kind, None))
        abandoned = await asyncio.to_thread(actors.ids_of_groups, self._namespace) - ids
        await asyncio.to_thread(actors.remove_groups_of, abandoned, self._namespace)

    def start(self, kind: str) -> str:
        """One more, which may have to wait for room. Raises PlaceFull for a kind that there is not."""
        if kind not in self._specs:
            raise PlaceFull(f"the fleet file has no workers {kind}")
        self._last_number += 1
        id = f"{kind}-{self._last_number}"
        self._seat(_Seat(id, kind, self._specs[kind], digest=self._specs[kind].digest))
        return id

    def drain(self, id: str) -> None:
        """See `Place`; the actor remembers it for another controller."""
        seat = self._seats[id]
        if not seat.draining and seat.actor is not None:
            seat.actor.drain.remote()
        seat.draining = True

    def stop(self, id: str) -> None:
        """Stop a worker; it ends within seconds."""
        self._seats[id].leave.set()

    def members(self) -> list[Member]:
        """All that have not been removed."""
        return [
            Member(
                seat.id,
                seat.kind,
                seat.draining,
                seat.leave.is_set(),
                former=seat.digest is not None and not self._is_present(seat),
                placed=bool(seat.node),
                zone=seat.node,
            )
            for seat in self._seats.values()
        ]

    def failed_starts(self, kind: str) -> int:
        """In a row, over all of the kind."""
        return self._starts.failed[kind]

    async def end(self) -> None:
        """Stop all, and wait until nothing is left."""
        for seat in self._seats.values():
            seat.leave.set()
        await asyncio.gather(*self._lives)

    # -------------------------------------------------------------------------------------- one worker's life

    def _is_present(self, seat: _Seat) -> bool:
        return seat.kind in self._specs and seat.digest == self._specs[seat.kind].digest

    def _seat(self, seat: _Seat) -> None:
        self._seats[seat.id] = seat
        life = asyncio.create_task(self._live(seat))
        self._lives.add(life)
        life.add_done_callback(self._lives.discard)

    async def _live(self, seat: _Seat) -> None:
        while not seat.leave.is_set() and not await self._make(seat):
            await _wait(seat, _LOOK_SECONDS)
        while not seat.leave.is_set() and await self._look(seat):
            await _wait(seat, _LOOK_SECONDS)
        seat.leave.set()
        while not await self._remove(seat):  # noqa: ASYNC110 - it tries, and waits for nobody
            await asyncio.sleep(_LOOK_SECONDS)
        del self._seats[seat.id]

    async def _make(self, seat: _Seat) -> bool:
        """Whether it is known which actor it has; one that was there before may be gone, and has none."""
        try:
            if seat.spec is None:
                seat.actor = await asyncio.to_thread(actors.find, seat.id, self._namespace)
            else:
                seat.actor = await asyncio.to_thread(
                    actors.make_worker, SpeechWorker, seat.id, seat.spec, self._namespace
                )
        except (RayError, ValueError) as error:
            cannot = "found" if seat.spec is None else "started"
            logger.warning(f"a worker cannot be {cannot}", id=seat.id, reason=str(error))
            return False
        if seat.draining and seat.actor is not None:
            seat.actor.drain.remote()  # it was asked to before there was anybody to tell
        return True

    async def _look(self, seat: _Seat) -> bool:
        """Ask it how it is; whether it is still there. Waits while it waits for room."""
        if seat.actor is None:
            return False
        asked = asyncio.ensure_future(_ask(seat.actor))
        leaving = asyncio.create_task(seat.leave.wait())
        await asyncio.wait({asked, leaving}, return_when=asyncio.FIRST_COMPLETED)
        leaving.cancel()
        if not asked.done():
            asked.cancel()
            return True
        report = asked.result()
        if report is not None:
            self._note(seat, report)
            return True
        seat.node, seat.healthy = "", False
        return await self._is_there(seat)

    async def _is_there(self, seat: _Seat) -> bool:
        """An actor that somebody else removed is gone for good; one that Ray starts again is there."""
        try:
            return await asyncio.to_thread(actors.find, seat.id, self._namespace) is not None
        except RayError:
            return True  # nobody knows

    def _note(self, seat: _Seat, report: WorkerReport) -> None:
        seat.digest, seat.node = report.digest, report.node
        seat.draining = seat.draining or report.draining
        if report.healthy and not seat.healthy:
            self._starts.succeeded(seat.kind)
        seat.healthy = report.healthy
        failed, seat.failed_starts = report.failed_starts - seat.failed_starts, report.failed_starts
        if failed > 0:
            alike = [one for one in self._seats.values() if one.kind == seat.kind]
            trying = sum(not one.healthy and not one.leave.is_set() for one in alike)
            if self._starts.one_failed(seat.kind, trying):
                seat.leave.set()

    async def _remove(self, seat: _Seat) -> bool:
        """Whether nothing is left of it."""
        try:
            if seat.actor is not None and seat.node:
                async with asyncio.timeout(_STOP_SECONDS):
                    await seat.actor.stop.remote()
        except (RayError, TimeoutError) as error:
            logger.warning("a worker does not stop by itself", id=seat.id, reason=type(error).__name__)
            seat.node = ""
        try:
            await asyncio.to_thread(actors.remove, seat.id, self._namespace)
        except (RayError, ValueError) as error:
            logger.warning("a worker cannot be removed", id=seat.id, reason=str(error))
            return False
        return True


async def _ask(actor: ActorHandle) -> WorkerReport | None:
    try:
        return await actor.report.remote()
    except RayError:
        return None


async def _wait(seat: _Seat, seconds: float) -> None:
    """Less when it is to leave."""
    await asyncio.wait({leaving := asyncio.create_task(seat.leave.wait())}, timeout=seconds)
    leaving.cancel()
