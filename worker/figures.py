"""The figures of a worker as families of metrics, for telemetry: it has no /metrics of its own."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from telemetry import Telemetry
from telemetry.families import TelemetryCollector
from worker.lifecycle import Worker
from worker.protocol import WorkerState

_TOTALS = (
    ("requests", "Requests that were taken."),
    ("patches", "Patches of audio that were made."),
    ("audio_seconds", "Seconds of audio that were made."),
    ("tokens", "Tokens of text that were written."),
    ("errors", "Requests that failed."),
    ("cancelled", "Requests that were given up."),
    ("kv_device_positions", "Positions of admitted requests whose keys and values were on the device."),
    ("kv_host_positions", "Positions whose keys and values came back from the host."),
    ("kv_computed_positions", "Positions that had to be computed."),
    ("kv_stored_bytes", "Keys and values copied to the host."),
    ("kv_brought_bytes", "Keys and values copied back."),
    ("kv_dropped_blocks", "Blocks for which the host had no room."),
    ("kv_stall_seconds", "Time in which blocks on their way were waited for."),
)


def families(worker: Worker, telemetry: Telemetry) -> Iterator[Metric]:
    """The worker's metrics as they are now."""
    yield from TelemetryCollector(telemetry).collect()
    status = worker.status()
    for name, told in _TOTALS:
        total = getattr(status.counters, name)
        yield CounterMetricFamily(f"voxfleet_worker_process_{name}", told, value=total)
    yield GaugeMetricFamily("voxfleet_worker_process_slots", "Slots.", value=status.slots_total)
    used = status.slots_used
    yield GaugeMetricFamily("voxfleet_worker_process_slots_used", "Slots in use.", value=used)
    memory = status.memory_bytes
    yield GaugeMetricFamily("voxfleet_worker_process_memory_bytes", "Memory of the process.", value=memory)
    serving = status.state in (WorkerState.IDLE, WorkerState.BUSY)
    yield GaugeMetricFamily(
        "voxfleet_worker_process_serving", "1 when it takes requests.", value=float(serving)
    )
