"""What clients hear when the disk or the database fails where no route knows better: 507 or 503."""

from __future__ import annotations

import errno

import structlog
from fastapi import FastAPI
from sqlalchemy.exc import DataError, DBAPIError, IntegrityError, NotSupportedError, ProgrammingError
from sqlalchemy.exc import TimeoutError as NoConnectionError
from starlette.requests import Request
from starlette.responses import Response

from gateway.database import DatabaseError
from gateway.database.transactions import failure_of
from gateway.edge.paths import told_path
from gateway.errors import error_response
from gateway.files.disk import FULL, not_stored

logger = structlog.get_logger(__name__)

_DEFECTS = (DataError, IntegrityError, NotSupportedError, ProgrammingError)
"""Which no database is to blame for."""
_FAILING = (errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO)


def install_failure_handlers(app: FastAPI) -> None:
    """Have failures of what `app` keeps leave in the one shape."""
    app.add_exception_handler(OSError, _answer_disk)
    for kind in (DatabaseError, DBAPIError, NoConnectionError):
        app.add_exception_handler(kind, _answer_database)


async def _answer_disk(request: Request, error: OSError) -> Response:
    if error.errno not in (*FULL, *_FAILING):
        raise error
    reason = errno.errorcode[error.errno]
    logger.error("the disk failed", path=told_path(request.url.path), error=reason, file=error.filename)
    return error_response(not_stored(error), request.scope)


async def _answer_database(request: Request, error: Exception) -> Response:
    if isinstance(error, _DEFECTS):
        raise error
    logger.error("the database failed", path=told_path(request.url.path), error=type(error).__name__)
    return error_response(failure_of(error, "what is kept", "database_unavailable"), request.scope)
