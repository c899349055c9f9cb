"""The one contract between gateway and worker: every message and every frame that crosses the wire.

HTTP carries control (`WorkerStatus`, `EncodeResponse`, `worker.adapters`), `WS /ws/slots` is about who may
use slots (`worker.slot_messages`), and `WS /ws/generate` carries speech and text. There the gateway sends
`StartRequest` or `StartTextRequest` as text and may send `CancelRequest`, `PauseRequest` and `ResumeRequest`
later; the worker answers `Accepted` or `ErrorMessage` as text and then binary frames, each a header, latents
and PCM, or tokens and text. For a clip of two patches:

    -> {"type":"start","request_id":"r1","attempt":1,"text":"Hi.","seed":7}
    <- {"type":"accepted",...}
    <- AUDIO sequence=0
    <- AUDIO sequence=1, last, finish_reason="stop"

A TEXT frame holds one token or several, and its sequence is the number of the first. Its text is what became
certain with them: a part of a character, or what may be the beginning of a stop string, comes later.

A pause takes effect between two patches: `Paused` follows the last patch before it, `Resumed` precedes the
next one. In between the request keeps its slot and heartbeats go on, of an engine that may stand still; a
cancel is obeyed as ever. Neither is confirmed when the request ended first.

Every accepted request ends with exactly one frame marked last: AUDIO or TEXT, or FINAL when nothing goes with
the end (cancelled, failed). When it failed, an `ErrorMessage` directly before FINAL says why. The connection
then takes the next request. Standard library, pydantic and what is as light only: the gateway imports no
other module of the worker.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from worker.adapters import (
    ADAPTERS,
    ADAPTERS_PATH,
    ADAPTERS_UNSUPPORTED,
    MAX_ADAPTER_CONFIG_BYTES,
    UNKNOWN_ADAPTER,
    AdapterDescription,
    AdapterUse,
    Digest,
    pack_adapter,
    unpack_adapter,
)
from worker.bounds import (
    MAX_ANSWER_BYTES,
    MAX_STATUS_BYTES,
    MAX_TOKENS,
    Code,
    Count,
    Id,
    Name,
    SampleRate,
    Seconds,
    Words,
    cut,
)
from worker.frames import (
    FINISH_REASONS,
    FLAWS,
    HEADER_BYTES,
    MAX_FRAME_BYTES,
    PROTOCOL_VERSION,
    Frame,
    FrameKind,
    ProtocolError,
    TokenFacts,
    decode_frame,
    encode_frame,
)
from worker.latents import Latents
from worker.slot_messages import (
    GATEWAY_HEADER,
    GATEWAY_ID_PATTERN,
    GRANT_SECONDS,
    MAX_SLOT_MESSAGE_BYTES,
    MOST_GATEWAYS,
    SLOTS_PATH,
    GiveBack,
    Grant,
    Keep,
    SlotClaim,
    Standing,
    Waiting,
    decode_gateways_slot_message,
    decode_workers_slot_message,
)
from worker.start_messages import (
    MOST_STOP_CHARACTERS,
    MOST_STOP_STRINGS,
    ChatMessage,
    Sampling,
    Start,
    StartRequest,
    StartTextRequest,
    Unsigned32,
)
from worker.status import (
    REGISTRATION_LEASE_SECONDS,
    REGISTRATION_PATH,
    REGISTRATION_SECONDS,
    AnyModel,
    Counters,
    LoadingProgress,
    ModelDescription,
    Registration,
    RegistrationLease,
    TextModelDescription,
    VoiceDescription,
    WorkerState,
    WorkerStatus,
    check_base_url,
    is_loopback,
)

__all__ = [
    "ADAPTERS",
    "ADAPTERS_PATH",
    "ADAPTERS_UNSUPPORTED",
    "FINISH_REASONS",
    "FLAWS",
    "GATEWAY_HEADER",
    "GATEWAY_ID_PATTERN",
    "GENERATE_PATH",
    "GRANT_SECONDS",
    "HEADER_BYTES",
    "HEARTBEAT_SECONDS",
    "MAX_ADAPTER_CONFIG_BYTES",
    "MAX_ANSWER_BYTES",
    "MAX_FRAME_BYTES",
    "MAX_REQUEST_BYTES",
    "MAX_SLOT_MESSAGE_BYTES",
    "MAX_STATUS_BYTES",
    "MAX_TOKENS",
    "MOST_GATEWAYS",
    "MOST_STOP_CHARACTERS",
    "MOST_STOP_STRINGS",
    "PROTOCOL_VERSION",
    "REGISTRATION_LEASE_SECONDS",
    "REGISTRATION_PATH",
    "REGISTRATION_SECONDS",
    "SLOTS_PATH",
    "UNKNOWN_ADAPTER",
    "WATCHED",
    "Accepted",
    "AdapterDescription",
    "AdapterUse",
    "AnyModel",
    "CancelRequest",
    "ChatMessage",
    "ClientMessage",
    "Counters",
    "Digest",
    "EncodeResponse",
    "ErrorCode",
    "ErrorDetail",
    "ErrorMessage",
    "Frame",
    "FrameKind",
    "GiveBack",
    "Grant",
    "InvalidFieldError",
    "Keep",
    "Latents",
    "LoadingProgress",
    "ModelDescription",
    "PauseRequest",
    "Paused",
    "ProtocolError",
    "Registration",
    "RegistrationLease",
    "ResumeRequest",
    "Resumed",
    "Sampling",
    "ServerMessage",
    "SlotClaim",
    "Standing",
    "Start",
    "StartRequest",
    "StartTextRequest",
    "TextModelDescription",
    "TokenFacts",
    "VoiceDescription",
    "Waiting",
    "WorkerState",
    "WorkerStatus",
    "check_base_url",
    "cut",
    "decode_client_message",
    "decode_frame",
    "decode_gateways_slot_message",
    "decode_server_message",
    "decode_workers_slot_message",
    "encode_frame",
    "is_loopback",
    "pack_adapter",
    "unpack_adapter",
]

GENERATE_PATH = "/ws/generate"
WATCHED = "watched"
"""The feature of a model whose speech is watched while it is made."""
HEARTBEAT_SECONDS = 0.25
MAX_REQUEST_BYTES = 8 << 20
"""No `StartRequest` is larger; the latents of ten minutes of speech fit."""


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
    """Of the model whose latents they are."""


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
    """Of speech."""
    prompt_tokens: Count | None = None
    """Of what goes in, for text."""


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
    """Parse a text message of the gateway. Raises ProtocolError, InvalidFieldError if it names a field."""
    try:
        return _client_messages.validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        _tag, *path = first["loc"] or ("",)
        if not path:
            raise ProtocolError("not a message of this protocol") from None
        param = ".".join(map(str, path))
        raise InvalidFieldError(f"{param}: {first['msg']}", param) from None


def decode_server_message(text: str) -> ServerMessage:
    """Parse a text message of the worker. Raises ProtocolError."""
    if len(text) > MAX_ANSWER_BYTES:
        raise ProtocolError(f"a message of {len(text)} characters is not one of a worker")
    try:
        return _server_messages.validate_json(text)
    except ValidationError as error:
        raise ProtocolError(f"not a message of a worker: {error.error_count()} errors") from None
