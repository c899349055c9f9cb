"""What a client may say of an adapter: the fields of an upload and of a change, with their limits."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from gateway.errors import ApiError
from gateway.requests import Name
from gateway.voices.fields import NamedChange, VoiceName, json_object, told, validated
from worker.protocol import MAX_ADAPTER_CONFIG_BYTES


class AdapterChange(NamedChange):
    """The body of a PATCH of an adapter."""


class AdapterForm(NamedChange):
    """The fields of an upload, beside the file of weights."""

    name: VoiceName
    config: Annotated[str, Field(max_length=MAX_ADAPTER_CONFIG_BYTES)]
    """What lora_config.json or adapter_config.json says, which lies beside the weights."""
    model: Name | None = None
    """Which model it is for, where several take adapters."""

    @property
    def columns(self) -> dict[str, Any]:
        """The columns of its row, without those of its consent."""
        return {"name": self.name, "description": self.description}

    def read_config(self) -> dict[str, Any]:
        """Raises ApiError 422."""
        config = json_object(self.config, "config")
        if not isinstance(config, dict):
            raise ApiError(422, "invalid_value", "config: not a JSON object", param="config")
        return config


def read_form(fields: dict[str, str]) -> AdapterForm:
    """The text fields of an upload; empty ones count as left out. Raises ApiError."""
    return validated(AdapterForm, told(fields))
