"""`POST /api/registrations`: workers that dial in. They show the secret that gateway and workers share."""

from __future__ import annotations

from fastapi import APIRouter, Depends
from starlette.requests import HTTPConnection

from gateway.api.permissions import check_worker
from gateway.service import GatewayDep
from worker.protocol import REGISTRATION_PATH, Registration, RegistrationLease


async def require_worker(connection: HTTPConnection, gateway: GatewayDep) -> None:
    """Dependency of every route of workers: `check_worker`."""
    check_worker(connection, gateway)


router = APIRouter(dependencies=[Depends(require_worker)])


@router.post(REGISTRATION_PATH)
async def register(registration: Registration, gateway: GatewayDep) -> RegistrationLease:
    """Make a worker known, or renew its lease."""
    return gateway.registry.register(registration)
