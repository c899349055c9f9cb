"""Who may talk to a worker: holders of the shared secret; without a secret, clients on the same machine.

A worker never talks to browsers, so a request with an `Origin` header is refused whoever sent it: a web page
that is open on the worker's machine cannot reach it. `GET /health` and `/ready` answer everyone, so that a
probe needs no secret, but tell strangers the state alone. Who guesses is slowed down (`sockets/guesses.py`)
and logged.
"""

from __future__ import annotations

import hashlib
import hmac

import structlog
from pydantic import SecretStr
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from sockets.cookies import drop_cookies
from sockets.guesses import Guesses
from worker.errors import WorkerError, status_and_detail
from worker.protocol import ErrorCode, is_loopback

logger = structlog.get_logger(__name__)

OPEN_PATHS = frozenset({"/health", "/ready"})
STRANGER = "voxfleet.stranger"
"""In the scope of a request to an open path that showed no right to more."""
_BEARER = "bearer "


class SharedSecretMiddleware:
    """Refuses HTTP requests and WebSocket handshakes before any handler sees them."""

    def __init__(self, app: ASGIApp, secret: SecretStr | None) -> None:
        self.app = app
        self._secret = None if secret is None else secret.get_secret_value().encode()
        self._guesses = Guesses()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = None
        if scope["type"] in ("http", "websocket"):
            drop_cookies(scope)
            refusal = self._refusal(scope)
        if refusal is not None and scope["path"] in OPEN_PATHS and refusal.code is ErrorCode.UNAUTHORIZED:
            scope[STRANGER], refusal = True, None
        if refusal is None:
            await self.app(scope, receive, send)
            return
        status, detail = status_and_detail(refusal)
        headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
        response = JSONResponse({"error": detail.model_dump()}, status, headers)
        await response(scope, receive, send)

    def _refusal(self, scope: Scope) -> WorkerError | None:
        headers = Headers(scope=scope)
        if "origin" in headers:
            return WorkerError(ErrorCode.FORBIDDEN, "a worker serves gateways, not browsers")
        if self._secret is None:
            client = scope.get("client")
            if client is not None and is_loopback(client[0]):
                return None
            return WorkerError(
                ErrorCode.FORBIDDEN, "without a secret, only clients on this machine are served"
            )
        given = headers.get("authorization", "")
        scheme, token = given[: len(_BEARER)], given[len(_BEARER) :].encode("latin-1")
        if scheme.lower() == _BEARER and self._is_right(scope, token):
            return None
        return WorkerError(ErrorCode.UNAUTHORIZED, "the shared secret is missing or wrong")

    def _is_right(self, scope: Scope, token: bytes) -> bool:
        """False too for what is not compared, since its address has guessed too often."""
        address, digest = (scope.get("client") or ("",))[0], hashlib.sha256(token).digest()
        if self._guesses.wait_seconds(address, digest):
            return False
        right = hmac.compare_digest(token, self._secret)
        if self._guesses.compared(address, digest, right):
            logger.warning("wrong secret", address=address, path=scope.get("path"))
        return right
