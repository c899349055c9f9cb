"""What the models of bodies have in common that clients send as JSON."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, model_validator

from gateway.errors import few_fields


class Body(BaseModel):
    """Nothing is converted, unknown fields are refused, and of very many no more than the first are read."""

    model_config = ConfigDict(extra="forbid", strict=True)

    _few_fields = model_validator(mode="before")(few_fields)
