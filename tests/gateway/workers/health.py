"""Waiting for what a gateway thinks of the health of a worker."""

from __future__ import annotations

import asyncio

from gateway.service import Gateway
from gateway.slots.capacity.worker import Health, Worker


async def until_health(worker: Worker, gateway: Gateway, health: Health) -> None:
    changed = asyncio.Event()
    gateway.pool.on_change.append(changed.set)
    async with asyncio.timeout(60):
        while worker.health is not health:
            changed.clear()
            await changed.wait()
    gateway.pool.on_change.remove(changed.set)
