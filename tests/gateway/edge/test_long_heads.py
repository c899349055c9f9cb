"""What a client sends beside its body is bounded: nobody fills the memory of a gateway with header lines."""

from __future__ import annotations

import pytest

from sockets.http.heads import LONGEST_URL, MOST_QUERY_FIELDS
from tests.gateway.edge.server import connected

HEAD = b"POST / HTTP/1.1\r\nHost: here\r\nConnection: close\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
LINE = b"X-Line: " + b"a" * 10_000 + b"\r\n"
MAX_LINES = 1000
"""More than sockets hold by themselves."""


@pytest.mark.parametrize("before", [HEAD, CHUNKED + b"1\r\na\r\n0\r\n"], ids=["headers", "trailers"])
async def test_who_does_not_cease_to_send_header_lines_is_cut(before: bytes) -> None:
    async with connected() as (_, writer):
        writer.write(before)
        with pytest.raises(ConnectionError):
            for _ in range(MAX_LINES):
                writer.write(LINE)
                await writer.drain()


@pytest.mark.parametrize(("length", "status"), [(LONGEST_URL, 200), (LONGEST_URL + 1, 414), (1 << 20, 414)])
async def test_who_sends_too_long_an_address_hears_how_long_it_may_be(length: int, status: int) -> None:
    url = b"/?text=".ljust(length, b"a")
    async with connected() as (reader, writer):
        for start in range(0, length, 50_000):
            writer.write((b"" if start else b"GET ") + url[start : start + 50_000])
            await writer.drain()
        writer.write(b" HTTP/1.1\r\nHost: here\r\nConnection: close\r\n" + LINE * 4 + b"\r\n")
        answer = await reader.read()
    assert answer.startswith(b"HTTP/1.1 %d" % status)
    assert (b"uri_too_long" in answer and b"65535 bytes" in answer) == (status == 414)


@pytest.mark.parametrize(("fields", "status"), [(MOST_QUERY_FIELDS, 200), (MOST_QUERY_FIELDS + 1, 400)])
async def test_an_address_has_so_many_fields_and_no_more(fields: int, status: int) -> None:
    async with connected() as (reader, writer):
        writer.write(b"GET /?" + b"&".join([b"a"] * fields) + b" HTTP/1.1\r\nHost: here\r\n")
        writer.write(b"Connection: close\r\n\r\n")
        answer = await reader.read()
    assert answer.startswith(b"HTTP/1.1 %d" % status)
    assert (b"at most 100 fields" in answer) == (status == 400)


async def test_too_long_an_address_of_a_socket_is_refused() -> None:
    async with connected() as (reader, writer):
        writer.write(b"GET /" + b"a" * LONGEST_URL + b" HTTP/1.1\r\nHost: here\r\n")
        writer.write(b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
        answer = await reader.read()
    assert answer.startswith(b"HTTP/1.1 414")


async def test_an_address_without_end_is_cut() -> None:
    async with connected() as (_, writer):
        writer.write(b"GET /")
        with pytest.raises(ConnectionError):
            for _ in range(MAX_LINES):
                writer.write(b"a" * 10_000)
                await writer.drain()


async def test_an_answer_that_is_due_comes_before_too_long_an_address_ends_the_connection() -> None:
    async with connected() as (reader, writer):
        writer.write(CHUNKED.replace(b"Connection: close\r\n", b"") + b"1\r\na\r\n0\r\n\r\n")
        writer.write(b"GET /" + b"a" * LONGEST_URL + b" HTTP/1.1\r\n\r\n")
        answer = await reader.read()
    assert answer.startswith(b"HTTP/1.1 200")


async def test_a_long_head_and_a_body_in_many_small_pieces_are_taken() -> None:
    async with connected() as (reader, writer):
        writer.write(CHUNKED.replace(b"Host", LINE * 4 + b"Host"))
        for _ in range(20_000):
            writer.write(b"1\r\na\r\n")
            await writer.drain()
        writer.write(b"0\r\n\r\n")
        answer = await reader.read()
    assert answer.startswith(b"HTTP/1.1 200") and answer.endswith(b"20000")
