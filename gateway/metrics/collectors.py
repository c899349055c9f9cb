"""Metrics that are read when somebody asks for them: of disk, connections, pool, workers and their caches."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Sized
from typing import Protocol

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from gateway.files.disk import Disk
from gateway.slots.capacity.worker import Worker
from gateway.slots.pool import WorkerPool
from worker.protocol import WorkerState


class DiskCollector:
    """Free space where the data folder is, read when it is asked for; missing when there is no answer."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk

    def collect(self) -> Iterator[Metric]:
        reserve = self._disk.reserved_bytes
        yield GaugeMetricFamily("voxfleet_disk_reserve_bytes", "That recordings leave free.", value=reserve)
        try:
            free = self._disk.free_bytes
        except OSError:
            return
        yield GaugeMetricFamily("voxfleet_disk_free_bytes", "Free where data_dir is.", value=free)


class Connections(Sized, Protocol):
    """Those of clients that are open."""

    most: int
    """How many may be."""


class ConnectionCollector:
    """How many there are, and may be."""

    def __init__(self, connections: Connections) -> None:
        self._connections = connections

    def collect(self) -> Iterator[Metric]:
        there, most = len(self._connections), self._connections.most
        yield GaugeMetricFamily("voxfleet_connections", "Connections of clients.", value=there)
        yield GaugeMetricFamily("voxfleet_connections_limit", "Connections that may be open.", value=most)


class PoolCollector:
    """What the pool and its workers know, read when it is asked for: a worker that is forgotten has none."""

    def __init__(self, pool: WorkerPool) -> None:
        self._pool = pool

    def collect(self) -> Iterator[Metric]:
        workers = self._pool.workers.values()
        yield GaugeMetricFamily("voxfleet_queue_length", "Requests waiting.", value=len(self._pool.queue))
        yield GaugeMetricFamily("voxfleet_queue_limit", "Requests that may wait.", value=self._pool.max_queue)
        running = sum(len(worker.leases) for worker in workers)
        yield GaugeMetricFamily("voxfleet_running_requests", "Requests that hold a slot.", value=running)
        yield GaugeMetricFamily(
            "voxfleet_fleet_may_be_empty",
            "1 while a fleet without workers is as its fleet file, an operator or a setting wants it.",
            value=float(self._pool.may_be_empty()),
        )
        tasks = len(asyncio.all_tasks())
        yield GaugeMetricFamily("voxfleet_tasks", "Tasks of the event loop.", value=tasks)
        up = GaugeMetricFamily("voxfleet_worker_up", "1 when the worker may be routed to.", labels=["worker"])
        total = GaugeMetricFamily("voxfleet_worker_slots", "Slots of the worker.", labels=["worker"])
        used = GaugeMetricFamily("voxfleet_worker_slots_used", "Slots leased.", labels=["worker"])
        failures = CounterMetricFamily(
            "voxfleet_worker_failures", "Attempts that failed on a worker.", labels=["worker", "reason"]
        )
        flaws = CounterMetricFamily(
            "voxfleet_worker_flaws", "Parts of texts that went wrong on a worker.", labels=["worker", "flaw"]
        )
        lost = GaugeMetricFamily(
            "voxfleet_worker_engine_lost",
            "1 when the worker says that its engine does not work.",
            labels=["worker"],
        )
        for worker in workers:
            is_lost = worker.status is not None and worker.status.state is WorkerState.ERROR
            lost.add_metric([worker.id], float(is_lost))
            up.add_metric([worker.id], float(worker.serving))
            total.add_metric([worker.id], worker.slots_total)
            used.add_metric([worker.id], len(worker.leases))
            for reason, count in worker.figures.failures.items():
                failures.add_metric([worker.id, reason], count)
            for flaw, count in worker.figures.flaws.items():
                flaws.add_metric([worker.id, flaw], count)
        yield from (up, lost, total, used, failures, flaws)
        yield _builds_of(workers)
        yield from _caches_of(workers)
        yield from _demand_of(self._pool)


_MAX_BUILDS = 8


def _builds_of(workers: Iterable[Worker]) -> Metric:
    """How many workers run which build; those of the rarest ones together, where workers name too many."""
    metric = GaugeMetricFamily(
        "voxfleet_worker_builds", 'Workers that answer, by build; "" says none.', labels=["version"]
    )
    there = (worker.status for worker in workers if worker.status is not None and worker.state != "DOWN")
    counts = Counter(status.build for status in there).most_common()
    for version, count in counts[:_MAX_BUILDS]:
        metric.add_metric([version], count)
    if others := sum(count for _, count in counts[_MAX_BUILDS:]):
        metric.add_metric(["other"], others)
    return metric


_OF_CACHES = (
    ("kv_positions", "Positions of admitted requests, by where their keys and values were.", "tier",
     {"device": "kv_device_positions", "host": "kv_host_positions", "none": "kv_computed_positions"}),
    ("kv_bytes", "Keys and values copied to the host and back.", "direction",
     {"out": "kv_stored_bytes", "back": "kv_brought_bytes"}),
    ("kv_dropped_blocks", "Blocks for which the host had no room.", "", {"": "kv_dropped_blocks"}),
    ("kv_stall_seconds", "Time in which an engine waited for blocks and had nothing else to do.", "",
     {"": "kv_stall_seconds"}),
)  # fmt: skip
"""Name, help, label, and the counter of a worker's status for each value of the label."""


def _caches_of(workers: Iterable[Worker]) -> Iterator[Metric]:
    """What workers say of their KV caches."""
    counters = {worker.id: worker.status.counters for worker in workers if worker.status is not None}
    for name, help, label, fields in _OF_CACHES:
        labels = ["worker", *([label] if label else [])]
        metric = CounterMetricFamily(f"voxfleet_worker_{name}", help, labels=labels)
        for worker_id, told in counters.items():
            for value, field in fields.items():
                metric.add_metric([worker_id, *([value] if label else [])], getattr(told, field))
        yield metric


_OF_MODELS = (
    ("requests", "Requests that were let in."),
    ("audio_seconds_asked", "Seconds of audio that requests asked for, as estimated; tokens as if spoken."),
    ("first_audios", "First audios, and first tokens, that somebody waited for."),
    ("late", "First audios, and first tokens, that came later than the objective."),
    ("refused", "Requests refused for lack of capacity."),
    ("underruns", "Times that a player had nothing to play."),
)


def _demand_of(pool: WorkerPool) -> Iterator[Metric]:
    """Totals per model that was asked for; "" stands for any."""
    for name, help in _OF_MODELS:
        metric = CounterMetricFamily(f"voxfleet_model_{name}", help, labels=["model"])
        for model, demand in pool.demand.models.items():
            metric.add_metric([model], getattr(demand, name))
        yield metric
