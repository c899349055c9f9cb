"""`GET /v1/models`, in the form that its client expects."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request

from gateway.protocols.elevenlabs import catalog as elevenlabs
from gateway.protocols.openai import models as openai
from gateway.service import GatewayDep

router = APIRouter()


@router.get("/v1/models")
async def models(request: Request, gateway: GatewayDep) -> Any:
    """The models that are served: ElevenLabs' list for clients that send its header, else OpenAI's."""
    if "xi-api-key" in request.headers:
        return elevenlabs.list_models(gateway)
    return await openai.list_models(request, gateway)
