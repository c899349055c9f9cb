"""What gateway and worker say on `WS /ws/generate` beside the start of a request and frames; and errors.

Imported through `worker.protocol`, which says what follows what.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from sockets.json_signs import Signs
from worker.protocol.bounds import MAX_ANSWER_BYTES, Code, Count, Id, Name, SampleRate, Seconds, Words
from worker.protocol.frames import ProtocolError
from worker.protocol.latents import Latents
from worker.protocol.start_messages import StartRequest, StartTextRequest, Unsigned32

GENERATE_PATH = "/ws/generate"
ANY_VOICE = "any_voice"
"""The feature of a model that makes up a speaker for each text that names none."""
INSTRUCTIONS = "instructions"
"""The feature of a model that can be told how to speak."""
INSTRUCTIONS_UNSUPPORTED = "instructions_unsupported"
"""Why a request is refused that has some for a model that cannot."""
WATCHED = "watched"
"""The feature of a model whose speech is watched while it is made."""
CACHE_SALT = "cache_salt"
"""The feature of a text model that keeps what it has cached of prompts apart by `cache_salt`."""
HEARTBEAT_SECONDS = 0.25
MAX_REQUEST_BYTES = 8 << 20
"""No `StartRequest` is larger; the latents of ten minutes of speech fit."""
_MOST_LISTS = 10_000
"""Lists and objects in a message of a gateway."""


class ErrorCode(StrEnum):
    """Codes of the worker itself; an engine's `RequestError` brings its own."""

    INVALID_REQUEST = "invalid_request"
    UNAUTHORIZED = "unauthorized"
    FORBIDDEN = "forbidden"
    NOT_FOUND = "not_found"
    METHOD_NOT_ALLOWED = "method_not_allowed"
    TOO_LARGE = "too_large"
    BUSY = "busy"
    LOADING = "loading"
    DRAINING = "draining"
    NOT_SUPERVISED = "not_supervised"
    WORKER_FAILED = "worker_failed"
    ENGINE_FAILED = "engine_failed"
    SLOW_READER = "slow_reader"
    SLOW_SENDER = "slow_sender"
    INTERNAL = "internal_error"


class ErrorDetail(BaseModel):
    """The one error shape: `{"error": {...}}` over HTTP, `ErrorMessage` on a socket."""

    message: Words
    type: Literal["invalid_request_error", "authentication_error", "capacity_error", "server_error"]
    param: Words | None = None
    code: Code


class EncodeResponse(BaseModel):
    """`POST /encode?role=reference|prompt`, raw audio file as body: the latents to put into requests."""

    role: Literal["reference", "prompt"]
    latents: Latents
    audio_seconds: Seconds
    model_revision: Name
    """The revision of the model whose latents they are."""


class CancelRequest(BaseModel):
    """Ends the open request with FINAL, finish reason "cancelled". Does nothing when no request is open."""

    model_config = ConfigDict(extra="forbid")

    type: Literal["cancel"] = "cancel"


class PauseRequest(BaseModel):
    """Asks for no more patches of the open request until `ResumeRequest`. Does nothing when none is open."""

    model_config = ConfigDict(extra="forbid")

    type: Literal["pause"] = "pause"


class ResumeRequest(BaseModel):
    """Undoes `PauseRequest`."""

    model_config = ConfigDict(extra="forbid")

    type: Literal["resume"] = "resume"


class Accepted(BaseModel):
    """A slot was taken; frames follow."""

    type: Literal["accepted"] = "accepted"
    request_id: Id
    attempt: Unsigned32
    worker_id: Id
    boot_id: Id
    model_revision: Name
    sample_rate: SampleRate | None = None
    """Samples per second of speech; None for text."""
    prompt_tokens: Count | None = None
    """Tokens of the prompt; None for speech."""
    thinking: bool = False
    """The prompt opens a thought (`<think>`), which the answer only closes."""


class Paused(BaseModel):
    """No patch follows before `Resumed`."""

    type: Literal["paused"] = "paused"
    request_id: Id
    attempt: Unsigned32


class Resumed(BaseModel):
    """Patches follow again."""

    type: Literal["resumed"] = "resumed"
    request_id: Id
    attempt: Unsigned32


class ErrorMessage(BaseModel):
    """Instead of `Accepted`: refused, no frame follows. After `Accepted`: failed, FINAL follows.

    The ids are null when the message that caused it could not be read.
    """

    type: Literal["error"] = "error"
    request_id: Id | None = None
    attempt: Unsigned32 | None = None
    error: ErrorDetail


class InvalidFieldError(ProtocolError):
    """A message of a known type with a field that is missing, unknown or wrong; `param` names it."""

    def __init__(self, message: str, param: str) -> None:
        super().__init__(message)
        self.param = param


ClientMessage = StartRequest | StartTextRequest | CancelRequest | PauseRequest | ResumeRequest
ServerMessage = Accepted | ErrorMessage | Paused | Resumed
_CONFIG = ConfigDict(cache_strings="keys")
"""Ids and texts are new in each message: pydantic would keep 16,384 of them for nothing."""
_client_messages: TypeAdapter[ClientMessage] = TypeAdapter(
    Annotated[ClientMessage, Field(discriminator="type")], config=_CONFIG
)
_server_messages: TypeAdapter[ServerMessage] = TypeAdapter(
    Annotated[ServerMessage, Field(discriminator="type")], config=_CONFIG
)


def decode_client_message(text: str) -> ClientMessage:
    """Parse a text message of the gateway. Raises ProtocolError, InvalidFieldError if it names a field.

    Errors of pydantic have copies of all that was read, which takes seconds where that is a million lists.
    """
    if _has_too_many_lists(text):
        raise ProtocolError(f"a message has at most {_MOST_LISTS} lists and objects")
    try:
        return _client_messages.validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        _tag, *path = first["loc"] or ("",)
        if not path:
            raise ProtocolError("not a message of this protocol") from None
        param = ".".join(map(str, path))
        raise InvalidFieldError(f"{param}: {first['msg']}", param) from None


def _has_too_many_lists(text: str) -> bool:
    if text.count("[") + text.count("{") <= _MOST_LISTS:  # those in texts, too
        return False
    signs = Signs()
    signs.add(text.encode("utf-8", "replace"))
    return signs.begins > _MOST_LISTS


def decode_server_message(text: str) -> ServerMessage:
    """Parse a text message of the worker. Raises ProtocolError."""
    if len(text) > MAX_ANSWER_BYTES:
        raise ProtocolError(f"a message of {len(text)} characters is not one of a worker")
    try:
        return _server_messages.validate_json(text)
    except ValidationError as error:
        raise ProtocolError(f"not a message of a worker: {error.error_count()} errors") from None
