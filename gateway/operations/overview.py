"""The pool as JSON, for the admin API and its live events."""

from __future__ import annotations

from typing import Any

from gateway.slots.line.tickets import Ticket
from gateway.slots.pool import WorkerPool
from telemetry.build import build

MAX_LISTED = 1000
"""Waiting tickets that are listed; `length` counts all."""


def describe_workers(pool: WorkerPool, gateways: list[dict[str, Any]]) -> dict[str, Any]:
    """`GET /api/workers`; `build` is the gateway's own, `gateways` counts them, see `GatewayBuilds`."""
    lanes = [(requirement, len(pool.queue.lane(requirement))) for requirement in pool.queue.requirements]
    workers = []
    for worker in pool.workers.values():
        waiting = sum(length for requirement, length in lanes if worker.offers(requirement))
        workers.append(worker.describe() | {"queue_length": waiting})
    return {"build": build(), "gateways": gateways, "workers": workers}


def describe_ticket(pool: WorkerPool, ticket: Ticket) -> dict[str, Any]:
    """`GET /api/queue/{ticket}`: one request as its client is told of it."""
    position = max(ticket.position, 1) if ticket.waiting else None  # 0 for one that had a slot at once
    wait_seconds = None if position is None else pool.estimate_wait(ticket.requirement, position)
    state = "queued" if ticket.waiting else "resting" if ticket.lease is None else "running"
    return {
        "ticket_id": ticket.id,
        "request_id": ticket.request_id,
        "state": state,
        "position": position,
        "eta_seconds": None if wait_seconds is None else round(wait_seconds, 3),
    }


def describe_queue(pool: WorkerPool) -> dict[str, Any]:
    """`GET /api/queue`: waiting tickets by position, running ones by worker."""
    now = pool.now()
    queue = []
    for position, ticket in zip(range(1, MAX_LISTED + 1), pool.queue, strict=False):
        wait_seconds = pool.estimate_wait(ticket.requirement, position)
        queue.append(
            {
                "ticket_id": ticket.id,
                "request_id": ticket.request_id,
                "tenant": ticket.standing.tenant,
                "priority": ticket.standing.priority,
                **ticket.about.describe(),
                "position": position,
                "eta_seconds": None if wait_seconds is None else round(wait_seconds, 3),
                "waited_seconds": round(now - ticket.enqueued_at, 3),
            }
        )
    running = [
        {
            "ticket_id": lease.ticket.id,
            "request_id": lease.ticket.request_id,
            "tenant": lease.ticket.standing.tenant,
            "priority": lease.ticket.standing.priority,
            **lease.ticket.about.describe(),
            "worker_id": worker.id,
            "attempt": lease.epoch,
            "mode": lease.ticket.mode,
            "running_seconds": round(now - lease.granted_at, 3),
        }
        for worker in pool.workers.values()
        for lease in worker.leases.values()
    ]
    return {"queue": queue, "running": running, "length": len(pool.queue), "max_queue": pool.max_queue}
