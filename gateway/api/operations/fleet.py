"""`/api/fleet`: what the controller of the workers reports, and what operators order."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Depends, Request

from gateway.api.permissions import require_admin, who_administers
from gateway.operations.fleet_messages import FleetOrders, FleetReport
from gateway.service import GatewayDep

router = APIRouter(prefix="/api/fleet", dependencies=[Depends(require_admin)])


@router.get("")
async def get_fleet(gateway: GatewayDep) -> dict[str, Any]:
    """Kinds of workers as their controller last reported; `fleet` is null where there is none."""
    return gateway.operations.fleet.describe()


@router.put("")
async def put_fleet(report: FleetReport, gateway: GatewayDep) -> dict[str, Any]:
    """For the controller: say how the fleet is, and get what was asked for, felt and ordered."""
    return gateway.operations.fleet.take(report)


@router.post("/orders")
async def post_orders(orders: FleetOrders, request: Request, gateway: GatewayDep) -> dict[str, Any]:
    """Have so many workers of a kind, null for as many as are needed; or end the fleet."""
    gateway.operations.fleet.order(orders, who_administers(request, gateway))
    return gateway.operations.fleet.describe()
