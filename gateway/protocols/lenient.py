"""What clients of other services send: fields that are null count as left out, unknown ones are ignored."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, model_validator

from gateway.bounds import MOST_FIELDS
from gateway.errors import FieldError

EMPTY_IS_NOTHING = BeforeValidator(lambda value: None if value == "" else value)
"""Of a field that may be None."""


class Lenient(BaseModel):
    """A body or a message that may hold more than is understood here; that is in `model_extra`."""

    model_config = ConfigDict(extra="allow", strict=True, allow_inf_nan=False)

    @model_validator(mode="before")
    @classmethod
    def _null_is_nothing(cls, values: Any) -> Any:
        if not isinstance(values, dict):
            return values
        if len(values) > MOST_FIELDS:
            raise FieldError(
                None, "invalid_body", f"has {len(values)} fields, at most {MOST_FIELDS} are taken"
            )
        return {name: value for name, value in values.items() if value is not None}
