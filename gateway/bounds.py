"""How many fields and entries what clients send has at most."""

from __future__ import annotations

from itertools import islice
from typing import Any

from pydantic import BeforeValidator

MOST_FIELDS = 200
"""Of an object, beyond which it is no body of ours."""


def few_fields(values: Any) -> Any:
    """For a `model_validator` before all others. No body has so many fields, and pydantic tells at length of
    each that is unknown; a list takes `fail_fast` for that.
    """
    if isinstance(values, dict) and len(values) > MOST_FIELDS:
        return dict(islice(values.items(), MOST_FIELDS))
    return values


def at_most(entries: int) -> BeforeValidator:
    """A validator that refuses a field with more entries before any of them is looked at."""

    def check(given: Any) -> Any:
        if isinstance(given, dict) and len(given) > entries:
            raise ValueError(f"has {len(given)} entries, at most {entries} are allowed")
        return given

    return BeforeValidator(check)
