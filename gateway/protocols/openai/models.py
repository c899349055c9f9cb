"""Models as OpenAI's clients ask for them."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from gateway.adapters.catalog import spoken_names
from gateway.api.permissions import tenant_or_none
from gateway.errors import ApiError
from gateway.protocols.openai.request import OPENAI_MODEL
from gateway.service import Gateway, GatewayDep
from gateway.slots.requirement import Requirement
from gateway.voices.catalog import served_models

router = APIRouter()


async def list_models(request: Request, gateway: Gateway) -> dict[str, Any]:
    """The models of speech and of text, and "model:adapter" for what the caller may speak with.

    Raises ApiError 503 when the database cannot be asked for adapters.
    """
    names = [*sorted(_all_models(gateway)), *await _adapted(request, gateway)]
    return {"object": "list", "data": [_describe(name) for name in names]}


@router.get("/v1/models/{id:path}")
async def get_model(id: str, request: Request, gateway: GatewayDep) -> dict[str, Any]:
    """One of them, or a name of OpenAI's that requests may give instead."""
    known = id in _all_models(gateway) or OPENAI_MODEL.fullmatch(id)
    if not known and id not in await _adapted(request, gateway):
        raise ApiError(404, "model_not_found", f"there is no model {id[:128]!r}", param="model")
    return _describe(id)


@router.get("/v1/audio/models")
async def speech_models(gateway: GatewayDep) -> dict[str, Any]:
    """The speech models as Open WebUI asks for them, without a key."""
    return {"models": [{"id": name} for name in sorted(served_models(gateway.pool))]}


def _all_models(gateway: Gateway) -> set[str]:
    return served_models(gateway.pool) | set(gateway.pool.workers.models("text"))


async def _adapted(request: Request, gateway: Gateway) -> list[str]:
    """Nothing for whom nobody knows: names of voices are told to those who may use them."""
    tenant = tenant_or_none(request, gateway)
    needed = Requirement(None, adapters=True)
    if tenant is None or not any(worker.offers(needed) for worker in gateway.pool.workers.values()):
        return []
    return spoken_names(gateway.pool, await gateway.adapters.visible_to(tenant))


def _describe(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "voxfleet"}
