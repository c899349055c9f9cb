"""Offers of another protocol than WebSocket: the request is answered as if there were none (S24)."""

from __future__ import annotations

import pytest

from sockets.http import upgrades
from sockets.http.pipelining import MOST_PIPELINED
from tests.gateway.edge.server import connected
from tests.security.raw import read_response

HEAD = b"POST / HTTP/1.1\r\nHost: here\r\nConnection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\n"
BODY = b"GET /another HTTP/1.1\r\nHost: here\r\n\r\n"
LENGTH = b"Content-Length: %d\r\n" % len(BODY)
LAST = b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 1\r\nConnection: close\r\n\r\na"


@pytest.mark.parametrize(
    ("framing", "body", "length"),
    [
        (LENGTH, BODY, len(BODY)),
        (b"Transfer-Encoding: chunked\r\n", b"%x\r\n%s\r\n0\r\n\r\n" % (len(BODY), BODY), len(BODY)),
        (b"Content-Length: 0\r\n", b"", 0),
        (b"", b"", 0),
    ],
    ids=["length", "chunks", "empty", "none"],
)
@pytest.mark.parametrize("at_once", [True, False])
async def test_a_request_that_offers_another_protocol_has_its_body(
    framing: bytes, body: bytes, length: int, at_once: bool
) -> None:
    """And that is no request of its own, whatever it looks like."""
    async with connected() as (reader, writer):
        for piece in [HEAD + framing + b"\r\n" + body + LAST] if at_once else [HEAD, framing, b"\r\n", body]:
            writer.write(piece)
            await writer.drain()
        assert (await read_response(reader)).endswith(b"\r\n\r\n%d" % length)
        if not at_once:
            writer.write(LAST)
        assert (await reader.read()).endswith(b"\r\n\r\n1")


async def test_of_thousands_of_offers_in_one_piece_those_within_the_bound_are_read(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each takes a parser of its own, and a copy of what follows."""
    begun: list[bytes] = []
    begin = upgrades._Parser._begin
    monkeypatch.setattr(
        upgrades._Parser, "_begin", lambda self, head=b"": begun.append(head) or begin(self, head)
    )
    async with connected() as (reader, writer):
        writer.write((HEAD + b"\r\n") * 3000)
        answers = await reader.read()
    assert 1 <= answers.count(b"HTTP/1.1 200") <= MOST_PIPELINED + 1
    assert len(begun) <= MOST_PIPELINED + 3
