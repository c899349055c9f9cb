"""Bodies in very many chunks, and in chunks with much around them."""

from __future__ import annotations

import asyncio

import pytest
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from sockets.http import slices
from sockets.http.heads import BoundedHeadProtocol
from tests.gateway.edge.server import connected
from tests.gateway.edge.ticker import Ticker

HEAD = b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
CHUNKS = 50_000


async def test_chunks_that_come_together_are_handed_on_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each was added to a copy of all that had come before it."""
    handed_on: list[int] = []
    take = HttpToolsProtocol.on_body

    def noted(self: HttpToolsProtocol, body: bytes) -> None:
        handed_on.append(len(body))
        take(self, body)

    monkeypatch.setattr(HttpToolsProtocol, "on_body", noted)
    async with connected() as (reader, writer):
        writer.write(
            HEAD + b"1\r\na\r\n" * CHUNKS + b"0\r\n\r\n" + b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
        )
        for length in (CHUNKS, 0):
            assert b"200" in await reader.readuntil(b"\r\n\r\n")
            assert await reader.readexactly(len(str(length))) == str(length).encode()
    assert sum(handed_on) == CHUNKS
    assert len(handed_on) < CHUNKS / 100


async def test_very_many_lines_are_read_a_little_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty clients that sent single bytes held up everybody for half a second."""
    turns: list[int] = []
    read = BoundedHeadProtocol.data_received

    def noted(self: BoundedHeadProtocol, data: bytes) -> None:
        assert data.count(b"\n") <= slices.MOST_LINES
        if len(data) == slices.SLICE_BYTES:
            turns.append(ticker.turn)
        read(self, data)

    monkeypatch.setattr(BoundedHeadProtocol, "data_received", noted)
    async with connected() as (reader, writer):
        ticker = Ticker()
        writer.write((HEAD + b"1\r\na\r\n" * CHUNKS + b"0\r\n\r\n") * 2)
        for _ in range(2):
            assert b"200" in await reader.readuntil(b"\r\n\r\n")
            assert await reader.readexactly(5) == b"%d" % CHUNKS
        ticker.stop()
    assert len(turns) > 50 and len(set(turns)) >= len(turns) / 2


async def test_what_stands_between_chunks_has_an_end() -> None:
    async with connected() as (reader, writer):
        writer.write(HEAD + (b"1;" + b"x" * 3000 + b"\r\na\r\n") * 100 + b"0\r\n\r\n")
        with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
            await reader.readexactly(1)


async def test_a_chunk_may_have_something_added_to_its_length() -> None:
    async with connected() as (reader, writer):
        writer.write(HEAD + b"1;name=value\r\na\r\n" * CHUNKS + b"0\r\n\r\n")
        assert b"200" in await reader.readuntil(b"\r\n\r\n")
        assert await reader.readexactly(5) == b"%d" % CHUNKS
