"""Workers as a machine room has them: they load, speak, drain, are slow, fail, and die with their zone."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Iterator
from dataclasses import dataclass, field

from benchmarks.fleet_simulation.traffic import Request
from gateway.slots.capacity.worker import Worker
from gateway.slots.pool import WorkerPool
from models.speech import ModelInfo
from voxfleet.fleet.autoscaling.choice import WorkerNow, whom_to_drain
from voxfleet.fleet.autoscaling.rules import WorkerKind
from voxfleet.fleet.autoscaling.window import KindNow
from worker.engines.synthetic import INFO
from worker.protocol import ModelDescription, WorkerState, WorkerStatus

ZONES = ("a", "b", "c")
SLOW_SHARE, SLOW_SPEED = 0.03, 0.6
LOADING_SPREAD = 0.2
FIRST_AUDIO_SECONDS = 0.2
FAILS_AFTER_SECONDS = 0.05
SENTENCE_SECONDS = 5.0
"""A stream that is to move does so at the end of a sentence."""


@dataclass(frozen=True)
class Plan:
    """What goes wrong on that day; times in seconds."""

    zone_dies_at: float = 12.5 * 3600
    zone_is_back_at: float = 14 * 3600
    bad_release_from: float = 9 * 3600
    bad_release_until: float = 9 * 3600 + 1200


@dataclass(eq=False)
class Host:
    """One worker and what it runs on."""

    worker: Worker
    zone: str
    speed: float
    started_at: float
    bad: bool
    """It loads, and then fails every request."""
    serving: bool = False
    draining: bool = False
    ended_at: float | None = None
    streams: dict[asyncio.Future[str], None] = field(default_factory=dict)
    """In the order in which they came, which a set does not keep."""


class Cluster:
    """All workers of one kind, and the clock's share of their use."""

    def __init__(self, kind: WorkerKind, pool: WorkerPool, plan: Plan, seed: int) -> None:
        self.hosts: dict[str, Host] = {}
        self.past: list[Host] = []
        self.failed_starts = 0
        self.last_served_at = float("-inf")
        self.loading_seconds: float | None = None
        self._kind, self._pool, self._plan = kind, pool, plan
        self._numbers = random.Random(seed)
        self._loop = asyncio.get_running_loop()
        self._count = 0
        self._model = _description(INFO)
        pool.reports.on_health.append(self._on_health)

    def now(self, made: float, slot_seconds: float) -> KindNow:
        """As the autoscaler wants to know it."""
        hosts = self.hosts.values()
        draining = sum(host.draining for host in hosts)
        serving = sum(host.serving and not host.draining for host in hosts)
        loading = len(hosts) - serving - draining
        return KindNow(
            self._kind.name, serving, loading, draining, self.failed_starts, self.loading_seconds, made,
            slot_seconds,
        )  # fmt: skip

    # --------------------------------------------------------------------------------------- as it is told

    def start(self, count: int) -> None:
        """In the zones that have the fewest."""
        now = self._loop.time()
        for _ in range(count):
            zones = {zone: 0 for zone in ZONES if not (zone == "a" and self._zone_is_down(now))}
            for host in self.hosts.values():
                if host.zone in zones:
                    zones[host.zone] += 1
            self._count += 1
            worker = Worker(f"w{self._count}", f"http://w{self._count}")
            slow = self._numbers.random() < SLOW_SHARE
            bad = self._plan.bad_release_from <= now < self._plan.bad_release_until
            zone = min(zones, key=lambda zone: (zones[zone], zone))
            host = Host(worker, zone, SLOW_SPEED if slow else 1.0, now, bad)
            self.hosts[worker.id] = host
            spread = self._numbers.uniform(1 - LOADING_SPREAD, 1 + LOADING_SPREAD)
            seconds = self._kind.loading_seconds * spread
            self._loop.call_later(seconds, self._serve, host, seconds)

    def drain_one(self) -> None:
        """The one that the product chooses."""
        host = self.hosts[whom_to_drain(self._workers_now(), self._kind.name).id]
        host.draining = True
        self._say(host, WorkerState.DRAINING)
        for stream in host.streams:
            delay_seconds = self._numbers.uniform(0, SENTENCE_SECONDS)
            self._loop.call_later(delay_seconds, _settle, stream, "move")
        self._end_when_empty(host)

    def zone_dies(self, zone: str) -> None:
        """All of its workers at once."""
        dying = [host for host in self.hosts.values() if host.zone == zone]
        for host in dying:
            self._end(host)
        for host in dying:
            for stream in list(host.streams):
                _settle(stream, "dead")

    # ----------------------------------------------------------------------------------------- as they are

    async def speak(self, host: Host, request: Request, left_seconds: float) -> tuple[str, float]:
        """Speak what is left; how that ended ("done", "move", "dead", "failed") and what is left then.

        `left_seconds`: of the slot's time on a sound worker.
        """
        speed = 1.0 if request.kind == "session" else host.speed
        if host.bad:
            await asyncio.sleep(FAILS_AFTER_SECONDS)
            return "failed", left_seconds
        ended: asyncio.Future[str] = self._loop.create_future()
        timer = self._loop.call_later(left_seconds / speed, _settle, ended, "done")
        host.streams[ended] = None
        began = self._loop.time()
        try:
            how = await ended
        finally:
            timer.cancel()
            host.streams.pop(ended)
            if host.draining:
                self._loop.call_soon(self._end_when_empty, host)
        return how, max(left_seconds - (self._loop.time() - began) * speed, 0.0)

    def first_audio_seconds(self, host: Host) -> float:
        """From the slot to the first audio."""
        return FIRST_AUDIO_SECONDS * self._numbers.uniform(0.8, 1.5) / host.speed

    def _workers_now(self) -> Iterator[WorkerNow]:
        for host in self.hosts.values():
            serving = host.serving and not host.draining
            used = len(host.worker.leases)
            yield WorkerNow(host.worker.id, self._kind.name, serving, used, host.speed, host.zone)

    def _serve(self, host: Host, seconds: float) -> None:
        if host.ended_at is not None:
            return
        host.serving = True
        self.last_served_at = self._loop.time()
        known = self.loading_seconds
        self.loading_seconds = seconds if known is None else known + 0.3 * (seconds - known)
        if not host.bad:
            self.failed_starts = 0
        self._pool.add_worker(host.worker)
        self._say(host, WorkerState.IDLE)

    def _on_health(self, worker: Worker) -> None:
        """One that fails whatever it gets is taken away, as a start that failed."""
        host = self.hosts.get(worker.id)
        if host is not None and host.bad and worker.trust.on_trial:
            self.failed_starts += 1
            self._loop.call_soon(self._end, host)

    def _end_when_empty(self, host: Host) -> None:
        if not host.worker.leases and host.ended_at is None:
            self._end(host)

    def _end(self, host: Host) -> None:
        if host.ended_at is not None:
            return
        host.ended_at = self._loop.time()
        self.past.append(self.hosts.pop(host.worker.id))
        if host.serving:
            self._pool.reports.gone(host.worker, "it ended")
            self._loop.call_later(10.0, self._pool.remove_worker, host.worker)

    def _zone_is_down(self, now: float) -> bool:
        return self._plan.zone_dies_at <= now < self._plan.zone_is_back_at

    def _say(self, host: Host, state: WorkerState) -> None:
        status = WorkerStatus(
            worker_id=host.worker.id, boot_id=host.worker.id, state=state, slots_total=self._kind.slots,
            slots_used=0, model=self._model, device="cpu", pid=1, step=0, uptime_seconds=1.0, memory_bytes=1,
        )  # fmt: skip
        self._pool.reports.answered(host.worker, status)


def _settle(stream: asyncio.Future[str], how: str) -> None:
    if not stream.done():
        stream.set_result(how)


def _description(info: ModelInfo) -> ModelDescription:
    return ModelDescription.model_validate(info.to_dict())
