"""Errors as OpenAI's clients read them: ours, but for those of an adapter that stands behind the model."""

from __future__ import annotations

from typing import Any

from starlette.requests import Request

from gateway.errors import ERROR_SHAPE, ApiError


def adapter_is_in_model(request: Request) -> None:
    """The client of `request` sent no field `adapter`: its errors name `model`."""
    request.scope["state"][ERROR_SHAPE] = _shape


def _shape(error: ApiError) -> dict[str, Any]:
    told = error.to_dict()
    if error.param == "adapter":
        told["error"]["param"] = "model"
    return told
