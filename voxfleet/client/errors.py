"""The service's one error shape as exceptions: `{"error": {"message", "type", "param", "code"}}`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import httpx


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
        """The status of the HTTP answer; None for what came over a WebSocket."""
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
    """The error for no server at `url`, or a connection to it that was lost, with the cause."""
    told = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout):
        return UnreachableError(f"cannot reach {url}: {told}")
    if isinstance(error, httpx.TimeoutException):
        return UnreachableError(f"{url} did not answer in time ({told})")
    return UnreachableError(f"the connection to {url} broke: {told}")


def from_gateway(answer: httpx.Response) -> bool:
    """Whether the answer is a success, and a gateway's: those have an id, and no page is asked for here."""
    page = answer.headers.get("Content-Type", "").startswith("text/html")
    return answer.is_success and "X-Request-Id" in answer.headers and not page


def no_gateway(url: object) -> UnreachableError:
    """The error for something else that answers at `url`, such as a proxy with a page of its own."""
    return UnreachableError(f"what answers at {url} is no VoxFleet gateway")


_KINDS: dict[str, type[SpeechError]] = {
    "invalid_request_error": InvalidRequestError,
    "authentication_error": AuthenticationError,
    "capacity_error": CapacityError,
    "server_error": ServerError,
}
_KINDS_OF_STATUSES: dict[int, type[SpeechError]] = {401: AuthenticationError, 429: CapacityError}
"""The errors for statuses of answers that are not a gateway's, but a proxy's before it."""


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


def error_from_answer(url: object, status_code: int, body: bytes, headers: Mapping[str, str]) -> SpeechError:
    """The exception for an answer that is not what was asked for, whoever gave it."""
    if status_code < 300:
        return no_gateway(url)
    seconds = _seconds(headers.get("Retry-After"))
    try:
        detail = json.loads(body)["error"]
        return error_from(detail, status_code, seconds)
    except (ValueError, KeyError, TypeError, AttributeError):
        kind = ServerError if status_code >= 500 else InvalidRequestError
        message = f"{url} answered HTTP {status_code}"
        if status_code < 400 and (elsewhere := headers.get("Location")):
            message += f", which leads to {elsewhere}: give the client the address of the gateway itself"
        return _KINDS_OF_STATUSES.get(status_code, kind)(
            message, status_code=status_code, retry_after_seconds=seconds
        )


def _seconds(retry_after: str | None) -> float | None:
    """From now on; the header has them, or a date."""
    if not retry_after:
        return None
    if retry_after.isdecimal():
        return float(retry_after)
    try:
        left = parsedate_to_datetime(retry_after) - datetime.now(UTC)
    except (ValueError, TypeError):  # no date, or one without a zone
        return None
    return max(0.0, left.total_seconds())
