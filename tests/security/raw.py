"""Bytes to a gateway and back, for what no HTTP client would send."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from dataclasses import dataclass

PATIENCE_SECONDS = 60.0


@dataclass(frozen=True)
class _Worker:
    url: str


NOWHERE = [_Worker("http://127.0.0.1:9")]
"""The workers of a gateway that needs none."""


async def exchange(port: int, data: bytes) -> bytes:
    """Send, and read until the gateway closes or has sent what it announced."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(data)
        async with asyncio.timeout(PATIENCE_SECONDS):
            return await read_response(reader)
    finally:
        writer.transport.abort()


async def read_response(reader: asyncio.StreamReader) -> bytes:
    """One response with its body; what there is when the connection ends before."""
    head = b""
    with suppress(asyncio.IncompleteReadError, ConnectionError):
        head = await reader.readuntil(b"\r\n\r\n")
        for line in head.split(b"\r\n"):
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                head += await reader.readexactly(int(value))
    return head


def status_of(response: bytes) -> int:
    return int(response.split(b" ", 2)[1])


def code_of(response: bytes) -> str:
    """The code of an error in the one shape."""
    error = json.loads(response.partition(b"\r\n\r\n")[2])["error"]
    assert set(error) == {"message", "type", "param", "code"}
    return error["code"]
