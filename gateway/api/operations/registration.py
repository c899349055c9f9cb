"""`POST /api/registrations`: workers that dial in, and show the secret that all share or one of their own."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends
from starlette.requests import HTTPConnection

from gateway.api.permissions import check_worker
from gateway.service import GatewayDep
from worker.protocol import REGISTRATION_PATH, Registration, RegistrationLease


async def require_worker(connection: HTTPConnection, gateway: GatewayDep) -> str | None:
    """Dependency of every route of workers: `check_worker`."""
    return check_worker(connection, gateway)


router = APIRouter(dependencies=[Depends(require_worker)])


@router.post(REGISTRATION_PATH)
async def register(
    registration: Registration, gateway: GatewayDep, own_id: Annotated[str | None, Depends(require_worker)]
) -> RegistrationLease:
    """Make a worker known, or renew its lease."""
    await gateway.registry.check(registration, own_id)
    return gateway.registry.register(registration, own_id)
