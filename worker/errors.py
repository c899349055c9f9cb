"""Errors of the worker and the one place that maps every error to the wire.

`WorkerError` is a refusal by the worker itself; an engine refuses with `engine.errors.RequestError`. Both
become the same `ErrorDetail`, over HTTP with a status and on a socket inside an `ErrorMessage`.
"""

from __future__ import annotations

from engine.errors import EngineError, RequestError
from worker.protocol import ErrorCode, ErrorDetail, InvalidFieldError, ProtocolError

_STATUS = {
    ErrorCode.INVALID_REQUEST: 400,
    ErrorCode.UNAUTHORIZED: 401,
    ErrorCode.FORBIDDEN: 403,
    ErrorCode.NOT_FOUND: 404,
    ErrorCode.METHOD_NOT_ALLOWED: 405,
    ErrorCode.TOO_LARGE: 413,
    ErrorCode.BUSY: 429,
    ErrorCode.LOADING: 503,
    ErrorCode.DRAINING: 503,
    ErrorCode.WORKER_FAILED: 503,
    ErrorCode.SLOW_READER: 408,
    ErrorCode.SLOW_SENDER: 408,
    ErrorCode.NOT_SUPERVISED: 409,
}
"""HTTP status of a code; 500 for the others."""
_AUTHENTICATION_STATUSES = (401, 403)
_CAPACITY_STATUSES = (429, 503)


class WorkerError(Exception):
    """A request that this worker refuses or gave up; `code` says which rule."""

    def __init__(self, code: ErrorCode, message: str, param: str | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.param = param

    @property
    def status(self) -> int:
        """The HTTP status of the error."""
        return _STATUS.get(self.code, 500)


def to_worker_error(error: Exception) -> WorkerError:
    """The refusal that an exception stands for; one that is nobody's fault but ours tells no details."""
    if isinstance(error, WorkerError):
        return error
    if isinstance(error, InvalidFieldError):
        return WorkerError(ErrorCode.INVALID_REQUEST, str(error), error.param)
    if isinstance(error, ProtocolError):
        return WorkerError(ErrorCode.INVALID_REQUEST, str(error))
    if isinstance(error, EngineError):
        return WorkerError(ErrorCode.ENGINE_FAILED, str(error))
    return WorkerError(ErrorCode.INTERNAL, "the worker failed; its log says why")


def status_and_detail(error: Exception) -> tuple[int, ErrorDetail]:
    """HTTP status and the error as it goes out."""
    if isinstance(error, RequestError):
        detail = ErrorDetail(
            message=error.message, type="invalid_request_error", param=error.param, code=error.code
        )
        return 400, detail
    refusal = to_worker_error(error)
    status = refusal.status
    if status in _AUTHENTICATION_STATUSES:
        kind = "authentication_error"
    elif status in _CAPACITY_STATUSES:
        kind = "capacity_error"
    else:
        kind = "invalid_request_error" if status < 500 else "server_error"
    detail = ErrorDetail(message=refusal.message, type=kind, param=refusal.param, code=refusal.code)
    return status, detail
