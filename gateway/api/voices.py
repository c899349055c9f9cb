"""`/api/voices`: the voices there are; making, changing and deleting one's own."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from gateway.errors import ApiError
from gateway.security import require_admin
from gateway.service import Gateway, GatewayDep
from gateway.voices.catalog import built_in_voices, custom_voices

router = APIRouter()


@router.get("/api/voices")
async def list_voices(request: Request, gateway: GatewayDep) -> dict[str, Any]:
    """The voices that the caller may see: built-in ones first."""
    tenant = _tenant_or_none(request, gateway)
    rows = await gateway.voices.visible_to(tenant, _is_admin(request, gateway))
    return {"voices": built_in_voices(gateway.pool) + custom_voices(gateway.pool, rows, tenant)}


@router.get("/v1/audio/voices")
async def list_usable_voices(request: Request, gateway: GatewayDep) -> dict[str, Any]:
    """The voices that a request may name. Public: OpenAI's clients ask for them without a key."""
    voices = (await list_voices(request, gateway))["voices"]
    return {"voices": [voice for voice in voices if voice["usable"]]}


def _tenant_or_none(request: Request, gateway: Gateway) -> str | None:
    """Who asks; None for somebody who could not use the service, but may know what it offers."""
    try:
        return gateway.callers.identify(request).tenant
    except ApiError:
        return None


def _is_admin(request: Request, gateway: Gateway) -> bool:
    try:
        require_admin(request, gateway)
    except ApiError:
        return False
    return True
