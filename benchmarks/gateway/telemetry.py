"""What traces, metrics and logs by OpenTelemetry cost a gateway: CPU seconds per second of audio.

One gateway serves as many streams all the time, clip after clip, and its telemetry is turned off and on
again between rounds (`toggled.py`). So both have the same process, memory and machine: two gateways side by
side differ by up to a tenth without any telemetry. Each round with telemetry is compared with those before
and after it, and metrics go out once in each. Telemetry is as it comes in one gateway, and keeps every trace
in the other. The receiver takes everything and keeps nothing.
"""

from __future__ import annotations

import asyncio
import itertools
import math
import os
import signal
import statistics
from pathlib import Path
from typing import Any

from benchmarks.fleet import Fleet, Process, free_port, until_ready
from benchmarks.speech_clients import PATCH_SECONDS, listen, text_of

EVERYTHING = {"trace_share": 1, "trace_most_per_second": 10_000}
WORKERS = 3
WARM_UP_SECONDS = 2.0
TOGGLED = "benchmarks.gateway.toggled"


class Receiver:
    """A server that answers every request with 200, at once."""

    def __init__(self) -> None:
        self.bytes = 0
        self._server: asyncio.Server

    async def __aenter__(self) -> Receiver:
        self._server = await asyncio.start_server(self._take, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while head := (await reader.readuntil(b"\r\n\r\n")).lower():
                length = int(head.split(b"content-length:")[1].split(b"\r\n")[0])
                self.bytes += len(await reader.readexactly(length))
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            writer.close()


async def telemetry_cost(
    *, streams: int = 128, patches: int = 30, seconds: float = 25.0, rounds: int = 6, step_ms: float = 160.0
) -> dict[str, Any]:
    """How much more CPU time a gateway takes with telemetry than without, by seconds of audio.

    A share is the mean over `rounds` rounds with telemetry, each against the mean of its neighbours without;
    beside it stands its standard error, 0 for one round. Rounds last `seconds`, and before that as long as a
    clip takes.
    """
    costs: dict[str, list[float]] = {}
    async with Receiver() as receiver:
        told = {"otlp_endpoint": receiver.url, "otlp_metrics_seconds": max(1, round(seconds))}
        slots = streams // WORKERS + 2
        fleet = Fleet(workers=WORKERS, slots=slots, step_ms=step_ms, worker_settings=told, log_level="info")
        async with fleet:
            urls = ",".join(worker.url for worker in fleet.workers)
            for mode, settings in (("default", told), ("everything", {**told, **EVERYTHING})):
                options = {**fleet.settings, **settings}
                gateway = Process("gateway", "--workers", urls, port=free_port(), program=TOGGLED, **options)
                try:
                    await until_ready(gateway, fleet.workers)
                    costs[mode] = await _costs(gateway, streams, patches, seconds, 2 * rounds + 1)
                finally:
                    gateway.kill()
    found = {mode: _shares(each) for mode, each in costs.items()}
    return {
        "streams": streams,
        "cost_share": round(statistics.fmean(found["default"]), 4),
        "cost_share_error": _error(found["default"]),
        "cost_share_of_everything": round(statistics.fmean(found["everything"]), 4),
        "cost_share_of_everything_error": _error(found["everything"]),
        "cpu_ms_per_audio_second": {
            mode: [round(1000 * cost, 3) for cost in each] for mode, each in costs.items()
        },
        "received_bytes": receiver.bytes,
    }


def _shares(costs: list[float]) -> list[float]:
    """What each round with telemetry costs more than its neighbours without (off, on, off, ...)."""
    return [2 * costs[i] / (costs[i - 1] + costs[i + 1]) - 1 for i in range(1, len(costs) - 1, 2)]


def _error(shares: list[float]) -> float:
    """Standard error of their mean; neighbours share a round, which makes it a little small."""
    return round(statistics.stdev(shares) / math.sqrt(len(shares)), 4) if len(shares) > 1 else 0.0


def _cpu_seconds(process: Process) -> float:
    """CPU time of all threads so far, to the nanosecond, of which ended threads have none."""
    tasks = Path(f"/proc/{process.pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


async def _costs(gateway: Process, streams: int, patches: int, seconds: float, rounds: int) -> list[float]:
    """CPU seconds of the gateway per second of audio, round for round; telemetry is off in the first."""
    heard = 0

    async def listen_on(number: int) -> None:
        nonlocal heard
        await asyncio.sleep(number / streams * WARM_UP_SECONDS)  # clips begin at all times, not at once
        for seed in itertools.count(number, streams):
            clip = await listen(gateway.port, {"text": text_of(patches), "seed": seed})
            if clip.last["type"] != "done":
                raise RuntimeError(f"a stream failed: {clip.last}")
            heard += len(clip.arrivals)

    costs = []
    async with asyncio.TaskGroup() as group:
        listeners = [group.create_task(listen_on(number)) for number in range(streams)]
        await asyncio.sleep(WARM_UP_SECONDS)
        for _ in range(rounds):
            os.kill(gateway.pid, signal.SIGUSR2)
            await asyncio.sleep(patches * PATCH_SECONDS)  # until clips that began before have ended
            cpu, before = _cpu_seconds(gateway), heard
            await asyncio.sleep(seconds)
            costs.append((_cpu_seconds(gateway) - cpu) / (max(1, heard - before) * PATCH_SECONDS))
        for listener in listeners:
            listener.cancel()
    await asyncio.sleep(1.0)  # workers let go of what was cut
    return costs
