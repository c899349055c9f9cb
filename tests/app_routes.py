"""Routes of FastAPI that are prepared once in a process, for all applications that include them.

Each application would look through the signatures of all endpoints at its first request, which takes 60 ms of
a CPU, and tests make hundreds of applications of the same routers.
"""

from __future__ import annotations

from dataclasses import replace

from fastapi import routing
from starlette.routing import BaseRoute

_build = routing._IncludedRouter._build_effective_context
_BUILT = "_built_for_applications"


def _built(self: routing._IncludedRouter, route: BaseRoute) -> routing._EffectiveRouteContext | None:
    """The route as this router includes it. It knows no `dependency_overrides` of an application."""
    included = replace(self.include_context, dependency_overrides_provider=None)
    built = vars(route).setdefault(_BUILT, [])
    for context, before in built:
        if context == included:
            return before
    built.append((included, _build(replace(self, include_context=included), route)))
    return built[-1][1]


def share() -> None:
    """From now on, in this process and in its forks."""
    routing._IncludedRouter._build_effective_context = _built
