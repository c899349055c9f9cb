"""What surrounds every HTTP request: its id, security headers, a bound on its body, the metric, the last
error.

Plain ASGI, one pass, no buffering, so that streams and disconnects go through untouched.
"""

from __future__ import annotations

import asyncio
import re
import uuid
from collections.abc import Mapping
from types import MappingProxyType

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.errors import ApiError, error_response
from gateway.metrics import Metrics
from gateway.settings import GatewaySettings

logger = structlog.get_logger(__name__)

_REQUEST_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
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


class EdgeMiddleware:
    """Wraps the whole application; `scope["state"]["request_id"]` is set for HTTP and WebSocket alike."""

    def __init__(
        self,
        app: ASGIApp,
        metrics: Metrics,
        settings: GatewaySettings,
        body_limits: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        """`body_limits`: bytes that a body may have at certain paths; elsewhere `max_body_bytes` holds."""
        self._app = app
        self._metrics = metrics
        self._settings = settings
        self._body_limits = body_limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self._app(scope, receive, send)
            return
        request_id = request_id_of(Headers(scope=scope))
        scope.setdefault("state", {})["request_id"] = request_id
        if scope["type"] == "websocket":
            await self._app(scope, receive, send)
            return
        max_body_bytes = self._body_limits.get(scope["path"], self._settings.max_body_bytes)
        exchange = _Exchange(receive, send, request_id, max_body_bytes, self._settings.body_timeout_seconds)
        try:
            exchange.check_announced_length(scope)
            await self._app(scope, exchange.receive, exchange.send)
        except Exception as error:
            if exchange.status:
                raise
            if not isinstance(error, ApiError):
                logger.exception("unhandled error", request_id=request_id)
                error = ApiError(500, "internal_error", "an internal error occurred")
            await error_response(error)(scope, receive, exchange.send)
        finally:
            route = getattr(scope.get("route"), "path", "unmatched")
            method = scope["method"] if scope["method"] in _METHODS else "OTHER"
            self._metrics.http_requests.labels(route, method, str(exchange.status or 499)).inc()


class _Exchange:
    """One HTTP request and its response."""

    __slots__ = (
        "_body_bytes",
        "_body_complete",
        "_body_timeout_seconds",
        "_max_body_bytes",
        "_receive",
        "_request_id",
        "_send",
        "status",
    )

    def __init__(
        self,
        receive: Receive,
        send: Send,
        request_id: str,
        max_body_bytes: int,
        body_timeout_seconds: float,
    ) -> None:
        self.status = 0
        """Of the response; 0 before it began."""
        self._receive = receive
        self._send = send
        self._request_id = request_id
        self._max_body_bytes = max_body_bytes
        self._body_timeout_seconds = body_timeout_seconds
        self._body_bytes = 0
        self._body_complete = False

    def check_announced_length(self, scope: Scope) -> None:
        """Refuse a body that says it is too large before any of it is read."""
        length = Headers(scope=scope).get("content-length", "0")
        if length.isdecimal() and int(length) > self._max_body_bytes:
            raise self._too_large()

    def _too_large(self) -> ApiError:
        return ApiError(413, "body_too_large", f"the body has more than {self._max_body_bytes} bytes")

    async def receive(self) -> Message:
        """The server's receive, with limits of size and patience while the body comes."""
        if self._body_complete:
            return await self._receive()
        try:
            async with asyncio.timeout(self._body_timeout_seconds):
                message = await self._receive()
        except TimeoutError:
            raise ApiError(408, "body_timeout", "the body did not come in time") from None
        if message["type"] == "http.request":
            self._body_complete = not message.get("more_body", False)
            self._body_bytes += len(message.get("body", b""))
            if self._body_bytes > self._max_body_bytes:
                raise self._too_large()
        return message

    async def send(self, message: Message) -> None:
        """The server's send, adding headers."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            headers["X-Request-Id"] = self._request_id
            for name, value in _SECURITY_HEADERS.items():
                headers[name] = value
            headers.setdefault("Cache-Control", "no-store")
        await self._send(message)
