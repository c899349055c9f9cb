"""What must not stay behind: slots of clients that left, memory of those that wait, anything after a soak."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import random
from typing import Any

from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosed

from benchmarks.shared.fleet import Fleet
from benchmarks.shared.http_client import HOST, exchange, get, post_tts
from benchmarks.shared.speech_clients import gateway_socket, percentile, text_of

_POLL_SECONDS = 0.004


async def leaving(*, clients: int = 120, step_ms: float = 40.0, seed: int = 1) -> dict[str, Any]:
    """Milliseconds from a cut connection until its ticket is gone or its slot free, queued and streaming."""
    draw = random.Random(seed)
    seconds: dict[str, list[float]] = {"queued": [], "streaming": []}
    async with Fleet(workers=1, slots=1, step_ms=step_ms) as fleet:
        for _ in range(clients):
            async with gateway_socket(fleet.gateway.port) as running:
                await _ask(running, "started")
                async with gateway_socket(fleet.gateway.port) as waiting:
                    await _ask(waiting, "queued")
                    await asyncio.sleep(draw.uniform(0, 0.1))
                    seconds["queued"].append(await _until_gone(fleet, waiting, "queue"))
                seconds["streaming"].append(await _until_gone(fleet, running, "running"))
        held = await fleet.until_idle()
    result = {
        f"{kind}_ms_p{p}": round(1000 * percentile(values, p), 1)
        for kind, values in seconds.items()
        for p in (50, 99)
    }
    return result | {"clients": 2 * clients, "held_after": held}


async def _ask(socket: ClientConnection, until: str) -> None:
    await socket.send(json.dumps({"text": text_of(300)}))
    while True:
        message = await socket.recv()
        if isinstance(message, str) and json.loads(message)["type"] == until:
            return


async def _until_gone(fleet: Fleet, socket: ClientConnection, where: str) -> float:
    """Cut the connection and look until the gateway lists nothing `where`."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    socket.transport.abort()
    while True:
        _, queue = await get(fleet.gateway.port, "/api/queue")
        if not queue[where]:
            return loop.time() - began
        await asyncio.sleep(_POLL_SECONDS)


async def memory(*, connections: int = 1000) -> dict[str, Any]:
    """Kibibytes of gateway memory per connection that waits in the queue."""
    result: dict[str, Any] = {"connections": connections}
    for kind in ("websocket", "http"):
        async with Fleet(workers=1, slots=1, step_ms=2000.0, max_queue=1000 + connections) as fleet:
            async with contextlib.AsyncExitStack() as opened:
                await _open(fleet, kind, 100, opened)
                before = fleet.gateway.memory_bytes()
                await _open(fleet, kind, connections, opened)
                used = fleet.gateway.memory_bytes() - before
                result[f"{kind}_kib"] = round(used / connections / 1024, 1)
                result[f"{kind}_waiting"] = (await fleet.held())["waiting"]
            result[f"{kind}_held_after"] = await fleet.until_idle()
    return result


async def _open(fleet: Fleet, kind: str, count: int, opened: contextlib.AsyncExitStack) -> None:
    request = {"text": text_of(50)}
    for _ in range(count):
        if kind == "websocket":
            socket = await opened.enter_async_context(gateway_socket(fleet.gateway.port))
            await socket.send(json.dumps(request))
        else:
            reader, writer = await asyncio.open_connection(HOST, fleet.gateway.port)
            opened.callback(_cut, reader, writer)
            writer.write(post_tts(request))
    await asyncio.sleep(2.0)


def _cut(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """The reader is named so that it lives until then: with it would go the connection."""
    reader.feed_eof()
    writer.transport.abort()


async def soak(
    *, streams: int = 50_000, concurrency: int = 48, abort_share: float = 0.25,
    restart_every_seconds: float = 10.0, seed: int = 1,
) -> dict[str, Any]:  # fmt: skip
    """Many short clips over both APIs, a quarter of them cut, workers killed on the way: what is left.

    Memory grows until rings and caches of fixed size are full; the slope is that of the last two thirds.
    """
    draw = random.Random(seed)
    raw = post_tts({"text": text_of(3), "format": "pcm", "seed": seed})
    counts = {"completed": 0, "cut": 0, "refused": 0}
    samples: list[tuple[int, int]] = []
    left = streams

    async def one(fleet: Fleet, over_http: bool, cut_after_seconds: float | None) -> None:
        try:
            async with asyncio.timeout(cut_after_seconds):
                ended = await (_post(fleet, raw) if over_http else _stream(fleet))
            counts["completed" if ended else "refused"] += 1
        except TimeoutError:
            counts["cut"] += 1
        except (OSError, ConnectionClosed, asyncio.IncompleteReadError):
            counts["refused"] += 1

    async def client(fleet: Fleet) -> None:
        nonlocal left
        while left > 0:
            left -= 1
            cut = draw.uniform(0.0, 0.08) if draw.random() < abort_share else None
            await one(fleet, over_http=draw.random() < 0.7, cut_after_seconds=cut)
            done = sum(counts.values())
            if done % max(1, streams // 60) == 0:
                samples.append((done, fleet.gateway.memory_bytes()))

    async with Fleet(workers=3, slots=8, step_ms=5.0, max_queue=100) as fleet:
        warm_up = [one(fleet, over_http=n % 2 == 0, cut_after_seconds=None) for n in range(concurrency)]
        await asyncio.gather(*warm_up)
        counts.update(dict.fromkeys(counts, 0))
        before = await fleet.until_idle()
        enough = asyncio.Event()
        killer = asyncio.create_task(restart_workers(fleet, restart_every_seconds, enough))
        await asyncio.gather(*(client(fleet) for _ in range(concurrency)))
        enough.set()
        await killer
        await fleet.until_serving()
        await asyncio.sleep(6.0)  # longer than uvicorn keeps idle connections
        after = await fleet.until_idle()
    return counts | {
        "streams": streams,
        "memory_slope_bytes_per_request": round(_slope(samples[len(samples) // 3 :]), 1),
        "memory_mib": [round(size / 2**20, 1) for _, size in (samples[0], samples[-1])],
        "held_before": before,
        "held_after": after,
    }


async def _post(fleet: Fleet, raw: bytes) -> bool:
    return (await exchange(fleet.gateway.port, raw)).status == 200


async def _stream(fleet: Fleet) -> bool:
    async with gateway_socket(fleet.gateway.port) as socket:
        await socket.send(json.dumps({"text": text_of(3)}))
        while True:
            message = await socket.recv()
            if isinstance(message, str) and (kind := json.loads(message)["type"]) in ("done", "error"):
                return kind == "done"


async def restart_workers(fleet: Fleet, every_seconds: float, enough: asyncio.Event) -> None:
    """Kill one worker after the other, each replaced at once, until it is enough: then none is missing."""
    for index in itertools.cycle(range(len(fleet.workers))):
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(enough.wait(), every_seconds)
            return
        await asyncio.to_thread(fleet.restart_worker, index)


def _slope(samples: list[tuple[int, int]]) -> float:
    """Bytes per request of the straight line through the samples."""
    count = len(samples)
    mean_x, mean_y = (sum(values) / count for values in zip(*samples, strict=True))
    spread = sum((x - mean_x) ** 2 for x, _ in samples)
    return sum((x - mean_x) * (y - mean_y) for x, y in samples) / spread if spread else 0.0
