"""What the models of bodies have in common that clients send as JSON, and how much JSON is read at all."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator

from gateway.errors import ApiError, few_fields, not_json

_SIGNS = (b",", b"[", b"{")
MOST_MESSAGE_VALUES = 2000
"""Of a message over a socket; the largest of ours is a request with a lexicon."""


MOST_BODY_VALUES = 50_000
"""Of a body, where nothing else is said."""


class Body(BaseModel):
    """Nothing is converted, unknown fields are refused, and of very many no more than the first are read."""

    model_config = ConfigDict(extra="forbid", strict=True)

    _few_fields = model_validator(mode="before")(few_fields)


def parse_message(message: str | bytes, what: str = "message") -> Any:
    """What a message over a socket says. `what`: its protocol's word for it. Raises ApiError.

    A megabyte of tiny lists takes a fifth of a second to parse, so nothing is parsed that holds too many.
    """
    try:
        text = message if isinstance(message, str) else message.decode()
        if has_too_many_values(text, MOST_MESSAGE_VALUES):
            reason = f"the {what} has more than {MOST_MESSAGE_VALUES} values"
            raise ApiError(400, "invalid_json", reason)
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise not_json(error, what) from error


class ValueCount:
    """Of a body that comes in chunks."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._chunks: list[bytes] = []
        self._signs = 0

    def add(self, chunk: bytes) -> None:
        """More of it."""
        self._chunks.append(chunk)
        self._signs += sum(map(chunk.count, _SIGNS))

    def check(self) -> None:
        """All of it is there. Raises ApiError for too many, before anybody parses it."""
        chunks, self._chunks = self._chunks, []
        if self._signs <= self._most:
            return
        body = b"".join(chunks)
        text = body.decode(json.detect_encoding(body), "replace")
        if has_too_many_values(text, self._most):
            raise ApiError(400, "invalid_json", f"the body has more than {self._most} values")


def has_too_many_values(text: str, most: int) -> bool:
    """Whether JSON has more lists, objects and commas than `most`, those in strings apart."""
    signs = text.count(",") + text.count("[") + text.count("{")
    return signs > most and _beyond(most).match(text) is not None


@cache
def _beyond(most: int) -> re.Pattern[str]:
    """Matches the beginning of a JSON text with so many signs outside of strings, and one more."""
    return re.compile(rf'(?:(?:[^"\[{{,]++|"(?:[^"\\]++|\\.)*+")*+[\[{{,]){{{most + 1}}}', re.DOTALL)
