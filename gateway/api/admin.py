"""The admin API: workers with drain and resume, the queue with cancel."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Depends

from gateway.errors import ApiError
from gateway.overview import describe_queue, describe_workers
from gateway.security import require_admin
from gateway.service import GatewayDep

router = APIRouter(prefix="/api", dependencies=[Depends(require_admin)])


@router.get("/workers")
async def get_workers(gateway: GatewayDep) -> dict[str, Any]:
    """Every worker with state, slots and what it says of itself."""
    return describe_workers(gateway.pool)


@router.post("/workers/{id}/drain")
async def drain_worker(id: str, gateway: GatewayDep) -> dict[str, Any]:
    """Let a worker finish what it has and give it nothing new."""
    return (await gateway.set_draining(id, True)).describe()


@router.post("/workers/{id}/resume")
async def resume_worker(id: str, gateway: GatewayDep) -> dict[str, Any]:
    """Take a drained worker back."""
    return (await gateway.set_draining(id, False)).describe()


@router.get("/queue")
async def get_queue(gateway: GatewayDep) -> dict[str, Any]:
    """Who waits, with position and estimate, and who runs."""
    return describe_queue(gateway.pool)


@router.delete("/queue/{ticket}")
async def cancel_ticket(ticket: str, gateway: GatewayDep) -> dict[str, Any]:
    """End a waiting or running request."""
    reason = ApiError(409, "cancelled", "the request was cancelled by an administrator")
    if not gateway.pool.end(ticket, reason):
        raise ApiError(404, "unknown_ticket", f"there is no ticket {ticket!r}", param="ticket")
    return {"ticket_id": ticket, "cancelled": True}
