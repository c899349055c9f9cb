"""Cookies, of which gateway and worker have none."""

from __future__ import annotations

from starlette.types import Scope


def drop_cookies(scope: Scope) -> None:
    """Drop a request's cookies before FastAPI parses them, as it does for every route: that takes time by the
    square of the length of a value with backslashes in it.
    """
    scope["headers"] = [header for header in scope["headers"] if header[0] != b"cookie"]
