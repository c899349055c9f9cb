"""Who may talk to a worker: holders of the shared secret; without a secret, clients on the same machine.

A worker never talks to browsers, so a request with an `Origin` header is refused whoever sent it: a web page
that is open on the worker's machine cannot reach it. `GET /health` answers everyone, so that a probe needs no
secret.
"""

from __future__ import annotations

import hmac

from pydantic import SecretStr
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from worker.errors import WorkerError, status_and_detail
from worker.protocol import ErrorCode, is_loopback

OPEN_PATHS = frozenset({"/health"})
_BEARER = "bearer "


class SharedSecretMiddleware:
    """Refuses HTTP requests and WebSocket handshakes before any handler sees them."""

    def __init__(self, app: ASGIApp, secret: SecretStr | None) -> None:
        self.app = app
        self._secret = None if secret is None else secret.get_secret_value().encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = self._refusal(scope) if scope["type"] in ("http", "websocket") else None
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
        if scope["path"] in OPEN_PATHS:
            return None
        if self._secret is None:
            client = scope.get("client")
            if client is not None and is_loopback(client[0]):
                return None
            return WorkerError(
                ErrorCode.FORBIDDEN, "without a secret, only clients on this machine are served"
            )
        given = headers.get("authorization", "")
        scheme, token = given[: len(_BEARER)], given[len(_BEARER) :]
        matches = hmac.compare_digest(token.encode("latin-1"), self._secret)
        if scheme.lower() == _BEARER and matches:
            return None
        return WorkerError(ErrorCode.UNAUTHORIZED, "the shared secret is missing or wrong")
