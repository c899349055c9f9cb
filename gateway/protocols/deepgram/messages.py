"""What clients say over the sockets of `/v1/speak` and `/v2/speak`."""

from __future__ import annotations

from types import UnionType
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from gateway.errors import ApiError, from_validation
from gateway.requests import Text, fields_of


class _Message(BaseModel):
    model_config = ConfigDict(extra="ignore", strict=True, allow_inf_nan=False)


class Speak(_Message):
    """More text."""

    type: Literal["Speak"]
    text: Text


class Command(_Message):
    """What is said without a text; KeepAlive: the client is there."""

    type: Literal["Flush", "Clear", "Close", "KeepAlive"]


class Plain(_Message):
    """The same of `/v2/speak`."""

    type: Literal["Flush", "Close", "KeepAlive"]


class PlaybackOffset(_Message):
    """Up to where the listener has heard the audio of the session."""

    type: Literal["time_ms"]
    value: Annotated[int, Field(ge=0, lt=1 << 40)]


class Interrupt(_Message):
    """Barge-in."""

    type: Literal["Interrupt"]
    playback_offset: PlaybackOffset | None = None


class Configure(_Message):
    """How the rest is to be said."""

    type: Literal["Configure"]
    speed: float | None = None


class Messages:
    """Those of one socket."""

    def __init__(self, kinds: UnionType) -> None:
        self._any: TypeAdapter[Any] = TypeAdapter(Annotated[kinds, Field(discriminator="type")])
        fields = [kind.model_fields["type"] for kind in get_args(kinds)]
        self._names = [name for field in fields for name in get_args(field.annotation)]

    def read(self, text: str) -> Any:
        """One of them. Raises ApiError."""
        fields = fields_of(text)
        try:
            return self._any.validate_python(fields)
        except ValidationError as error:
            first = error.errors()[0]
            if first["type"].startswith("union_tag") or not first["loc"]:
                known = f"{', '.join(self._names[:-1])} or {self._names[-1]}"
                raise ApiError(400, "invalid_message", f"type must be {known}", param="type") from error
            raise from_validation([{**first, "loc": first["loc"][1:]}]) from error
