"""What the address of an agent's speech service says of all that it speaks: `/vapi?voice=ruth&speed=1.1`."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import Query
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from gateway.errors import from_validation
from gateway.requests import Name, TtsRequest, check_limits
from gateway.service import Gateway


class AgentQuery(BaseModel):
    """Choices for which messages have no word."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)

    voice: Name = "default"
    """Who speaks, where a message names nobody."""
    speed: Annotated[float, Field(ge=0.25, le=4.0)] = 1.0
    adapter: Name | None = None
    model: Name | None = None

    def to_tts_request(self, gateway: Gateway, text: str, **told: Any) -> TtsRequest:
        """A clip of what a message told; None and "" are nothing. Raises ApiError."""
        fields = self.model_dump() | {name: value for name, value in told.items() if value} | {"text": text}
        try:
            order = TtsRequest.model_validate(fields)
        except ValidationError as error:
            raise from_validation(error.errors()) from error
        check_limits(order, gateway.settings)
        return order


QueryOfAgent = Annotated[AgentQuery, Query()]
