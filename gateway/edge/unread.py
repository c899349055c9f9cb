"""Large answers go out as they are read, and what waits of them has a bound, in all and for one address.

The server would take all of an answer at once into the buffer of the connection. There it would stay until it
is read, and a client that reads it, but not within `client_stall_seconds`, would count as one that reads
nothing. So it goes out piece by piece.

JSON of 4 MB costs its client a line to ask for. So what waits of it is counted, and who has too much of it
waiting is refused the next. Audio costs turns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.edge.memory import MOST_LARGE_BYTES, SMALL_BYTES
from gateway.errors import ApiError, error_response


class UnreadAnswers:
    """The middleware. Where none waits, the next is sent, however large it is."""

    def __init__(self, app: ASGIApp, address_of: Callable[[HTTPConnection], str]) -> None:
        self._app = app
        self._address_of = address_of
        self._most, self._most_of_one = MOST_LARGE_BYTES, MOST_LARGE_BYTES // 4
        self._waiting: Counter[str] = Counter()
        """Bytes, by address."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        answer = _Answer(self, scope, receive, send)
        try:
            await self._app(scope, receive, answer.send)
        finally:
            answer.close()

    def take(self, scope: Scope, size: int) -> str | None:
        """The address for which so many bytes are counted from now on; None where there is no room."""
        address = self._address_of(HTTPConnection(scope))
        own, together = self._waiting[address], self._waiting.total()
        if (own and own + size > self._most_of_one) or (together and together + size > self._most):
            return None
        self._waiting[address] += size
        return address

    def give_back(self, address: str, size: int) -> None:
        """So many bytes of an address do not wait any more."""
        self._waiting[address] -= size
        if not self._waiting[address]:
            del self._waiting[address]


class _Answer:
    """One of them, on its way."""

    __slots__ = ("_address", "_bound", "_head", "_receive", "_refused", "_scope", "_send", "_size")

    def __init__(self, bound: UnreadAnswers, scope: Scope, receive: Receive, send: Send) -> None:
        self._bound, self._scope, self._receive, self._send = bound, scope, receive, send
        self._head: Message | None = None
        """Of one that may be large, and is not begun yet."""
        self._address: str | None = None
        self._size = 0
        self._refused = False

    async def send(self, message: Message) -> None:
        """The server's send, a piece at a time where the answer is large."""
        if message["type"] == "http.response.start" and _announced_bytes(message) > SMALL_BYTES:
            self._head = message
        elif self._head is not None:
            await self._begin(self._head, message)
        elif not self._refused:
            await self._send(message)

    async def _begin(self, head: Message, first: Message) -> None:
        self._head = None
        body = first.get("body", b"")
        if _is_json(head) and not self._may_wait(len(body)):
            self._refused = True
            error = ApiError(503, "busy", "read the answers to other requests first", retry_after_seconds=5)
            await error_response(error, self._scope)(self._scope, self._receive, self._send)
            return
        await self._send(head)
        sent = 0
        while len(body) - sent > SMALL_BYTES:
            await self._send({**first, "body": body[sent : sent + SMALL_BYTES], "more_body": True})
            sent += SMALL_BYTES
        await self._send({**first, "body": body[sent:]})

    def _may_wait(self, size: int) -> bool:
        self._address, self._size = self._bound.take(self._scope, size), size
        return self._address is not None

    def close(self) -> None:
        """It is sent, or will not be."""
        if self._address is not None:
            self._bound.give_back(self._address, self._size)


def _announced_bytes(head: Message) -> int:
    return int(Headers(raw=head["headers"]).get("content-length", 0))


def _is_json(head: Message) -> bool:
    return Headers(raw=head["headers"]).get("content-type", "").startswith("application/json")
