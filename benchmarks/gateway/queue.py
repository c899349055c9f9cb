"""What decisions cost in themselves: ten thousand waiting, a thousand workers; here, without sockets."""

from __future__ import annotations

import contextlib
import random
import time
from typing import Any

from benchmarks.shared.speech_clients import percentile
from gateway.slots.capacity.worker import Worker
from gateway.slots.line.standing import Standing
from gateway.slots.pool import WorkerPool
from gateway.slots.requirement import Requirement
from models.speech import ModelInfo
from worker.engines.synthetic import INFO
from worker.protocol import ModelDescription, WorkerState, WorkerStatus

_SAMPLE = 1000
_SLOTS = 24


async def deep_queue(*, depth: int = 10_000, tenants: int = 20, slots: int = 60) -> dict[str, Any]:
    """Milliseconds of an enqueue and a dispatch at `depth` waiting, against the cost at a tenth of it."""
    workers = [Worker(f"w{n}", f"http://w{n}") for n in range(3)]
    pool = WorkerPool(workers, max_queue=2 * depth, no_worker_grace_seconds=10.0)
    for worker in workers:
        pool.reports.answered(worker, _idle(slots // 3))
    admissions: list[contextlib.ExitStack] = []
    seconds: list[float] = []
    for n in range(slots + depth):
        admission = contextlib.ExitStack()
        standing = Standing(f"tenant-{n % tenants}")
        began = time.perf_counter()
        admission.enter_context(pool.admit(f"r{n}", Requirement(), standing=standing))
        seconds.append(time.perf_counter() - began)
        admissions.append(admission)
    dispatches = []
    for admission in admissions[:slots]:
        began = time.perf_counter()
        admission.close()
        dispatches.append(time.perf_counter() - began)
    waiting = len(pool.queue)
    for admission in admissions[slots:]:
        admission.close()
    shallow = seconds[slots + depth // 10 - _SAMPLE : slots + depth // 10]
    deep = seconds[-_SAMPLE:]
    return {
        "depth": depth,
        "waiting": waiting,
        "enqueue_ms_p50": round(1000 * percentile(deep, 50), 4),
        "enqueue_ms_p99": round(1000 * percentile(deep, 99), 4),
        "dispatch_ms_p99": round(1000 * percentile(dispatches, 99), 4),
        "cost_ratio": round(percentile(deep, 50) / percentile(shallow, 50), 3),
        "left_over": len(pool.queue) + len(pool.tickets) + len(pool.tickets.streams),
    }


async def large_fleet(*, workers: int = 1000, streams: int = 20_000, waiting: int = 1000) -> dict[str, Any]:
    """Milliseconds of a decision with `streams` open, and with `waiting` more than there are slots.

    Decisions are: a request that comes, one that ends, a worker that says how it is. `cost_ratio` compares
    them with a fleet of a hundredth.
    """
    large = _decisions(workers, streams)
    full = _decisions(workers, workers * _SLOTS + waiting)
    small = _decisions(max(workers // 100, 1), max(streams // 100, 1))
    both = large + full
    return {
        "workers": workers,
        "streams": streams,
        "decision_ms_p50": round(1000 * percentile(both, 50), 4),
        "decision_ms_p99": round(1000 * percentile(both, 99), 4),
        "decision_ms_max": round(1000 * max(both), 4),
        "cost_ratio": round(percentile(large, 50) / percentile(small, 50), 3),
    }


def _decisions(workers: int, streams: int) -> list[float]:
    """Seconds of each, in a pool whose workers share their slots with other gateways."""
    pool = WorkerPool(
        [Worker(f"w{n}", f"http://w{n}") for n in range(workers)],
        max_queue=2 * streams,
        no_worker_grace_seconds=10.0,
    )
    for worker in pool.workers.values():
        pool.reports.answered(worker, _idle(_SLOTS))
        with pool.slots_change(worker):
            worker.sharing.opened(lambda message: None)

    def enter(number: int) -> contextlib.ExitStack:
        admission = contextlib.ExitStack()
        admission.enter_context(pool.admit(f"r{number}", Requirement(), standing=Standing(f"t{number % 50}")))
        return admission

    admissions = [enter(number) for number in range(streams)]
    choose, seconds = random.Random(1), []
    for number in range(_SAMPLE):
        place, worker = choose.randrange(streams), pool.workers[f"w{choose.randrange(workers)}"]
        said = _idle(_SLOTS)
        began = time.perf_counter()
        admissions[place].close()
        ended = time.perf_counter()
        admissions[place] = enter(number)
        entered = time.perf_counter()
        pool.reports.answered(worker, said)
        seconds += [ended - began, entered - ended, time.perf_counter() - entered]
    for admission in admissions:
        admission.close()
    return seconds


def _idle(slots: int) -> WorkerStatus:
    return WorkerStatus(
        worker_id="worker", boot_id="boot", state=WorkerState.IDLE, slots_total=slots, slots_used=0,
        model=_description(INFO), device="cpu", pid=1, step=0, uptime_seconds=1.0, memory_bytes=1,
    )  # fmt: skip


def _description(info: ModelInfo) -> ModelDescription:
    return ModelDescription.model_validate(info.to_dict())
