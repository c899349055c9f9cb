"""Fields of clients that write them into an address, or send them as a form."""

from __future__ import annotations

import asyncio
from typing import TypeVar
from urllib.parse import parse_qsl

from fastapi import Request
from pydantic import BaseModel, ValidationError

from gateway.bounds import MOST_FIELDS
from gateway.errors import ApiError, from_validation
from gateway.settings import GatewaySettings

_CHARACTER_BYTES = 12
"""Of a character in a form: four bytes of UTF-8, each written as %F0."""
_OTHER_BYTES = 16_384

Fields = TypeVar("Fields", bound=BaseModel)


def most_bytes(settings: GatewaySettings) -> int:
    """Of a form that asks for a clip which is sent whole. A megabyte of them would take a second to read."""
    return min(_CHARACTER_BYTES * settings.max_clip_characters + _OTHER_BYTES, settings.max_body_bytes)


async def read_fields(model: type[Fields], request: Request) -> Fields:
    """What is asked for in the address, and in a form, which need not say that it is one. Raises ApiError."""
    given = dict(request.query_params)
    try:
        if body := await request.body():
            given |= await asyncio.to_thread(_parsed, body)
    except ValueError as error:
        raise ApiError(400, "invalid_body", "the body is no form in UTF-8, or has too many fields") from error
    try:
        return model.model_validate(given)
    except ValidationError as error:
        raise from_validation(error.errors()) from error


def _parsed(form: bytes) -> list[tuple[str, str]]:
    """Blocks for 50 ms where each byte is a percent sign. Raises ValueError."""
    return parse_qsl(form.decode(), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS)
