"""The least HTTP client that can load a server from the same machine: one request, one connection.

Ready-made clients take as much CPU per request as the gateway does, which on two cores measures the client.
"""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

HOST = "127.0.0.1"
ADMIN_TOKEN = "the-admin-token-of-benchmarks"


@dataclass(frozen=True)
class Answer:
    """A response and what it took, from before the connection to the last byte."""

    status: int
    headers: dict[str, str]
    body: bytes
    seconds: float


def post_tts(request: dict[str, Any], headers: dict[str, str] | None = None) -> bytes:
    """`POST /tts` as it goes over the wire."""
    body = json.dumps(request).encode()
    lines = [
        "POST /tts HTTP/1.1",
        f"Host: {HOST}",
        "Connection: close",
        "Content-Type: application/json",
        f"Content-Length: {len(body)}",
        *(f"{name}: {value}" for name, value in (headers or {}).items()),
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


async def exchange(port: int, raw: bytes) -> Answer:
    """Send a whole request, read the whole response. Raises OSError, asyncio.IncompleteReadError."""
    loop = asyncio.get_running_loop()
    began = loop.time()
    reader, writer = await asyncio.open_connection(HOST, port, limit=1 << 20)
    try:
        writer.write(raw)
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {}
        for line in head[1:]:
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        return Answer(int(head[0].split()[1]), headers, body, loop.time() - began)
    finally:
        writer.transport.abort()


async def get(port: int, path: str) -> tuple[int, Any]:
    """Status and body, which is parsed when it is JSON."""
    admin = f"X-Admin-Token: {ADMIN_TOKEN}\r\n"
    raw = f"GET {path} HTTP/1.1\r\nHost: {HOST}:{port}\r\n{admin}Connection: close\r\n\r\n".encode()
    answer = await exchange(port, raw)
    is_json = answer.headers.get("content-type", "").startswith("application/json")
    return answer.status, json.loads(answer.body) if is_json else answer.body.decode()
