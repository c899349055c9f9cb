"""The admin API: workers with drain and resume, the queue with cancel."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, ConfigDict, Field, model_validator

from gateway.api.permissions import check_ticket, require_admin, who_administers
from gateway.bounds import few_fields
from gateway.errors import ApiError
from gateway.operations.overview import MAX_LISTED, describe_queue, describe_ticket, describe_workers
from gateway.service import GatewayDep

router = APIRouter(prefix="/api", dependencies=[Depends(require_admin)])
tickets = APIRouter(prefix="/api")


@router.get("/workers")
async def get_workers(gateway: GatewayDep) -> dict[str, Any]:
    """Every worker with state, slots and what it says of itself."""
    return describe_workers(gateway.pool, gateway.operations.history.builds.describe())


@router.post("/workers/{id}/drain")
async def drain_worker(
    id: str, request: Request, gateway: GatewayDep, streams: Literal["finish", "move"] = "finish"
) -> dict[str, Any]:
    """Give a worker nothing new. It finishes what it has, or that moves to others as they have room."""
    worker = await gateway.set_draining(id, True, move_streams=streams == "move")
    gateway.operations.log.say("admin", id, "drain", who=who_administers(request, gateway))
    return worker.describe()


@router.post("/workers/{id}/resume")
async def resume_worker(id: str, request: Request, gateway: GatewayDep) -> dict[str, Any]:
    """Take a drained worker back."""
    worker = await gateway.set_draining(id, False)
    gateway.operations.log.say("admin", id, "resume", who=who_administers(request, gateway))
    return worker.describe()


@router.get("/queue")
async def get_queue(gateway: GatewayDep) -> dict[str, Any]:
    """Who waits, with position and estimate, and who runs."""
    return describe_queue(gateway.pool)


class Tickets(BaseModel):
    """Requests that wait or run."""

    model_config = ConfigDict(extra="forbid")

    _few_fields = model_validator(mode="before")(few_fields)

    tickets: Annotated[list[Annotated[str, Field(max_length=64)]], Field(min_length=1, max_length=MAX_LISTED)]


@router.post("/queue/cancel")
async def cancel_tickets(chosen: Tickets, request: Request, gateway: GatewayDep) -> dict[str, Any]:
    """End several requests, waiting or running; those that have ended meanwhile are passed over."""
    reason = ApiError(409, "cancelled", "the request was cancelled by an administrator")
    ended = [ticket for ticket in dict.fromkeys(chosen.tickets) if gateway.pool.end(ticket, reason)]
    if ended:
        who = who_administers(request, gateway)
        gateway.operations.log.say("admin", "", "cancel_several", count=len(ended), who=who)
    return {"cancelled": ended}


@tickets.get("/queue/{ticket}")
async def get_ticket(ticket: str, request: Request, gateway: GatewayDep) -> dict[str, Any]:
    """How one request stands: one's own, or as an administrator anybody's."""
    found, _ = check_ticket(request, gateway, ticket)
    return describe_ticket(gateway.pool, found)


@tickets.delete("/queue/{ticket}")
async def cancel_ticket(ticket: str, request: Request, gateway: GatewayDep) -> dict[str, Any]:
    """End a waiting or running request: one's own, or as an administrator anybody's."""
    _, admin = check_ticket(request, gateway, ticket)
    by = "an administrator" if admin else "its client"
    gateway.pool.end(ticket, ApiError(409, "cancelled", f"the request was cancelled by {by}"))
    if admin:
        gateway.operations.log.say("admin", ticket, "cancel", who=who_administers(request, gateway))
    return {"ticket_id": ticket, "cancelled": True}
