"""`GET /v1/models`, in the form that its client expects."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from gateway.protocols.openai.models import list_models
from gateway.service import GatewayDep

router = APIRouter()


@router.get("/v1/models")
async def models(gateway: GatewayDep) -> dict[str, Any]:
    """The models that are served."""
    return list_models(gateway)
