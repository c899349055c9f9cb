"""What may be asked of a path: HEAD wherever GET is, and all methods of its routes."""

from __future__ import annotations

from starlette.routing import Match, Mount
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
_READING = ("GET", "HEAD")


def methods_of(scope: Scope) -> list[str]:
    """The methods that the path of a request has."""
    found = {method for method in _METHODS if _is_routed(scope, method)}
    return [method for method in _METHODS if method in found or (method == "HEAD" and "GET" in found)]


def _is_routed(scope: Scope, method: str) -> bool:
    """Whether a route takes it; files, which are mounted, are read only."""
    root_path = scope.get("app_root_path", scope["root_path"])  # also where a mounted app was found
    asked = {**scope, "method": method, "root_path": root_path}
    return any(
        route.matches(asked)[0] is Match.FULL and (method in _READING or not isinstance(route, Mount))
        for route in scope["app"].routes
    )


class HeadMiddleware:
    """Answers HEAD as the GET of the path, without its body, where no route takes it."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "HEAD" or _is_routed(scope, "HEAD"):
            await self._app(scope, receive, send)
            return

        async def send_head(message: Message) -> None:
            if message["type"] == "http.response.start":
                await send(message)
                await send({"type": "http.response.body", "body": b"", "more_body": False})

        asked = {**scope, "method": "GET"} if _is_routed(scope, "GET") else scope
        try:
            await self._app(asked, receive, send_head)
        finally:
            scope["route"] = asked.get("route")  # for the metric
