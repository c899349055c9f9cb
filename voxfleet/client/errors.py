"""The service's one error shape as exceptions: `{"error": {"message", "type", "param", "code"}}`."""

from __future__ import annotations

import json
from typing import Any


class SpeechError(RuntimeError):
    """The server refused or failed the request, or cannot be reached.

    `code` is the server's word for it, `param` the field at fault; None where it named none.
    """

    def __init__(
        self,
        message: str,
        code: str | None = None,
        *,
        param: str | None = None,
        status_code: int | None = None,
        retry_after_seconds: float | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.param = param
        self.status_code = status_code
        """Of the HTTP answer; None for what came over a WebSocket."""
        self.retry_after_seconds = retry_after_seconds
        """When to come back, where the server says so."""


class InvalidRequestError(SpeechError):
    """The request itself is wrong, or what it names does not exist."""


class AuthenticationError(SpeechError):
    """No API key, a wrong one, or one that may not do this."""


class CapacityError(SpeechError):
    """Too much is asked for at the moment."""


class ServerError(SpeechError):
    """The server failed."""


class UnreachableError(SpeechError):
    """There is no server, or the connection to it broke."""


def unreachable(url: object, error: Exception) -> UnreachableError:
    """That there is no server at `url`, and how that showed."""
    return UnreachableError(f"cannot reach {url}: {type(error).__name__}: {error}")


_KINDS: dict[str, type[SpeechError]] = {
    "invalid_request_error": InvalidRequestError,
    "authentication_error": AuthenticationError,
    "capacity_error": CapacityError,
    "server_error": ServerError,
}


def error_from(
    detail: dict[str, Any], status_code: int | None = None, retry_after_seconds: float | None = None
) -> SpeechError:
    """The exception for the object at "error"."""
    kind = _KINDS.get(str(detail.get("type")), SpeechError)
    return kind(
        str(detail.get("message", "the server named no reason")),
        detail.get("code"),
        param=detail.get("param"),
        status_code=status_code,
        retry_after_seconds=retry_after_seconds,
    )


def error_from_answer(status_code: int, body: bytes, retry_after: str | None) -> SpeechError:
    """The exception for an HTTP answer that is no success, whoever gave it."""
    seconds = float(retry_after) if retry_after and retry_after.isdecimal() else None
    try:
        detail = json.loads(body)["error"]
        return error_from(detail, status_code, seconds)
    except (ValueError, KeyError, TypeError, AttributeError):
        kind = ServerError if status_code >= 500 else InvalidRequestError
        return kind(f"HTTP {status_code}", status_code=status_code, retry_after_seconds=seconds)
