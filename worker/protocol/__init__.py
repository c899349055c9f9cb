"""The one contract between gateway and worker: every message and every frame that crosses the wire.

HTTP carries control (`status.py`, `adapters.py`, `EncodeResponse`), `WS /ws/slots` is about who may use slots
(`slot_messages.py`), and `WS /ws/generate` carries speech and text. There the gateway sends `StartRequest` or
`StartTextRequest` (`start_messages.py`) as text and may send `CancelRequest`, `PauseRequest` and
`ResumeRequest` (`messages.py`) later; the worker answers `Accepted` or `ErrorMessage` as text and then binary
frames (`frames.py`), each a header, latents and PCM, or tokens and text (`token_facts.py`: with log
probabilities). What a worker says is believed within `bounds.py`. For a clip of two patches:

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

from worker.protocol.adapters import (
    ADAPTERS,
    ADAPTERS_PATH,
    ADAPTERS_UNSUPPORTED,
    INVALID_ADAPTER,
    MAX_ADAPTER_CONFIG_BYTES,
    UNKNOWN_ADAPTER,
    AdapterDescription,
    AdapterUse,
    Digest,
    pack_adapter,
    unpack_adapter,
)
from worker.protocol.bounds import (
    MAX_ANSWER_BYTES,
    MAX_STATUS_BYTES,
    MAX_TOKENS,
    cut,
)
from worker.protocol.frames import (
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
from worker.protocol.latents import Latents
from worker.protocol.messages import (
    ANY_VOICE,
    CACHE_SALT,
    GENERATE_PATH,
    HEARTBEAT_SECONDS,
    INSTRUCTIONS,
    INSTRUCTIONS_UNSUPPORTED,
    MAX_REQUEST_BYTES,
    WATCHED,
    Accepted,
    CancelRequest,
    ClientMessage,
    EncodeResponse,
    ErrorCode,
    ErrorDetail,
    ErrorMessage,
    InvalidFieldError,
    Paused,
    PauseRequest,
    Resumed,
    ResumeRequest,
    ServerMessage,
    decode_client_message,
    decode_server_message,
)
from worker.protocol.slot_messages import (
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
from worker.protocol.start_messages import (
    MOST_STOP_CHARACTERS,
    MOST_STOP_STRINGS,
    ChatMessage,
    Sampling,
    Start,
    StartRequest,
    StartTextRequest,
)
from worker.protocol.status import (
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
    "ANY_VOICE",
    "CACHE_SALT",
    "FINISH_REASONS",
    "FLAWS",
    "GATEWAY_HEADER",
    "GATEWAY_ID_PATTERN",
    "GENERATE_PATH",
    "GRANT_SECONDS",
    "HEADER_BYTES",
    "HEARTBEAT_SECONDS",
    "INSTRUCTIONS",
    "INSTRUCTIONS_UNSUPPORTED",
    "INVALID_ADAPTER",
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
