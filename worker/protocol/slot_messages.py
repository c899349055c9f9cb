"""What gateways and a worker say to each other about its slots, on `WS /ws/slots`.

Several gateways may use one worker. As long as at most one of them has requests that wait, each takes slots
as it likes. When two have, a slot that is free is granted to one after the other:

    gateway a -> {"type":"waiting","requests":3}
    gateway b -> {"type":"waiting","requests":1}
    worker -> a: {"type":"standing","others":2,"waiting":1}      others use 2 slots, 1 other gateway waits
    worker -> b: {"type":"grant","number":1}                     one is yours

The gateway uses a grant in the `claim` of a `StartRequest`, or gives it back; after `GRANT_SECONDS` it is
gone. Whoever is told that others wait starts requests with grants alone. A slot is free again when its
request ends, unless it is kept: by a live session between two sentences, or a clip between two parts. It is
kept until the gateway gives it back or is gone.

A gateway names itself in the header `GATEWAY_HEADER`, here and on the sockets of its requests. One that does
not is served as long as slots are free. Imported through `worker.protocol`.
"""

from __future__ import annotations

from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from worker.protocol.bounds import MAX_SLOTS
from worker.protocol.frames import ProtocolError

SLOTS_PATH = "/ws/slots"
GATEWAY_HEADER = "X-VoxFleet-Gateway"
GATEWAY_ID_PATTERN = r"[A-Za-z0-9_-]{8,64}"
GRANT_SECONDS = 2.0
"""How long a slot stays free for the gateway to which it was granted."""
MAX_SLOT_MESSAGE_BYTES = 1024
MOST_GATEWAYS = 64
"""Sockets about slots that a worker serves."""

Message = TypeVar("Message")

LeaseId = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}\z", strict=True)]
GrantNumber = Annotated[int, Field(ge=1, le=2**53, strict=True)]
Slots = Annotated[int, Field(ge=0, le=MAX_SLOTS, strict=True)]


class SlotClaim(BaseModel):
    """By which right a request takes a slot, and whether the slot stays with the gateway after its end."""

    model_config = ConfigDict(extra="forbid")

    lease: LeaseId
    """What the gateway calls its use of the slot; the same for several requests one after the other."""
    grant: GrantNumber | None = None
    keep: bool = False


class Waiting(BaseModel):
    """So many requests of the gateway wait for a slot of this worker."""

    type: Literal["waiting"] = "waiting"
    requests: Slots
    """At most as many as the worker has slots."""


class Keep(BaseModel):
    """A slot is used by the lease, although no request has begun."""

    type: Literal["keep"] = "keep"
    lease: LeaseId
    grant: GrantNumber | None = None


class GiveBack(BaseModel):
    """The lease is over, or the grant not needed. Does nothing for what is over already."""

    type: Literal["give_back"] = "give_back"
    lease: LeaseId | None = None
    grant: GrantNumber | None = None


class Standing(BaseModel):
    """How many slots other gateways use or have been granted, and how many other gateways wait."""

    type: Literal["standing"] = "standing"
    others: Slots
    waiting: Annotated[int, Field(ge=0, lt=MOST_GATEWAYS, strict=True)]


class Grant(BaseModel):
    """A slot is kept free for the gateway's next request."""

    type: Literal["grant"] = "grant"
    number: GrantNumber


_of_gateways: TypeAdapter[Waiting | Keep | GiveBack] = TypeAdapter(
    Annotated[Waiting | Keep | GiveBack, Field(discriminator="type")]
)
_of_workers: TypeAdapter[Standing | Grant] = TypeAdapter(
    Annotated[Standing | Grant, Field(discriminator="type")]
)


def decode_gateways_slot_message(text: str | bytes) -> Waiting | Keep | GiveBack:
    """What a gateway says of slots. Raises ProtocolError."""
    return _decode(_of_gateways, text)


def decode_workers_slot_message(text: str | bytes) -> Standing | Grant:
    """What a worker says of its slots. Raises ProtocolError."""
    return _decode(_of_workers, text)


def _decode(adapter: TypeAdapter[Message], text: str | bytes) -> Message:
    if len(text) > MAX_SLOT_MESSAGE_BYTES:
        raise ProtocolError("a message about slots is short")
    try:
        return adapter.validate_json(text)
    except ValidationError as error:
        raise ProtocolError(f"not a message about slots: {error.error_count()} errors") from None
