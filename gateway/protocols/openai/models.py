"""Models as OpenAI's clients ask for them."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from gateway.errors import ApiError
from gateway.protocols.openai.request import OPENAI_MODELS
from gateway.service import Gateway, GatewayDep
from gateway.voices.catalog import served_models

router = APIRouter()


def list_models(gateway: Gateway) -> dict[str, Any]:
    """Those that are served, of speech and of text."""
    return {"object": "list", "data": [_describe(name) for name in sorted(_all_models(gateway))]}


@router.get("/v1/models/{id:path}")
async def get_model(id: str, gateway: GatewayDep) -> dict[str, Any]:
    """One of them, or a name of OpenAI's that requests may give instead."""
    if id not in _all_models(gateway) | OPENAI_MODELS:
        raise ApiError(404, "model_not_found", f"there is no model {id[:128]!r}", param="model")
    return _describe(id)


@router.get("/v1/audio/models")
async def speech_models(gateway: GatewayDep) -> dict[str, Any]:
    """The same as Open WebUI asks for it, without a key."""
    return {"models": [{"id": name} for name in sorted(served_models(gateway.pool))]}


def _all_models(gateway: Gateway) -> set[str]:
    return served_models(gateway.pool) | set(gateway.pool.models("text"))


def _describe(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "voxfleet"}
