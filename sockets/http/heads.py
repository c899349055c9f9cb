"""How long the head of a request may be, and what the server itself answers, as it never becomes a request.

A client hears 414 once its head is there: an answer in the middle would be lost with the connection. Of an
address that is too long no more is kept than one may have. Too many header lines end the connection. Codings
of a body but `chunked`, which the parser hands on undecoded, are a 501 (RFC 9112, section 6.1).

Chunks that arrive together are handed on as one: of a hundred thousand single bytes each took a copy of
all that came before it. What stands in the lines between them counts as header lines.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from sockets.http.pipelining import PipeliningProtocol

LONGEST_URL = (1 << 16) - 1
"""Bytes of an address; httptools takes no longer one."""
MOST_QUERY_FIELDS = 100
"""The most fields in an address: 30,000 fit into one, and take 60 ms to parse, which holds up everybody."""
_LONGEST_HEARD_URL = 1 << 20
"""Bytes of one that is answered 414; it counts as header lines beyond."""
_LONGEST_HEAD = 1 << 16
"""Bytes of header lines; as many as fit into one read of the socket may be more."""
_CHUNK_LINES = 32
"""Bytes of the lines around a chunk, without what may be added to them."""


def raw_response(
    status: int, code: str, body: dict[str, Any], headers: Mapping[str, str] = MappingProxyType({})
) -> bytes:
    """The bytes of a response after which the connection is closed."""
    content = json.dumps(body).encode()
    head = [f"HTTP/1.1 {status} {code}"]
    head += [f"{name}: {value}" for name, value in headers.items()]
    head += ["Content-Type: application/json", f"Content-Length: {len(content)}", "Connection: close"]
    return "\r\n".join([*head, "", ""]).encode("latin-1") + content


class BoundedHeadProtocol(PipeliningProtocol, ABC):
    """HTTP/1.1 whose heads have an end."""

    _url_bytes = 0
    _in_head = False
    _head_bytes = 0
    """Since the last of a head or of a message was received, but for its body."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._chunks: list[bytes] = []
        """Of the body that is being received."""

    @abstractmethod
    def refuse(self, status: int, code: str, message: str) -> None:
        """Answer so, in the error shape of the subclass, and close."""

    def write_last(self, response: bytes) -> None:
        """A response after which the connection is closed."""
        if not self.transport.is_closing():
            self.transport.write(response)
            self.transport.close()

    def send_400_response(self, msg: str) -> None:
        """uvicorn's way out for what is no HTTP."""
        self.refuse(400, "bad_request", "this is no HTTP/1.1 request")

    def data_received(self, data: bytes) -> None:
        self._head_bytes += 0 if self._deaf else len(data)
        super().data_received(data)
        self._hand_on_body()
        if self._head_bytes > _LONGEST_HEAD:
            self.transport.abort()

    def on_message_begin(self) -> None:
        self._url_bytes = 0
        self._in_head = True
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head:  # a line behind the body says nothing of the request (RFC 9110, section 6.5.1)
            super().on_header(name, value)

    def on_url(self, url: bytes) -> None:
        self._url_bytes += len(url)
        if self._url_bytes <= _LONGEST_HEARD_URL:
            self._head_bytes -= len(url)
        if self._url_bytes <= LONGEST_URL:
            super().on_url(url)

    def on_headers_complete(self) -> None:
        self._head_bytes = 0
        self._in_head = False
        refusal = self._refusal_of_head()
        if refusal is None:
            super().on_headers_complete()
        elif self._answering:
            self._turn_deaf()
        elif not self._deaf:
            self._deaf = True
            self.refuse(*refusal)

    def _refusal_of_head(self) -> tuple[int, str, str] | None:
        """Status, code and message for a head whose body nobody is to read."""
        if self._url_bytes > LONGEST_URL:
            message = f"an address has at most {LONGEST_URL} bytes: send the text as the body of a POST"
            return 414, "uri_too_long", message
        if self.url.count(b"&") >= MOST_QUERY_FIELDS:
            message = f"an address has at most {MOST_QUERY_FIELDS} fields: send more as the body of a POST"
            return 400, "bad_request", message
        codings = [value.strip().lower() for name, value in self.headers if name == b"transfer-encoding"]
        if codings and self.parser.get_http_version() == "1.0":
            return 400, "bad_request", "HTTP/1.0 has no Transfer-Encoding"
        if codings and codings != [b"chunked"]:
            return 501, "transfer_encoding_not_supported", "Transfer-Encoding: a body is chunked, or plain"
        return None

    def on_body(self, body: bytes) -> None:
        self._chunks.append(body)

    def on_message_complete(self) -> None:
        self._hand_on_body()
        self._head_bytes = 0
        super().on_message_complete()

    def _hand_on_body(self) -> None:
        if self._chunks:
            body, count = b"".join(self._chunks), len(self._chunks)
            self._chunks.clear()
            self._head_bytes = max(0, self._head_bytes - len(body) - count * _CHUNK_LINES)
            super().on_body(body)
