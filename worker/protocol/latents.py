"""Latent patches in JSON. Imported through `worker.protocol`."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, model_validator


def _decode_base64(value: object) -> object:
    if not isinstance(value, str):
        return value
    try:
        return base64.b64decode(value, validate=True)
    except binascii.Error as error:
        raise ValueError(f"not base64: {error}") from error


Base64Data = Annotated[
    bytes,
    BeforeValidator(_decode_base64),
    PlainSerializer(lambda raw: base64.b64encode(raw).decode("ascii"), return_type=str, when_used="json"),
]


class Latents(BaseModel):
    """Latent patches [n, P, D]: float32 little-endian bytes in Python, base64 in JSON."""

    model_config = ConfigDict(extra="forbid")

    shape: tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=1)], Annotated[int, Field(ge=1)]]
    data: Base64Data

    @model_validator(mode="after")
    def _data_fills_shape(self) -> Self:
        patches, patch_size, latent_dim = self.shape
        if len(self.data) != 4 * patches * patch_size * latent_dim:
            raise ValueError(f"{len(self.data)} bytes do not fill float32 {list(self.shape)}")
        return self
