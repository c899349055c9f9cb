"""HTTP/1.1 of a worker: what is no request, or none in time, is told so or cut, whoever sent it.

Bounds hold before a secret is looked at: who has none must not cost memory, or the streams of others.
"""

from __future__ import annotations

from sockets.http.deadlines import BoundedHttpProtocol
from sockets.http.heads import raw_response
from worker.protocol import ErrorDetail
from worker.settings import WorkerSettings

_HEAD_SECONDS = 10.0
"""How long a connection may stay open without a request."""
_BODY_SECONDS = 300.0
"""More than gateways wait for an answer: routes that take a body have less, once it is their turn."""


class WorkerHttpProtocol(BoundedHttpProtocol):
    """HTTP/1.1 whose own refusals have the worker's error shape; subclasses name the seconds."""

    def refuse(self, status: int, code: str, message: str) -> None:
        detail = ErrorDetail(message=message, type="invalid_request_error", code=code)
        self.write_last(raw_response(status, code, {"error": detail.model_dump()}))


def http_protocol(settings: WorkerSettings) -> type[WorkerHttpProtocol]:
    """The HTTP protocol of a worker with `settings`."""
    seconds = {
        "head_seconds": _HEAD_SECONDS,
        "stall_seconds": settings.send_timeout_seconds,
        "body_seconds": _BODY_SECONDS,
    }
    return type("HttpProtocol", (WorkerHttpProtocol,), seconds)
