"""Routes for bodies of some media types alone."""

from __future__ import annotations

from typing import ClassVar

from fastapi.routing import APIRoute
from starlette.datastructures import Headers
from starlette.routing import Match
from starlette.types import Scope


class OfKinds(APIRoute):
    """A route beside one that takes other bodies at the same path."""

    kinds: ClassVar[tuple[str, ...]]

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Nothing for other bodies."""
        match, child = super().matches(scope)
        if match is Match.FULL and _kind(scope) not in self.kinds:
            return Match.NONE, {}
        return match, child


def _kind(scope: Scope) -> str:
    kind = Headers(scope=scope).get("content-type", "")
    return kind.partition(";")[0].strip().lower()
