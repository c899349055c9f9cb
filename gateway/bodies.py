"""What the models of bodies have in common that clients send as JSON, and how much JSON is read at all."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator

from gateway.errors import ApiError, few_fields, not_json

_BEGINS = "[{"
"""Of lists and objects, which take the most time and memory."""
_SIGNS = "," + _BEGINS
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

    def __init__(self, most: int, most_lists: int | None = None) -> None:
        """`most_lists`: how many of them may be lists or objects; None: all."""
        self._most = most
        self._most_lists = most if most_lists is None else most_lists
        self._chunks: list[bytes] = []
        self._signs = self._begins = 0

    def add(self, chunk: bytes) -> None:
        """More of it."""
        self._chunks.append(chunk)
        begins = sum(chunk.count(sign.encode()) for sign in _BEGINS)
        self._begins += begins
        self._signs += begins + chunk.count(b",")

    def check(self) -> None:
        """All of it is there. Raises ApiError for too many, before anybody parses it."""
        chunks, self._chunks = self._chunks, []
        if self._signs <= self._most and self._begins <= self._most_lists:
            return
        body = b"".join(chunks)
        text = body.decode(json.detect_encoding(body), "replace")
        if has_too_many_values(text, self._most):
            raise ApiError(400, "invalid_json", f"the body has more than {self._most} values")
        if has_too_many_values(text, self._most_lists, _BEGINS):
            reason = f"the body has more than {self._most_lists} lists and objects"
            raise ApiError(400, "invalid_json", reason)


def has_too_many_values(text: str, most: int, signs: str = _SIGNS) -> bool:
    """Whether JSON has more lists, objects and commas (`signs`) than `most`, those in strings apart."""
    return sum(map(text.count, signs)) > most and _beyond(most, signs).match(text) is not None


@cache
def _beyond(most: int, signs: str) -> re.Pattern[str]:
    """Matches the beginning of a JSON text with so many signs outside of strings, and one more."""
    one = re.escape(signs)
    return re.compile(rf'(?:(?:[^"{one}]++|"(?:[^"\\]++|\\.)*+")*+[{one}]){{{most + 1}}}', re.DOTALL)
