"""`POST /api/registrations`: workers that dial in. They show the secret that gateway and workers share."""

from __future__ import annotations

import hmac

from fastapi import APIRouter, Depends
from starlette.requests import HTTPConnection

from gateway.errors import ApiError
from gateway.security import is_local
from gateway.service import GatewayDep
from worker.protocol import REGISTRATION_PATH, Registration, RegistrationLease


async def require_worker(connection: HTTPConnection, gateway: GatewayDep) -> None:
    """Raises ApiError: 401 for a wrong secret; 403, without a secret, from another machine."""
    secret = gateway.settings.worker_secret
    if secret is None:
        if not is_local(connection):
            message = "without VOXFLEET_WORKER_SECRET only workers on this machine may dial in"
            raise ApiError(403, "worker_local_only", message)
        return
    given = connection.headers.get("authorization", "")
    wanted = f"Bearer {secret.get_secret_value()}"
    if not hmac.compare_digest(given.encode("latin-1"), wanted.encode()):
        raise ApiError(401, "invalid_worker_secret", "the shared secret is missing or wrong")


router = APIRouter(dependencies=[Depends(require_worker)])


@router.post(REGISTRATION_PATH)
async def register(registration: Registration, gateway: GatewayDep) -> RegistrationLease:
    """Make a worker known, or renew its lease."""
    return gateway.registry.register(registration)
