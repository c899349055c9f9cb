"""What traces, metrics and logs by OpenTelemetry cost a gateway: CPU seconds per second of audio.

Gateways with and without telemetry stand before the same workers, and serve as many streams each at the same
time, clip after clip: whatever else the machine does disturbs both alike. The cheapest of several rounds
counts; metrics go out once in each. Telemetry is as it comes in some rounds, and keeps every trace in others.
The receiver takes everything and keeps nothing.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from typing import Any

from benchmarks.fleet import Fleet, Process, free_port, until_ready
from benchmarks.speech_clients import PATCH_SECONDS, listen, text_of

EVERYTHING = {"trace_share": 1, "trace_most_per_second": 10_000}
WORKERS = 3
WARM_UP_SECONDS = 2.0
_TICK_SECONDS = 0.01
"""Of the clock that counts CPU time."""


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
    *, streams: int = 128, patches: int = 30, seconds: float = 30.0, rounds: int = 4, step_ms: float = 160.0
) -> dict[str, Any]:
    """How much more CPU time a gateway takes with telemetry than without, by seconds of audio."""
    costs: dict[str, list[list[float]]] = {"default": [], "everything": []}
    async with Receiver() as receiver:
        told = {"otlp_endpoint": receiver.url}
        slots = 2 * streams // WORKERS + 2
        fleet = Fleet(workers=WORKERS, slots=slots, step_ms=step_ms, worker_settings=told, log_level="info")
        async with fleet:
            urls = ",".join(worker.url for worker in fleet.workers)
            for mode, settings in (("default", told), ("everything", {**told, **EVERYTHING})):
                options = {**fleet.settings, **settings}
                gateway = Process("gateway", "--workers", urls, port=free_port(), **options)
                try:
                    await until_ready(gateway, fleet.workers)
                    both = (fleet.gateway, gateway)
                    costs[mode] = [await _costs(both, streams, patches, seconds) for _ in range(rounds)]
                finally:
                    gateway.kill()
    return {
        "streams": streams,
        "cost_share": _share(costs["default"]),
        "cost_share_of_everything": _share(costs["everything"]),
        "cpu_ms_per_audio_second": {
            mode: [[round(1000 * cost, 3) for cost in each] for each in zip(*found, strict=True)]
            for mode, found in costs.items()
        },
        "received_bytes": receiver.bytes,
    }


def _share(costs: list[list[float]]) -> float:
    """How much more telemetry costs, by the cheapest round of each: what disturbs a round only adds to it."""
    without, with_it = map(min, zip(*costs, strict=True))
    return round(with_it / without - 1, 4)


async def _costs(gateways: Sequence[Process], streams: int, patches: int, seconds: float) -> list[float]:
    """CPU seconds of each gateway per second of audio, while all streams of all of them run."""
    heard = dict.fromkeys((gateway.port for gateway in gateways), 0)

    async def listen_on(port: int, number: int) -> None:
        await asyncio.sleep(number / streams * WARM_UP_SECONDS)  # clips begin at all times, not at once
        for seed in itertools.count(number, streams):
            clip = await listen(port, {"text": text_of(patches), "seed": seed})
            if clip.last["type"] != "done":
                raise RuntimeError(f"a stream failed: {clip.last}")
            heard[port] += len(clip.arrivals)

    async with asyncio.TaskGroup() as group:
        listeners = [
            group.create_task(listen_on(port, number)) for number in range(streams) for port in heard
        ]
        await asyncio.sleep(WARM_UP_SECONDS + patches * PATCH_SECONDS)
        cpu_before, heard_before = [gateway.cpu_seconds() for gateway in gateways], dict(heard)
        await asyncio.sleep(seconds)
        cpu = [
            max(gateway.cpu_seconds() - before, _TICK_SECONDS)
            for gateway, before in zip(gateways, cpu_before, strict=True)
        ]
        chunks = [max(1, count - heard_before[port]) for port, count in heard.items()]
        for listener in listeners:
            listener.cancel()
    await asyncio.sleep(1.0)  # workers let go of what was cut
    return [spent / (count * PATCH_SECONDS) for spent, count in zip(cpu, chunks, strict=True)]
