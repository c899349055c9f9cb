"""The one error of the API and its one shape.

Whatever goes wrong for a client, over HTTP or WebSocket, reaches it as `{"error": {"message", "type",
"param", "code"}}`, unless its protocol has another shape. Code anywhere in the gateway raises `ApiError`; the
handlers that `install_error_handlers` adds map it, FastAPI's own validation errors and Starlette's 404 and
405 to that shape.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import Discriminator, Tag
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send
from starlette.websockets import WebSocket

from worker.protocol import ErrorDetail

_HTTP_CODES = {400: "bad_request", 404: "not_found", 405: "method_not_allowed", 413: "too_large"}
_LONGEST_ECHO = 128
_VALIDATION_CODES = {
    "extra_forbidden": "unknown_field",
    "missing": "missing_field",
}
_LENGTH = re.compile(r"Value should have (at (?:least|most) \d+) item(s?) after validation, not \d+")
"""What pydantic says of a string whose characters were checked before its length."""
_BRANCHES: set[str] = set()


def branch(name: str) -> Tag:
    """One of the things that a field may be: what is wrong is told of the one that was given."""
    _BRANCHES.add(name)
    return Tag(name)


LIST, NO_LIST = branch("(list)"), branch("(no list)")
BY_LIST = Discriminator(lambda value: (LIST if isinstance(value, list) else NO_LIST).tag)
"""Of a field that may be a list or something else."""


class ApiError(HTTPException):
    """An answer other than success. 429 and 503 always carry a Retry-After, by default 1 second."""

    def __init__(
        self,
        status_code: int,
        code: str,
        message: str,
        *,
        param: str | None = None,
        retry_after_seconds: float | None = None,
    ) -> None:
        self.code = code
        self.message = message
        self.param = param
        headers: dict[str, str] = {}
        if status_code in (429, 503):
            headers["Retry-After"] = str(max(1, math.ceil(retry_after_seconds or 1.0)))
        if status_code == 401:
            headers["WWW-Authenticate"] = "Bearer"
        super().__init__(status_code, message, headers)

    @property
    def type(self) -> str:
        """invalid_request_error, authentication_error, capacity_error or server_error, by status."""
        if self.status_code in (401, 403):
            return "authentication_error"
        if self.status_code in (429, 503):
            return "capacity_error"
        return "server_error" if self.status_code >= 500 else "invalid_request_error"

    @property
    def close_code(self) -> int:
        """The WebSocket close code that goes with the status."""
        if self.code == "shutting_down":
            return 1012
        if self.status_code == 413:
            return 1009
        if self.status_code in (429, 503):
            return 1013
        return 1011 if self.status_code >= 500 else 1008

    def to_dict(self) -> dict[str, Any]:
        """The body of the answer."""
        detail = ErrorDetail(message=self.message, type=self.type, param=self.param, code=self.code)
        return {"error": detail.model_dump()}

    @property
    def retry_after_seconds(self) -> int | None:
        """When to come back; None where nothing says so."""
        retry_after = (self.headers or {}).get("Retry-After")
        return int(retry_after) if retry_after else None

    def to_message(self) -> dict[str, Any]:
        """The body with `retry_after_seconds`, for streams and WebSockets, where no header says it."""
        seconds = self.retry_after_seconds
        return self.to_dict() | ({} if seconds is None else {"retry_after_seconds": seconds})


def internal_error() -> ApiError:
    """What a client hears of a defect; the log says more."""
    return ApiError(500, "internal_error", "an internal error occurred")


def disk_full() -> ApiError:
    """There is no room for what is to be kept."""
    return ApiError(507, "disk_full", "the disk of the service has no room for more")


def from_validation(errors: list[Any]) -> ApiError:
    """The first of pydantic's errors as an ApiError whose `param` is the name of the field."""
    first = errors[0]
    kind = first["type"]
    fields = [str(part) for part in first["loc"] if part not in _BRANCHES]
    code = _VALIDATION_CODES.get(kind, "invalid_value")
    if not fields:
        cause = first.get("ctx", {}).get("error")
        if isinstance(cause, FieldError):
            return ApiError(422, cause.code, str(cause), param=cause.param)
        if kind == "string_unicode":
            return ApiError(422, "invalid_body", "the name of a field is not valid Unicode")
        return ApiError(422, "invalid_body", "the body must be a JSON object, sent as application/json")
    param = ".".join(fields)[:_LONGEST_ECHO]
    message = _LENGTH.sub(r"String should have \1 character\2", first["msg"].removeprefix("Value error, "))
    if code == "unknown_field":
        return ApiError(422, code, f"unknown field: {param}", param=param)
    return ApiError(422, code, f"{param}: {message}", param=param)


def not_json(cause: ValueError | RecursionError, what: str = "body") -> ApiError:
    """The refusal of a body or message, for which `json.loads` raised `cause`."""
    if isinstance(cause, json.JSONDecodeError):
        reason = f"is not JSON: {cause}"
    elif isinstance(cause, UnicodeDecodeError):
        reason = "is not UTF-8"
    elif isinstance(cause, RecursionError):
        reason = "has too many lists and objects within each other"
    else:
        reason = "has a number with too many digits"
    return ApiError(400, "invalid_json", f"the {what} {reason}")


class FieldError(ValueError):
    """A rule between fields is broken; raised inside pydantic validators of whole models."""

    def __init__(self, param: str | None, code: str, message: str) -> None:
        self.param = param
        self.code = code
        super().__init__(message)


ErrorShape = Callable[[ApiError], dict[str, Any]]
ERROR_SHAPE = "error_shape"
"""Where the `state` of a request may have another shape, that of its protocol."""


def error_response(error: ApiError, scope: Scope) -> JSONResponse:
    """The ApiError as the answer to a request, in the shape that its protocol has."""
    shape: ErrorShape = scope.get("state", {}).get(ERROR_SHAPE, ApiError.to_dict)
    return JSONResponse(shape(error), error.status_code, headers=error.headers)


LostPage = Callable[[Request], Awaitable[Response | None]]
"""What a browser gets at an address that there is nothing at; None: an error as everybody else."""


async def _no_page(request: Request) -> Response | None:
    return None


MethodsOf = Callable[[Scope], list[str]]
"""Which methods the path of a request has."""


async def _answer_http_error(
    request: Request, error: HTTPException, lost_page: LostPage, methods_of: MethodsOf | None
) -> Response:
    if isinstance(error, ApiError):
        return error_response(error, request.scope)
    if error.status_code == 404 and (page := await lost_page(request)) is not None:
        return page
    own = _in_our_words(error)
    if own.status_code == 405 and methods_of is not None:
        own.headers["Allow"] = ", ".join(methods_of(request.scope))
    return error_response(own, request.scope)


def _in_our_words(error: HTTPException) -> ApiError:
    cause = error.__cause__
    if error.status_code == 400 and isinstance(cause, (ValueError, RecursionError)):
        return not_json(cause)  # what FastAPI could not read, but for a JSONDecodeError
    own = ApiError(error.status_code, _HTTP_CODES.get(error.status_code, "http_error"), str(error.detail))
    own.headers = {**dict(error.headers or {}), **(own.headers or {})}
    return own


def from_request(error: RequestValidationError) -> ApiError:
    """What FastAPI found wrong with the body of a request, its query or its path."""
    if isinstance(error.__cause__, json.JSONDecodeError):
        return not_json(error.__cause__)
    errors = [{**each, "loc": each["loc"][1:]} for each in error.errors()]  # without "body", "query" or so
    return from_validation(errors)


async def _answer_validation_error(request: Request, error: RequestValidationError) -> JSONResponse:
    return error_response(from_request(error), request.scope)


def install_error_handlers(
    app: FastAPI, lost_page: LostPage = _no_page, methods_of: MethodsOf | None = None
) -> None:
    """Make every error of `app` leave in the one shape, but for the page of an unknown address.

    `methods_of`: what a 405 names; None: the methods of one route.
    """
    answer = partial(_answer_http_error, lost_page=lost_page, methods_of=methods_of)
    app.add_exception_handler(HTTPException, answer)
    app.add_exception_handler(RequestValidationError, _answer_validation_error)
    _refuse_lost_sockets(app)


def _refuse_lost_sockets(app: FastAPI) -> None:
    """A socket at an address that there is none at is refused with 404; Starlette's 403 is that of a key."""
    otherwise = app.router.default

    async def refuse(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "websocket":
            await otherwise(scope, receive, send)
            return
        error = ApiError(404, "not_found", "there is no WebSocket at this address")
        await WebSocket(scope, receive, send).send_denial_response(error_response(error, scope))

    app.router.default = refuse
