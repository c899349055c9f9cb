"""What traces, metrics and logs by OpenTelemetry cost a gateway: CPU seconds per second of audio.

Three gateways stand before the same workers: one without telemetry, one with it as it comes, and one that
keeps every trace. Each in turn serves all streams for a while, clip after clip, in the other order each
round; the others rest meanwhile. The receiver takes everything and keeps nothing.
"""

from __future__ import annotations

import asyncio
from statistics import median
from typing import Any

from benchmarks.fleet import Fleet, Process, free_port, until_ready
from benchmarks.speech_clients import PATCH_SECONDS, listen, text_of

EVERYTHING = {"trace_share": 1, "trace_most_per_second": 10_000}
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
    *, streams: int = 128, patches: int = 30, seconds: float = 20.0, rounds: int = 4, step_ms: float = 160.0
) -> dict[str, Any]:
    """CPU milliseconds of the gateway per second of audio in each mode, and how much more than without."""
    workers = 3
    costs: dict[str, list[float]] = {"off": [], "on": [], "everything": []}
    async with Receiver() as receiver:
        shown = {"otlp_endpoint": receiver.url}
        fleet = Fleet(
            workers=workers, slots=streams // workers + 2, step_ms=step_ms, log_level="info",
            worker_settings=shown,
        )  # fmt: skip
        async with fleet:
            urls = ",".join(worker.url for worker in fleet.workers)
            others = {"on": shown, "everything": {**shown, **EVERYTHING}}
            gateways = {"off": fleet.gateway}
            try:
                for mode, settings in others.items():
                    options = {**fleet.settings, **settings}
                    gateways[mode] = Process("gateway", "--workers", urls, port=free_port(), **options)
                    await until_ready(gateways[mode], fleet.workers)
                for number in range(rounds):
                    order = list(gateways) if number % 2 == 0 else list(reversed(gateways))
                    for mode in order:
                        costs[mode].append(await _cost(gateways[mode], streams, patches, seconds))
            finally:
                for mode in others.keys() & gateways.keys():
                    gateways[mode].kill()
    ratios = {
        mode: [with_it / without for with_it, without in zip(costs[mode], costs["off"], strict=True)]
        for mode in others
    }
    return {
        "streams": streams,
        "cost_share": round(median(ratios["on"]) - 1, 4),
        "cost_share_of_everything": round(median(ratios["everything"]) - 1, 4),
        "cost_share_rounds": [round(ratio - 1, 4) for ratio in ratios["on"]],
        "cpu_ms_per_audio_second": {mode: round(1000 * median(found), 3) for mode, found in costs.items()},
        "received_bytes": receiver.bytes,
    }


async def _cost(gateway: Process, streams: int, patches: int, seconds: float) -> float:
    """CPU seconds of the gateway per second of audio, while all streams run."""
    heard = 0

    async def listen_on(number: int) -> None:
        nonlocal heard
        seed = number
        await asyncio.sleep(number / streams * WARM_UP_SECONDS)  # clips begin at all times, not at once
        while True:
            clip = await listen(gateway.port, {"text": text_of(patches), "seed": seed})
            if clip.last["type"] != "done":
                raise RuntimeError(f"a stream failed: {clip.last}")
            heard += len(clip.arrivals)
            seed += streams

    async with asyncio.TaskGroup() as group:
        listeners = [group.create_task(listen_on(number)) for number in range(streams)]
        await asyncio.sleep(WARM_UP_SECONDS + patches * PATCH_SECONDS)
        cpu_before, heard = gateway.cpu_seconds(), 0
        await asyncio.sleep(seconds)
        cpu, chunks = max(gateway.cpu_seconds() - cpu_before, _TICK_SECONDS), max(1, heard)
        for listener in listeners:
            listener.cancel()
    await asyncio.sleep(1.0)  # workers let go of what was cut
    return cpu / (chunks * PATCH_SECONDS)
