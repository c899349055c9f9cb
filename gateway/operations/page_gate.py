"""What a page that is switched off answers, in one place, whoever serves its routes.

| page     | its page               | its socket      | its API                                       |
|----------|------------------------|-----------------|-----------------------------------------------|
| studio   | `/`: to one that is on |                 |                                               |
| live     | `/live`: 302 to /      | `/ws/live`: 1008 |                                              |
| chat     | `/chat`: 302 to /      |                 |                                               |
| books    | `/book`: 302           |                 | `/api/books`, `/api/documents`: 403           |
| sessions | `/sessions`: 302       |                 | `/api/sessions`: 403, but not `.../storage`   |
| voices   | `/train`: 302          |                 | `/api/voices`, `/api/trainings`: 403 for changes |

A reader at `/` is led to the first other page that is on, or told that there is none; programs get a 404.
Voices can still be used, listed and deleted: somebody may have switched them off to tidy up. Speech itself
(`/tts`, `/ws/tts`, `/v1`) is no page's. Only the beginning of an exchange is looked at: what runs when a page
is switched off runs to its end.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.callers.identity import SUBPROTOCOL
from gateway.errors import ApiError, error_response
from gateway.operations.pages import PageId, Pages, page_disabled

_MAKING = ("POST", "PUT", "PATCH")
_PAGES: dict[str, PageId] = {"/live": "live", "/book": "books", "/sessions": "sessions", "/chat": "chat"}
_TOOLS: dict[str, PageId] = {"/train": "voices"}
"""Pages to which nobody is led by itself."""
_SOCKETS: dict[str, PageId] = {"/ws/live": "live"}


class PageGate:
    """ASGI middleware: lets through what no switched-off page owns."""

    def __init__(
        self, app: ASGIApp, pages: Pages, lost: Callable[[Request], Awaitable[Response | None]]
    ) -> None:
        """`lost`: the page that says that there is none, for a browser; None for everybody else."""
        self._app = app
        self._pages = pages
        self._lost = lost

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer in the page's stead, or pass on."""
        pages = self._pages
        if scope["type"] == "websocket":
            page = _SOCKETS.get(scope["path"])
            if page is not None and not pages.is_on(page):
                await _refuse_socket(page_disabled(page), scope, receive, send)
                return
        elif scope["type"] == "http":
            owner = page_of(scope["path"])
            if owner is not None and not pages.is_on(owner):
                await RedirectResponse("/", 302)(scope, receive, send)
                return
            owner = api_of(scope["method"], scope["path"])
            if owner is not None and not pages.is_on(owner):
                await error_response(page_disabled(owner), scope)(scope, receive, send)
                return
            if scope["path"] == "/" and not pages.is_on("studio"):
                await (await self._without_studio(scope, receive))(scope, receive, send)
                return
        await self._app(scope, receive, send)

    async def _without_studio(self, scope: Scope, receive: Receive) -> Response:
        """What `/` answers while the studio is off."""
        page = await self._lost(Request(scope, receive))
        if page is None:
            return error_response(ApiError(404, "page_disabled", "this gateway serves no studio page"), scope)
        other = next((path for path, owner in _PAGES.items() if self._pages.is_on(owner)), None)
        return RedirectResponse(other, 302) if other else page


def page_of(path: str) -> PageId | None:
    """The page that a path shows, if it redirects to / when that is off."""
    return (_PAGES | _TOOLS).get("/" + path.lstrip("/").partition("/")[0])


def api_of(method: str, path: str) -> PageId | None:
    """The page whose API a request uses."""
    if _is_below(path, "/api/sessions"):
        return None if path == "/api/sessions/storage" else "sessions"
    if _is_below(path, "/api/books") or path == "/api/documents":
        return "books"
    if _is_below(path, "/api/voices") or _is_below(path, "/api/trainings"):
        return "voices" if method in _MAKING else None
    return None


def _is_below(path: str, root: str) -> bool:
    return path == root or path.startswith(f"{root}/")


async def _refuse_socket(problem: ApiError, scope: Scope, receive: Receive, send: Send) -> None:
    """Open the socket, for only an open one can say why it is closed."""
    await receive()
    offered: list[str] = scope.get("subprotocols", [])
    subprotocol = SUBPROTOCOL if SUBPROTOCOL in offered else None
    await send({"type": "websocket.accept", "subprotocol": subprotocol, "headers": []})
    await send({"type": "websocket.send", "text": json.dumps({"type": "error", **problem.to_dict()})})
    await send({"type": "websocket.close", "code": problem.close_code, "reason": problem.code})
