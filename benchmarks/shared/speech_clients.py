"""Listeners for load tests: over the gateway's WebSocket, and at a worker directly.

Both yield the time at which each chunk arrived, so that what the gateway adds can be told from what the
worker and the machine take.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from websockets.asyncio.client import ClientConnection, connect

from worker.protocol import GENERATE_PATH, FrameKind, StartRequest, decode_frame

CHARACTERS_PER_SECOND = 15
"""Of the synthetic model."""
PATCH_SECONDS = 0.16
_OPTIONS: dict[str, Any] = {
    "proxy": None,
    "compression": None,
    "ping_interval": None,
    "max_size": None,
    "open_timeout": 60.0,
}


def text_of(patches: int) -> str:
    """A text that takes the synthetic model so many patches."""
    characters = math.floor(patches * PATCH_SECONDS * CHARACTERS_PER_SECOND)
    return ("All that is said here is said again. " * (1 + characters // 37))[: characters - 1] + "."


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value that so many percent do not exceed; nan without values."""
    ordered = sorted(values)
    if not ordered:
        return math.nan
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


@asynccontextmanager
async def gateway_socket(port: int, headers: dict[str, str] | None = None) -> AsyncIterator[ClientConnection]:
    """A WebSocket to the gateway; cut at the end, not closed politely."""
    socket = await connect(f"ws://127.0.0.1:{port}/ws/tts", additional_headers=headers, **_OPTIONS)
    try:
        yield socket
    finally:
        socket.transport.abort()


class Heard(NamedTuple):
    """One clip through the gateway."""

    arrivals: list[float]
    """Of its chunks, in seconds of perf_counter."""
    worker_id: str
    last: dict[str, Any]
    """The last message."""


async def listen(port: int, request: dict[str, Any]) -> Heard:
    """Ask the gateway for one clip and take all of it."""
    arrivals: list[float] = []
    worker_id = ""
    async with gateway_socket(port) as socket:
        await socket.send(json.dumps(request))
        while True:
            message = await socket.recv()
            if isinstance(message, bytes):
                arrivals.append(time.perf_counter())
                continue
            said = json.loads(message)
            if said["type"] == "started":
                worker_id = said["worker_id"]
            if said["type"] in ("done", "error", "cancelled"):
                return Heard(arrivals, worker_id, said)


async def listen_directly(port: int, name: str, text: str, seed: int) -> list[tuple[int, float]]:
    """One clip at a worker: (engine step, arrival) of each chunk."""
    start = StartRequest(request_id=name, attempt=1, text=text, seed=seed)
    arrivals: list[tuple[int, float]] = []
    socket = await connect(f"ws://127.0.0.1:{port}{GENERATE_PATH}", **_OPTIONS)
    try:
        await socket.send(start.model_dump_json(exclude_none=True))
        while True:
            message = await socket.recv()
            if isinstance(message, str):
                if json.loads(message)["type"] == "error":
                    raise RuntimeError(f"the worker refused: {message}")
                continue
            now = time.perf_counter()
            frame = decode_frame(message)
            if frame.kind is FrameKind.AUDIO:
                arrivals.append((frame.step, now))
            if frame.last:
                return arrivals
    finally:
        socket.transport.abort()
