"""What operators switch and read: pages, estimates of waits, the event log, restarts of workers."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Query, Request

from gateway.api.permissions import require_admin, who_administers
from gateway.operations.measurements.history import Range
from gateway.operations.pages import PageStates
from gateway.operations.restart import restart_worker
from gateway.service import GatewayDep

public = APIRouter(prefix="/api")
router = APIRouter(prefix="/api", dependencies=[Depends(require_admin)])


@public.get("/pages")
async def get_pages(gateway: GatewayDep) -> dict[str, Any]:
    """Every page, and whether it is on."""
    return gateway.operations.pages.describe()


@router.put("/pages")
async def put_pages(states: PageStates, request: Request, gateway: GatewayDep) -> dict[str, Any]:
    """Switch the pages that are named. What runs goes on."""
    await gateway.operations.set_pages(states.pages, who_administers(request, gateway))
    return gateway.operations.pages.describe()


@router.get("/settings/eta")
async def get_eta(gateway: GatewayDep) -> dict[str, Any]:
    """What waits are estimated with, and the bounds of each value."""
    return gateway.operations.eta.describe()


@router.put("/settings/eta")
async def put_eta(
    fields: Annotated[dict[str, Any], Body()], request: Request, gateway: GatewayDep
) -> dict[str, Any]:
    """Change the values that are given; the others stay."""
    await gateway.operations.set_eta(fields, who_administers(request, gateway))
    return gateway.operations.eta.describe()


@router.get("/log")
async def get_log(
    gateway: GatewayDep,
    limit: Annotated[int, Query(ge=1, le=500)] = 100,
    before: Annotated[int | None, Query(ge=0, le=2**31 - 1)] = None,
    kind: Annotated[str | None, Query(pattern=r"^[a-z_]{1,32}$")] = None,
) -> dict[str, Any]:
    """The newest events, or those before number `before`; `next_before` asks for the ones before these."""
    lines = await gateway.operations.log.read(limit, before, kind)
    more = len(lines) == limit
    return {
        "events": [line.describe() for line in lines],
        "next_before": lines[-1].id if more else None,
    }


@router.get("/history")
async def get_history(gateway: GatewayDep, range: Range = "1h") -> dict[str, Any]:
    """Load, first audio, speech and failures of all gateways over a time, in spans of `span_seconds`."""
    return await gateway.operations.history.read(range)


@router.post("/workers/{id}/restart", status_code=202)
async def restart(
    id: str,
    request: Request,
    gateway: GatewayDep,
    wait_seconds: Annotated[float, Query(ge=0, le=3600, allow_inf_nan=False)] = 30.0,
) -> dict[str, Any]:
    """Have a worker end and start again. Its streams move to others, or get `wait_seconds` to finish."""
    worker = await restart_worker(gateway.pool, gateway.clients, id, wait_seconds)
    gateway.operations.log.say("admin", id, "restart", who=who_administers(request, gateway))
    return worker.describe()
