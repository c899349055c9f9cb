"""What the models of bodies have in common that clients send as JSON, and how much JSON is read at all."""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator

from gateway.errors import ApiError, few_fields, not_json

MOST_MESSAGE_VALUES = 2000
"""Of a message over a socket; the largest of ours is a request with a lexicon."""


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


def has_too_many_values(text: str, most: int) -> bool:
    """Whether JSON has more lists, objects and commas than `most`, those in strings apart."""
    signs = text.count(",") + text.count("[") + text.count("{")
    return signs > most and _beyond(most).match(text) is not None


@cache
def _beyond(most: int) -> re.Pattern[str]:
    """Matches the beginning of a JSON text with so many signs outside of strings, and one more."""
    return re.compile(rf'(?:(?:[^"\[{{,]++|"(?:[^"\\]++|\\.)*+")*+[\[{{,]){{{most + 1}}}', re.DOTALL)
