"""The browser pages, from `frontend/`: `gateway/site/` says how they are served."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Depends, FastAPI, Request
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from gateway.api.transfer.file_response import ranged
from gateway.errors import ApiError
from gateway.site import Site

router = APIRouter(include_in_schema=False)

_PAGES = {
    "/": "index.html",
    "/admin": "admin.html",
    "/live": "live.html",
    "/chat": "chat.html",
    "/sessions": "sessions.html",
    "/sessions/{id}": "session.html",
    "/book": "books.html",
    "/book/{id}": "book.html",
    "/train": "train.html",
    "/docs": "docs.html",
    "/docs/{client}": "docs.html",
}
"""Files by path: the same for every id and client, which the page reads from its own address. Each is public,
what it shows need not be.
"""
_NO_PAGES = ("/api/", "/static/", "/v1/", "/tts", "/ws/")
_VERSIONED = re.compile(r"(?P<version>v-[0-9a-f]{16})/(?P<path>.+)")


def _site(request: Request) -> Site:
    return request.app.state.site


SiteDep = Annotated[Site, Depends(_site)]


def _no_site() -> ApiError:
    return ApiError(404, "not_found", "this gateway serves no pages")


def _serve(path: str, name: str) -> None:
    async def page(request: Request, site: SiteDep) -> Response:
        answer = await site.page(name, request.headers)
        if answer is None:
            raise _no_site()
        return answer

    router.add_api_route(path, page, response_class=Response)


for _path, _name in _PAGES.items():
    _serve(_path, _name)


@router.get("/service-worker.js", response_class=Response)
async def service_worker(request: Request, site: SiteDep) -> Response:
    """What keeps pages for when the gateway is away. It is served here as it is for all below its folder."""
    answer = await site.worker(request.headers)
    if answer is None:
        raise _no_site()
    return answer


async def lost(request: Request) -> Response | None:
    """For a browser whose reader opened an address that there is nothing at; None for everybody else."""
    wants_page = request.method in ("GET", "HEAD") and "text/html" in request.headers.get("accept", "")
    if not wants_page or request.url.path.startswith(_NO_PAGES):
        return None
    encoding = {"accept-encoding": request.headers.get("accept-encoding", "")}
    answer = await _site(request).page("lost.html", Headers(encoding))
    if answer is not None:
        answer.status_code = 404
        del answer.headers["etag"]
    return answer


class _StaticFiles(StaticFiles):
    """Files of an edition from memory, to be kept for ever; plain addresses from the folder, revalidated."""

    def __init__(self, site: Site, folder: Path) -> None:
        super().__init__(directory=folder, check_dir=False)
        self._site = site

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await ranged(super().__call__, scope, receive, send)

    async def get_response(self, path: str, scope: Scope) -> Response:
        if (match := _VERSIONED.fullmatch(Path(path).as_posix())) and scope["method"] in ("GET", "HEAD"):
            answer = await self._site.file(match["version"], match["path"], Headers(scope=scope))
            if answer is None:
                raise ApiError(404, "not_found", "there is no such file of this edition of the pages")
            return answer
        response = await super().get_response(path, scope)
        response.headers["Cache-Control"] = "no-cache"
        return response


def mount_static_files(app: FastAPI, site: Site, frontend_dir: Path) -> None:
    """Serve `frontend_dir`/static at /static, and its editions below."""
    app.mount("/static", _StaticFiles(site, frontend_dir / "static"), name="static")
