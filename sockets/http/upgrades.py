"""Requests that offer another protocol than WebSocket: uvicorn's own, which loses their bodies.

Java's client offers `Upgrade: h2c` with every request, of which a server may take no notice (RFC 9110,
section 7.8). The parser takes what follows such a head for the other protocol. So another one goes on behind
it, which is told how the body is framed: else that would be read as a request of its own.
"""

from __future__ import annotations

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_FRAMING = (b"content-length", b"transfer-encoding")


class UpgradingProtocol(HttpToolsProtocol):
    """HTTP/1.1 that knows of no other protocol than WebSocket."""

    _deaf = False
    """Whether all that is received is thrown away."""

    def __init__(self, *arguments: object, **options: object) -> None:
        super().__init__(*arguments, **options)
        self.parser = _Parser(self)


class _Parser:
    """A parser that goes on behind a head with an offer of which nobody takes notice."""

    def __init__(self, protocol: HttpToolsProtocol) -> None:
        self._protocol = protocol
        self._begin()

    def _begin(self, head: bytes = b"") -> None:
        """Parse what is received anew; `head`: of a request whose head is known."""
        told = _Told(self._protocol)
        self._parser = httptools.HttpRequestParser(told)
        self._parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn does
        if head:
            told.is_known = True
            self._parser.feed_data(head)
            told.is_known = False
        self.get_http_version, self.get_method = self._parser.get_http_version, self._parser.get_method
        self.should_upgrade = self._parser.should_upgrade
        self.should_keep_alive = self._parser.should_keep_alive

    def feed_data(self, data: bytes) -> None:
        while not self._protocol._deaf:
            try:
                self._parser.feed_data(data)
            except httptools.HttpParserUpgrade as upgrade:
                if self._protocol._should_upgrade():
                    raise
                framing = (header for header in self._protocol.headers if header[0] in _FRAMING)
                lines = b"".join(b"%s: %s\r\n" % header for header in framing)
                data = data[upgrade.args[0] :]
                self._begin(b"POST / HTTP/1.1\r\n%s\r\n" % lines)
            else:
                return


class _Told:
    """What a parser tells goes to the protocol, which is told of each request once."""

    def __init__(self, protocol: HttpToolsProtocol) -> None:
        self._protocol = protocol
        self.is_known = False
        """The head that is parsed."""
        self.on_body = protocol.on_body

    def on_message_begin(self) -> None:
        if not self.is_known:
            self._protocol.on_message_begin()

    def on_url(self, url: bytes) -> None:
        if not self.is_known:
            self._protocol.on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self.is_known:
            self._protocol.on_header(name, value)

    def on_headers_complete(self) -> None:
        if not self.is_known:
            self._protocol.on_headers_complete()

    def on_message_complete(self) -> None:
        is_over = self.is_known or not self._protocol.parser.should_upgrade()
        if is_over or self._protocol._should_upgrade():
            self._protocol.on_message_complete()
