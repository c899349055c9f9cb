"""What workers say of their KV caches stands in /metrics."""

from __future__ import annotations

from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from gateway.metrics import Metrics
from tests.gateway.stages.fleet import Fleet, status
from worker.protocol import Counters


async def test_figures_of_caches_are_told_by_worker() -> None:
    fleet = Fleet(1, 1, 0)
    counters = Counters(
        kv_device_positions=5, kv_host_positions=7, kv_computed_positions=11, kv_stored_bytes=13,
        kv_brought_bytes=17, kv_dropped_blocks=19, kv_stall_seconds=0.5,
    )  # fmt: skip
    fleet.pool.reports.answered(fleet.workers[0], status().model_copy(update={"counters": counters}))
    families = text_string_to_metric_families(generate_latest(Metrics(fleet.pool).registry).decode())
    found = {
        (sample.name, *sample.labels.values()): sample.value
        for family in families
        for sample in family.samples
        if "_kv_" in sample.name and "w2" not in sample.labels.values()
    }
    told = {
        ("voxfleet_worker_kv_positions_total", "device"): 5,
        ("voxfleet_worker_kv_positions_total", "host"): 7,
        ("voxfleet_worker_kv_positions_total", "none"): 11,
        ("voxfleet_worker_kv_bytes_total", "out"): 13,
        ("voxfleet_worker_kv_bytes_total", "back"): 17,
        ("voxfleet_worker_kv_dropped_blocks_total",): 19,
        ("voxfleet_worker_kv_stall_seconds_total",): 0.5,
    }
    of_workers = {}
    for (name, *labels), value in told.items():
        of_workers |= {frozenset([name, *labels, "w0"]): value, frozenset([name, *labels, "w1"]): 0}
    assert {frozenset(key): value for key, value in found.items()} == of_workers
