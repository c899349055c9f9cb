"""What the server itself answers, as it never becomes a request: bytes that are no HTTP, too long an address.

A client hears 414 once its head is there: an answer in the middle would be lost with the connection. Of an
address that is too long no more is kept than one may have.
"""

from __future__ import annotations

import json

from gateway.edge.connections.pipelining import PipeliningProtocol
from gateway.errors import ApiError

LONGEST_URL = (1 << 16) - 1
"""Bytes of an address; httptools takes no longer one."""
_LONGEST_HEARD_URL = 1 << 20
"""Bytes of one that is answered 414; it counts as header lines beyond."""


def raw_response(error: ApiError) -> bytes:
    """The error as the bytes of a response after which the connection is closed."""
    body = json.dumps(error.to_dict()).encode()
    head = [f"HTTP/1.1 {error.status_code} {error.code}"]
    head += [f"{name}: {value}" for name, value in (error.headers or {}).items()]
    head += ["Content-Type: application/json", f"Content-Length: {len(body)}", "Connection: close"]
    return "\r\n".join([*head, "", ""]).encode("latin-1") + body


class RefusingProtocol(PipeliningProtocol):
    """HTTP/1.1 whose own refusals have the one error shape."""

    _url_bytes = 0
    _head_bytes = 0
    """Since the last of a head, of a body or of a message was received."""

    def send_400_response(self, msg: str) -> None:
        """uvicorn's way out for what is no HTTP."""
        self._refuse(ApiError(400, "bad_request", "this is no HTTP/1.1 request"))

    def on_message_begin(self) -> None:
        self._url_bytes = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._url_bytes += len(url)
        if self._url_bytes <= _LONGEST_HEARD_URL:
            self._head_bytes -= len(url)
        if self._url_bytes <= LONGEST_URL:
            super().on_url(url)

    def on_headers_complete(self) -> None:
        if self._url_bytes <= LONGEST_URL:
            super().on_headers_complete()
        elif self._answering:
            self._turn_deaf()
        elif not self._deaf:
            self._deaf = True
            message = f"an address has at most {LONGEST_URL} bytes: send the text as the body of a POST"
            self._refuse(ApiError(414, "uri_too_long", message))

    def _refuse(self, error: ApiError) -> None:
        if not self.transport.is_closing():
            self.transport.write(raw_response(error))
            self.transport.close()
