"""The HTTP client with which workers are asked: none takes the gateway's time by what it answers.

An answer of single bytes in chunks of their own, or of interim answers without end, is parsed as far as it
was read without anybody else having a turn. So little is read at once, and one that goes on so is cut.
"""

from __future__ import annotations

import math
import ssl
from collections.abc import AsyncIterator
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any

import httpcore
import httpx

from sockets.authorities import authorities

_READ_BYTES = 1 << 12
"""At once. 4 KiB of the smallest chunks take 7 ms."""
_HEAD_BYTES = 1 << 14
"""With the interim answers before it."""
_MOST_PIECES, _LEAST_BYTES = 128, 64
"""Of a body so many pieces may come with fewer bytes each, on average."""


class WorkerTransport(httpx.AsyncHTTPTransport):
    """HTTP/1.1 with as many connections as are asked for: workers that hang would otherwise use up those
    with which others are probed.
    """

    def __init__(self) -> None:
        super().__init__(verify=authorities(), trust_env=False)
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=authorities(),
            max_connections=None,
            max_keepalive_connections=None,
            network_backend=_Backend(),
        )


def worker_http() -> httpx.AsyncClient:
    """A client that keeps no cookies and asks no proxy."""
    nothing_kept = CookieJar(DefaultCookiePolicy(allowed_domains=()))
    return httpx.AsyncClient(trust_env=False, transport=WorkerTransport(), cookies=nothing_kept)


async def pieces_of(response: httpx.Response) -> AsyncIterator[bytes]:
    """The body of a streamed answer as it comes. Raises httpx.ReadError for one in tiny pieces."""
    stream = response.extensions.get("network_stream")
    if isinstance(stream, _Stream):
        stream.head_left = math.inf
    pieces = size = 0
    async for piece in response.aiter_raw():
        yield piece
        pieces, size = pieces + 1, size + len(piece)
        if pieces > _MOST_PIECES and size < _LEAST_BYTES * pieces:
            raise httpx.ReadError("the answer comes in tiny pieces")


class _Backend(httpcore.AnyIOBackend):
    async def connect_tcp(self, *args: Any, **options: Any) -> httpcore.AsyncNetworkStream:
        return _Stream(await super().connect_tcp(*args, **options))


class _Stream(httpcore.AsyncNetworkStream):
    def __init__(self, stream: httpcore.AsyncNetworkStream) -> None:
        self._stream = stream
        self.head_left = float(_HEAD_BYTES)
        """Bytes until the head of the answer has to be over; infinite once it is."""

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if self.head_left <= 0:
            raise httpcore.ReadError("the answer does not begin")
        data = await self._stream.read(min(max_bytes, _READ_BYTES), timeout)
        self.head_left -= len(data)
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self.head_left = float(_HEAD_BYTES)
        await self._stream.write(buffer, timeout)

    async def aclose(self) -> None:
        await self._stream.aclose()

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        return _Stream(await self._stream.start_tls(ssl_context, server_hostname, timeout))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)
