"""`GET /openapi.json`: the description, to whoever may see it."""

from __future__ import annotations

import asyncio

from fastapi import APIRouter, FastAPI, Request
from starlette.responses import JSONResponse, Response

from gateway.api.permissions import is_admin
from gateway.callers.identity import given_key
from gateway.errors import ApiError
from gateway.service import Gateway, GatewayDep
from gateway.site import File, answered

PATH = "/openapi.json"
router = APIRouter(include_in_schema=False)


@router.get(PATH)
async def openapi(request: Request, gateway: GatewayDep) -> Response:
    """The OpenAPI document. Raises ApiError 404 for a stranger, unless everybody may see it; 429."""
    if not gateway.settings.expose_openapi and not _is_known(request, gateway):
        message = (
            "the description of the API is for who shows an API key or the admin token, "
            "unless expose_openapi is set"
        )
        raise ApiError(404, "not_found", message)
    file = await asyncio.to_thread(_file, request.app)
    return await answered(file, request.headers, "no-store")


def _file(app: FastAPI) -> File:
    """Written once: a quarter of a megabyte, an eighth of that where it is compressed. Blocks."""
    if not hasattr(app.state, "description"):
        app.state.description = File(bytes(JSONResponse(app.openapi()).body), "application/json")
    return app.state.description


def _is_known(request: Request, gateway: Gateway) -> bool:
    """Whether one of our secrets comes with it. Raises ApiError 429 for who has guessed too often."""
    if is_admin(request, gateway):
        return True
    key = given_key(request)
    found = gateway.callers.credential(request, key) if key else None
    return found is not None and found.kind == "key"
