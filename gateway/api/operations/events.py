"""`GET /api/events`: the admin page's live view, as server-sent events.

Event "workers" carries what `GET /api/workers` answers, "queue" what `GET /api/queue` does, "fleet" what `GET
/api/fleet` does; on every change, bundled over a fifth of a second, and once a second anyway. Event "log"
brings new lines of the event log, at first the newest of this gateway.
"""

from __future__ import annotations

import asyncio
import json
from collections import deque
from collections.abc import AsyncIterator
from typing import Any

from fastapi import APIRouter, Depends
from starlette.responses import StreamingResponse

from gateway.api.permissions import require_admin
from gateway.operations.event_log import RING_LINES, Line
from gateway.operations.overview import describe_queue, describe_workers
from gateway.service import Gateway, GatewayDep

router = APIRouter(dependencies=[Depends(require_admin)])

_BUNDLE_SECONDS = 0.2
_LONGEST_PAUSE_SECONDS = 1.0
_FIRST_LINES = 50


@router.get("/api/events", response_class=StreamingResponse)
async def events(gateway: GatewayDep) -> StreamingResponse:
    """Workers and queue, pushed for as long as the client listens."""
    return StreamingResponse(
        _events(gateway), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"}
    )


async def _events(gateway: Gateway) -> AsyncIterator[str]:
    changed = asyncio.Event()
    log = gateway.operations.log
    lines = deque(log.recent()[-_FIRST_LINES:], maxlen=RING_LINES)

    def hear(line: Line) -> None:
        lines.append(line)
        changed.set()

    gateway.pool.on_change.append(changed.set)
    log.on_line.append(hear)
    try:
        while not gateway.closing:
            changed.clear()
            if lines:
                yield _event("log", {"events": [line.describe() for line in lines]})
                lines.clear()
            yield _event("fleet", gateway.operations.fleet.describe()) + _both(gateway)
            await asyncio.sleep(_BUNDLE_SECONDS)
            try:
                async with asyncio.timeout(_LONGEST_PAUSE_SECONDS - _BUNDLE_SECONDS):
                    await changed.wait()
            except TimeoutError:
                continue
    finally:
        gateway.pool.on_change.remove(changed.set)
        log.on_line.remove(hear)


def _both(gateway: Gateway) -> str:
    workers = describe_workers(gateway.pool, gateway.operations.history.builds.describe())
    return _event("workers", workers) + _event("queue", describe_queue(gateway.pool))


def _event(name: str, data: dict[str, Any]) -> str:
    return f"event: {name}\ndata: {json.dumps(data, separators=(',', ':'))}\n\n"
