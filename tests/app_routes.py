"""Routes of FastAPI that are prepared once in a process, for all applications that include them.

Each application would look through the signatures of all endpoints at its first request, which takes 60 ms of
a CPU, and tests make hundreds of applications of the same routers.
"""

from __future__ import annotations

from dataclasses import replace

from fastapi import FastAPI, routing
from starlette.routing import BaseRoute

_IncludedRouter = getattr(routing, "_IncludedRouter", None)
_build = getattr(_IncludedRouter, "_build_effective_context", None)
"""None in a FastAPI that does it otherwise: applications then prepare their routes themselves."""
_BUILT = "_built_for_applications"


def _built(self: routing._IncludedRouter, route: BaseRoute) -> routing._EffectiveRouteContext | None:
    """The route as this router includes it. Raises RuntimeError for an application with overrides, which what
    is shared would not know.
    """
    application = self.include_context.dependency_overrides_provider
    if getattr(application, "dependency_overrides", None):
        raise RuntimeError("dependency_overrides would be ignored: tests share what FastAPI makes of routes")
    included = replace(self.include_context, dependency_overrides_provider=None)
    built = vars(route).setdefault(_BUILT, [])
    for context, before in built:
        if context == included:
            return before
    built.append((included, _build(replace(self, include_context=included), route)))
    return built[-1][1]


def share() -> None:
    """From now on, in this process and in its forks."""
    if _build is not None:
        _IncludedRouter._build_effective_context = _built


def prepare(application: FastAPI) -> None:
    """All routes of an application, for those that come after it."""
    contexts = getattr(routing, "iter_route_contexts", None)
    for _ in contexts(application.routes) if contexts else ():
        pass
