"""The day itself: requests go through the pool, and the autoscaler decides every two seconds."""

from __future__ import annotations

import asyncio
from collections import deque
from dataclasses import dataclass, field

from benchmarks.fleet_simulation.cluster import Cluster, Plan
from benchmarks.fleet_simulation.traffic import DAY_SECONDS, PACE, Request
from gateway.errors import ApiError
from gateway.slots.line.standing import Standing
from gateway.slots.pool import WorkerPool
from gateway.slots.requirement import Requirement
from voxfleet.fleet.autoscaling.autoscaler import decide
from voxfleet.fleet.autoscaling.outlook import DECISION_SECONDS
from voxfleet.fleet.autoscaling.rules import Budget, Rules, WorkerKind
from voxfleet.fleet.autoscaling.window import ModelNow, Sample, Window

KIND = WorkerKind("worker", "synthetic", slots=2, audio_seconds_per_second=2 * PACE, loading_seconds=45.0)
MIDNIGHT = 1_800_000_000 // 86_400 * 86_400.0
MAX_QUEUE = 2000


def rules(most: int) -> Rules:
    """No floor and no schedule: the rise comes as a surprise, and midnight begins with no worker."""
    return Rules((KIND,), budget=Budget(most_workers=most))


@dataclass
class Heard:
    """What one listener got."""

    request: Request
    first_audio_at: float | None = None
    refused: str | None = None
    moves: int = 0


@dataclass
class Day:
    """What was noted of one simulated day."""

    heard: list[Heard] = field(default_factory=list)
    starts: list[tuple[float, int, str]] = field(default_factory=list)
    drains: list[tuple[float, str]] = field(default_factory=list)
    curve: list[tuple[float, int, int, int, float]] = field(default_factory=list)
    """Per half minute: time, workers, of these serving, requests waiting, slots in use."""
    worker_seconds: float = 0.0
    most_workers: int = 0
    slow_workers: int = 0
    failed_starts: int = 0


class Simulation:
    """One run; `live` it inside the virtual loop."""

    def __init__(self, requests: list[Request], rules: Rules, plan: Plan, seed: int, until: float) -> None:
        self._loop = asyncio.get_running_loop()
        self._requests, self._rules, self._plan, self._until = requests, rules, plan, until
        self.pool = WorkerPool(
            [],
            max_queue=MAX_QUEUE,
            no_worker_grace_seconds=2 * KIND.loading_seconds,
            clock=self._loop.time,
            call_later=self._loop.call_later,
        )
        self.cluster = Cluster(KIND, self.pool, plan, seed)
        self.day = Day()
        self._asked = _Asked()
        self._busy = self._making = 0.0
        self._used = self._made = 0.0
        self._counted_at = 0.0
        self._last_request_at = float("-inf")
        self._samples: deque[Sample] = deque(maxlen=int(rules.settle_seconds / DECISION_SECONDS) + 1)
        self._work: deque[tuple[float, float]] = deque(maxlen=self._samples.maxlen)
        self._tasks: set[asyncio.Task[None]] = set()

    async def live(self) -> Day:
        """To the end of the day."""
        self._loop.call_at(self._plan.zone_dies_at, self.cluster.zone_dies, "a")
        deciding = asyncio.create_task(self._decide_on())
        for request in self._requests:
            await asyncio.sleep(request.at - self._loop.time())
            task = asyncio.create_task(self._listen(request))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        await asyncio.sleep(self._until - self._loop.time())
        deciding.cancel()
        hosts = [*self.cluster.past, *self.cluster.hosts.values()]
        self.day.worker_seconds = sum(
            (self._until if host.ended_at is None else host.ended_at) - host.started_at for host in hosts
        )
        self.day.slow_workers = sum(host.speed < 1 for host in hosts)
        self.day.failed_starts = sum(host.bad for host in hosts)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        return self.day

    # ------------------------------------------------------------------------------------------ a listener

    async def _listen(self, request: Request) -> None:
        heard = Heard(request)
        self.day.heard.append(heard)
        self._asked.requests += 1
        self._asked.audio_seconds += request.asked_seconds
        self._last_request_at = request.at
        name = f"r{len(self.day.heard)}"
        standing = Standing(tenant=f"t{len(self.day.heard) % 50}", audio_seconds=request.asked_seconds)
        while True:
            try:
                await self._be_served(request, heard, name, standing)
            except ApiError as error:
                if error.code != "no_worker":  # its Retry-After is kept to: a cold model is being started
                    heard.refused = error.code
                    self._asked.refused += 1
                    return
                self._asked.refused += 1
                await asyncio.sleep(float(error.headers["Retry-After"]))
            else:
                return

    async def _be_served(self, request: Request, heard: Heard, name: str, standing: Standing) -> None:
        left = request.held_seconds
        with self.pool.admit(name, Requirement(), standing=standing) as ticket:
            while True:
                async with self.pool.lease(ticket) as lease:
                    host = self.cluster.hosts.get(lease.worker.id)
                    if host is None:
                        self.pool.requeue(ticket, exclude=lease.worker)
                        continue
                    if heard.first_audio_at is None and not host.bad:
                        self._hear(heard, host)
                    self._count(1, request)
                    how, left = await self.cluster.speak(host, request, left)
                    self._count(-1, request)
                    if how == "done":
                        ticket.audio_seconds = request.audio_seconds
                        return
                    heard.moves += 1
                    if how == "failed":
                        self.pool.reports.failed(lease.worker, "every request fails")
                    self.pool.requeue(ticket, exclude=lease.worker)

    def _hear(self, heard: Heard, host) -> None:
        """The first audio is on its way; nothing that happens later takes it back."""
        heard.first_audio_at = self._loop.time() + self.cluster.first_audio_seconds(host)
        late = heard.first_audio_at - heard.request.at > self._rules.objective.first_audio_seconds
        self._asked.first_audios += 1
        self._asked.late += late
        self.pool.reports.audio_came(host.worker)

    # -------------------------------------------------------------------------------------- the autoscaler

    async def _decide_on(self) -> None:
        step = 0
        while True:
            await asyncio.sleep(DECISION_SECONDS)
            decision = decide(self._rules, self._window())
            now = self._loop.time()
            if count := decision.started(KIND.name):
                self.day.starts.append((now, count, decision.starts[0].reason.saying))
                self.cluster.start(count)
            if decision.drain is not None:
                self.day.drains.append((now, decision.drain.reason.saying))
                self.cluster.drain_one()
            workers = len(self.cluster.hosts)
            self.day.most_workers = max(self.day.most_workers, workers)
            step += 1
            if step % 15 == 0:
                serving = sum(host.serving for host in self.cluster.hosts.values())
                self.day.curve.append((now, workers, serving, len(self.pool.queue), self._busy))

    def _window(self) -> Window:
        now = self._loop.time()
        self._count(0, None)
        queue = self.pool.queue
        oldest = min((ticket.enqueued_at for ticket in queue if not ticket.in_front), default=now)
        asked, self._asked = self._asked, _Asked()
        self._work.append((self._made, self._used))
        self._samples.append(
            Sample(
                MIDNIGHT + now,
                DECISION_SECONDS,
                asked.requests,
                asked.audio_seconds,
                self._used / DECISION_SECONDS,
                len(queue),
                now - oldest,
                asked.first_audios,
                asked.late,
                asked.refused,
            )
        )
        self._made = self._used = 0.0
        model = ModelNow(
            KIND.model,
            list(self._samples),
            MIDNIGHT + self._last_request_at,
            MIDNIGHT + self.cluster.last_served_at,
        )
        made, used = (sum(column) for column in zip(*self._work, strict=True))
        return Window(MIDNIGHT + now, (model,), (self.cluster.now(made, used),))

    def _count(self, change: int, request: Request | None) -> None:
        """Slots in use and audio made, up to now."""
        now = self._loop.time()
        self._used += self._busy * (now - self._counted_at)
        self._made += self._making * (now - self._counted_at)
        self._counted_at = now
        self._busy += change
        if request is not None:
            self._making += change * request.audio_seconds / request.held_seconds


@dataclass
class _Asked:
    requests: int = 0
    audio_seconds: float = 0.0
    first_audios: int = 0
    late: int = 0
    refused: int = 0


async def live(
    requests: list[Request], most: int, seed: int, plan: Plan | None = None, until: float = DAY_SECONDS
) -> Day:
    """One day, or its first `until` seconds."""
    return await Simulation(requests, rules(most), plan or Plan(), seed, until).live()
