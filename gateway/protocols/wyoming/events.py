"""Events on the wire: a line of JSON, then as many bytes of data and of payload as the line says.

{"type": "synthesize", "data_length": 18}
{"text": "Hello."}
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import Any

from gateway.errors import ApiError
from gateway.requests import fields_of


@dataclass(frozen=True)
class Event:
    """Payloads of clients are of no interest here, and forgotten."""

    type: str
    data: dict[str, Any] = field(default_factory=dict)


def encode(kind: str, data: dict[str, Any] | None = None, payload: bytes = b"") -> bytes:
    """An event of ours."""
    head: dict[str, Any] = {"type": kind}
    body = json.dumps(data).encode() if data else b""
    if body:
        head["data_length"] = len(body)
    if payload:
        head["payload_length"] = len(payload)
    return json.dumps(head).encode() + b"\n" + body + payload


async def read_event(reader: asyncio.StreamReader, most_bytes: int) -> Event | None:
    """The next event; None when the client has left. Raises ApiError for what is none, or too large.

    `most_bytes`: of data, and of payload; that of the line is the reader's limit.
    """
    await asyncio.sleep(0)  # one that has arrived is read without waiting, and so are a hundred thousand
    try:
        line = await reader.readline()
        if not line:
            return None
        head = fields_of(line, "event")
        data = head.get("data")
        data = dict(data) if isinstance(data, dict) else {}
        if length := _length(head, "data_length", most_bytes):
            data |= fields_of(await reader.readexactly(length), "event")
        if length := _length(head, "payload_length", most_bytes):
            await reader.readexactly(length)
    except (asyncio.IncompleteReadError, ConnectionError):
        return None
    except ValueError as error:  # what readline raises for a line without end
        raise ApiError(413, "event_too_large", "the line of an event is too long") from error
    if not isinstance(head.get("type"), str):
        raise ApiError(400, "invalid_event", "an event has a type", param="type")
    return Event(head["type"], data)


def _length(head: dict[str, Any], name: str, most_bytes: int) -> int:
    length = head.get(name) or 0
    if not isinstance(length, int) or length < 0:
        raise ApiError(400, "invalid_event", f"{name} is a number of bytes", param=name)
    if length > most_bytes:
        raise ApiError(413, "event_too_large", f"{name} is at most {most_bytes}", param=name)
    return length
