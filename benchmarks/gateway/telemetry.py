"""What traces, metrics and logs by OpenTelemetry cost a gateway: CPU seconds per second of audio.

Gateways with and without telemetry stand before the same workers, and serve as many streams each at the same
time, clip after clip: whatever else the machine does disturbs both alike. Telemetry is as it comes in some
rounds, and keeps every trace in others. The receiver takes everything and keeps nothing.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Sequence
from statistics import median
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
    *, streams: int = 128, patches: int = 30, seconds: float = 20.0, rounds: int = 5, step_ms: float = 160.0
) -> dict[str, Any]:
    """How much more CPU time a gateway takes with telemetry than without, by seconds of audio."""
    costs: dict[str, list[list[float]]] = {"default": [], "everything": []}
    async with Receiver() as receiver:
        told = {"otlp_endpoint": receiver.url}
        slots = 2 * streams // WORKERS + 2
        fleet = Fleet(workers=WORKERS, slots=slots, step_ms=step_ms, worker_settings=told, log_level="info")
        async with fleet:
            for mode, settings in (("default", told), ("everything", {**told, **EVERYTHING})):
                for _ in range(rounds):
                    costs[mode].append(await _round(fleet, settings, streams, patches, seconds))
    shares = {mode: [with_it / without - 1 for without, with_it in found] for mode, found in costs.items()}
    return {
        "streams": streams,
        "cost_share": _share(costs["default"]),
        "cost_share_of_everything": _share(costs["everything"]),
        "cost_share_rounds": {mode: [round(share, 4) for share in found] for mode, found in shares.items()},
        "cpu_ms_per_audio_second": {
            mode: [round(1000 * median(each), 3) for each in zip(*found, strict=True)]
            for mode, found in costs.items()
        },
        "received_bytes": receiver.bytes,
    }


def _share(costs: list[list[float]]) -> float:
    """How much more all rounds together cost with telemetry."""
    without, with_it = map(sum, zip(*costs, strict=True))
    return round(with_it / without - 1, 4)


async def _round(
    fleet: Fleet, settings: dict[str, Any], streams: int, patches: int, seconds: float
) -> list[float]:
    """CPU seconds per second of audio: of a new gateway without telemetry, of a new one with `settings`."""
    urls = ",".join(worker.url for worker in fleet.workers)
    gateways: list[Process] = []
    try:
        for more in ({}, settings):
            options = {**fleet.settings, **more}
            gateways.append(Process("gateway", "--workers", urls, port=free_port(), **options))
        for gateway in gateways:
            await until_ready(gateway, fleet.workers)
        return await _costs(gateways, streams, patches, seconds)
    finally:
        for gateway in gateways:
            gateway.kill()


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
