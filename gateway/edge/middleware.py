"""What surrounds every HTTP request: id, security headers, bounds on its body, the metric, the last error.

What a head can tell is looked at before any of the body is read: the HTTP version, the host (of sockets
too), and who sends the body. Plain ASGI, one pass, no buffering, so that streams and disconnects go through
untouched.
"""

from __future__ import annotations

import asyncio
import re
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import structlog
from starlette.datastructures import URL, Headers, MutableHeaders
from starlette.requests import ClientDisconnect, HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.bodies import MOST_BODY_VALUES, ValueCount
from gateway.edge.hosts import AllowedHosts
from gateway.edge.memory import LargeBytes
from gateway.edge.paths import at_path
from gateway.edge.turns import BEGUN_BYTES, WHOSE, Turns
from gateway.errors import ERROR_SHAPE, ApiError, ErrorShape, error_response, internal_error
from gateway.metrics import Metrics
from gateway.settings import GatewaySettings
from sockets.cookies import drop_cookies
from telemetry import TraceContext
from telemetry.spans import INCOMING

logger = structlog.get_logger(__name__)

_REQUEST_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
_HTTP_VERSIONS = ("1.0", "1.1")
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
_CONTENT_SECURITY_POLICY = "; ".join(
    (
        "default-src 'self'",
        "img-src 'self' data:",
        "media-src 'self' blob:",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
_SECURITY_HEADERS = {
    "Content-Security-Policy": _CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def request_id_of(headers: Headers) -> str:
    """The client's X-Request-Id when it is harmless, else a new one."""
    given = headers.get("x-request-id", "")
    return given if _REQUEST_ID.fullmatch(given) else uuid.uuid4().hex


def _without_host(location: str, scope: Scope) -> str:
    """The redirection of a path with a slash at its end, which names the scheme that we are asked with: a
    proxy before us may have another one, and its client would send its key unencrypted.
    """
    scheme, _, rest = location.partition("://")
    host, _, path = rest.partition("/")
    if scheme not in ("http", "https") or host != URL(scope=scope).netloc:
        return location
    return "/" + path.lstrip("/")  # two of them would begin a host


_NOBODY = 499
"""The status of an answer that nobody received; it is in the metrics."""


@dataclass(frozen=True)
class BodyLimit:
    """What the bodies of a path may be."""

    bytes: int
    seconds: float
    """From the head to the end of the body."""
    in_memory: bool = True
    """Whether it is kept there, not on disk."""
    values: int = MOST_BODY_VALUES
    """How many it may hold as JSON."""
    lists: int | None = None
    """How many of those may be lists or objects, which take the most time; None: all."""


class EdgeMiddleware:
    """Wraps the whole application; `scope["state"]["request_id"]` is set for HTTP and WebSocket alike."""

    def __init__(
        self,
        app: ASGIApp,
        metrics: Metrics,
        settings: GatewaySettings,
        check_sender: Callable[[HTTPConnection], None],
        address_of: Callable[[HTTPConnection], str],
        error_shape_of: Callable[[Scope], ErrorShape | None] = lambda scope: None,
        body_limits: Mapping[str, BodyLimit] = MappingProxyType({}),
        traced: bool = False,
    ) -> None:
        """`check_sender` raises ApiError for a head whose sender may not send a body. `address_of`:
        of the client.
        `error_shape_of`: the shape of errors for a request, where it is not the one of `gateway.errors`.

        `body_limits`: of certain paths, or of all below /two/names/; elsewhere `max_body_bytes` and
        `body_timeout_seconds` hold. `traced`: a client may say which trace its request belongs to.
        """
        self._app = app
        self._metrics = metrics
        self._hosts = AllowedHosts(settings.allowed_hosts)
        self._check_sender, self._address_of = check_sender, address_of
        self._error_shape_of = error_shape_of
        self._silence_seconds = settings.body_timeout_seconds
        self._body_limit = BodyLimit(settings.max_body_bytes, settings.body_timeout_seconds)
        self._body_limits = body_limits
        self._large = LargeBytes()
        self._turns = Turns()
        self._traced = traced

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        drop_cookies(scope)
        headers = Headers(scope=scope)
        request_id = request_id_of(headers)
        if self._traced:
            INCOMING.set(TraceContext.parse(headers.get("traceparent", "")))
        scope.setdefault("state", {})["request_id"] = request_id
        if (shape := self._error_shape_of(scope)) is not None:
            scope["state"][ERROR_SHAPE] = shape
        whose = scope["state"][WHOSE] = self._address_of(HTTPConnection(scope))
        await self._turns.take(BEGUN_BYTES, whose)
        if scope["type"] == "websocket":
            await self._open_socket(scope, receive, send)
            return
        limit = self._limit_of(scope["path"])
        exchange = _Exchange(
            scope, receive, send, request_id, limit, self._silence_seconds, self._large, self._turns
        )
        try:
            self._check_head(scope, exchange)
            await self._app(scope, exchange.receive, exchange.send)
        except ClientDisconnect:
            logger.debug("the client left in the middle of its body", request_id=request_id)
        except Exception as error:
            if exchange.status:
                raise
            if not isinstance(error, ApiError):
                logger.exception("unhandled error", request_id=request_id)
                error = internal_error()
            await error_response(error, scope)(scope, receive, exchange.send)
        finally:
            exchange.close()
            route = getattr(scope.get("route"), "path", "unmatched")
            method = scope["method"] if scope["method"] in _METHODS else "OTHER"
            self._metrics.http_requests.labels(route, method, str(exchange.status or _NOBODY)).inc()

    def _limit_of(self, path: str) -> BodyLimit:
        return at_path(path, self._body_limits, self._body_limit)

    def _check_head(self, scope: Scope, exchange: _Exchange) -> None:
        """Raises ApiError for what can be refused before any of the body is read."""
        if scope["http_version"] not in _HTTP_VERSIONS:
            raise ApiError(505, "http_version_not_supported", "this service speaks HTTP/1.1")
        self._hosts.check(scope)
        headers = Headers(scope=scope)
        if headers.get("content-length", "0") != "0" or "transfer-encoding" in headers:
            self._check_sender(HTTPConnection(scope))
            exchange.check_announced_length(headers)
            if headers.get("content-encoding", "identity").lower() != "identity":
                message = "Content-Encoding: bodies are read as they are, so send them without compression"
                raise ApiError(415, "compressed_body", message)

    async def _open_socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            self._hosts.check(scope)
        except ApiError as error:
            await receive()
            await error_response(error, scope)(scope, receive, send)
            return
        await self._app(scope, receive, send)


class _Exchange:
    """One HTTP request and its response."""

    __slots__ = (
        "_body_bytes",
        "_body_complete",
        "_deadline",
        "_large",
        "_large_bytes",
        "_limit",
        "_receive",
        "_request_id",
        "_scope",
        "_send",
        "_silence_seconds",
        "_turns",
        "_values",
        "status",
    )

    def __init__(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        request_id: str,
        limit: BodyLimit,
        silence_seconds: float,
        large: LargeBytes,
        turns: Turns,
    ) -> None:
        self.status = 0
        """Of the response; 0 before it began."""
        self._scope = scope
        self._receive = receive
        self._send = send
        self._request_id = request_id
        self._limit = limit
        self._silence_seconds = silence_seconds
        self._deadline = asyncio.get_running_loop().time() + limit.seconds
        self._large = large
        self._turns = turns
        self._values = ValueCount(limit.values, limit.lists)
        self._body_bytes = self._large_bytes = 0
        self._body_complete = False

    def check_announced_length(self, headers: Headers) -> None:
        """Refuse a body that says it is too large before any of it is read."""
        length = headers.get("content-length", "0")
        if length.isdecimal() and int(length) > self._limit.bytes:
            raise self._too_large()

    def _too_large(self) -> ApiError:
        return ApiError(413, "body_too_large", f"the body has more than {self._limit.bytes} bytes")

    async def receive(self) -> Message:
        """The server's receive, with limits of size and patience while the body comes."""
        if self._body_complete:
            return await self._receive()
        silent_until = asyncio.get_running_loop().time() + self._silence_seconds
        try:
            async with asyncio.timeout_at(min(silent_until, self._deadline)):
                message = await self._receive()
        except TimeoutError:
            raise ApiError(408, "body_timeout", "the body did not come in time") from None
        if message["type"] == "http.request":
            self._body_complete = not message.get("more_body", False)
            self._body_bytes += len(message.get("body", b""))
            if self._body_bytes > self._limit.bytes:
                raise self._too_large()
            if self._limit.in_memory:
                self._large_bytes = self._large.change(self._body_bytes, self._large_bytes)
                await self._look_at(message.get("body", b""))
        return message

    async def _look_at(self, chunk: bytes) -> None:
        """Of a body that will be parsed. Raises ApiError."""
        self._values.add(chunk)
        if self._body_complete and self._body_bytes:
            await self._turns.take(self._body_bytes, self._scope["state"][WHOSE])
            self._values.check()

    def close(self) -> None:
        """The request is answered."""
        self._large.give_back(self._large_bytes)
        self._large_bytes = 0

    async def send(self, message: Message) -> None:
        """The server's send, adding headers."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            headers["X-Request-Id"] = self._request_id
            for name, value in _SECURITY_HEADERS.items():
                headers.setdefault(name, value)
            headers.setdefault("Cache-Control", "no-store")
            if "location" in headers:
                headers["Location"] = _without_host(headers["location"], self._scope)
        await self._send(message)
