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

_NO_PAGES = ("/api/", "/static/", "/v1/", "/tts", "/ws/")
_VERSIONED = re.compile(r"(?P<version>v-[0-9a-f]{16})/(?P<path>.+)")


def _site(request: Request) -> Site:
    return request.app.state.site


SiteDep = Annotated[Site, Depends(_site)]


@router.get("/", response_class=Response)
async def studio(request: Request, site: SiteDep) -> Response:
    """Type, choose a voice, hear it."""
    return await _page(site, "index.html", request)


@router.get("/admin", response_class=Response)
async def admin(request: Request, site: SiteDep) -> Response:
    """Workers and queue. The page is public, what it shows is not."""
    return await _page(site, "admin.html", request)


@router.get("/live", response_class=Response)
async def live(request: Request, site: SiteDep) -> Response:
    """Text goes in as it is written, speech comes out meanwhile."""
    return await _page(site, "live.html", request)


@router.get("/chat", response_class=Response)
async def chat(request: Request, site: SiteDep) -> Response:
    """Conversations with a text model."""
    return await _page(site, "chat.html", request)


@router.get("/sessions", response_class=Response)
async def sessions(request: Request, site: SiteDep) -> Response:
    """What was recorded. The page is public, what it shows is not."""
    return await _page(site, "sessions.html", request)


@router.get("/sessions/{id}", response_class=Response)
async def session(id: str, request: Request, site: SiteDep) -> Response:
    """One recording: the same file for every id, which the page reads from its own address."""
    return await _page(site, "session.html", request)


@router.get("/book", response_class=Response)
async def shelf(request: Request, site: SiteDep) -> Response:
    """Books that are there, and a new one. The page is public, what it shows is not."""
    return await _page(site, "books.html", request)


@router.get("/book/{id}", response_class=Response)
async def book(id: str, request: Request, site: SiteDep) -> Response:
    """One book: the same file for every id, which the page reads from its own address."""
    return await _page(site, "book.html", request)


@router.get("/train", response_class=Response)
async def train(request: Request, site: SiteDep) -> Response:
    """A voice learnt from recordings. The page is public, what it shows is not."""
    return await _page(site, "train.html", request)


@router.get("/docs", response_class=Response)
async def api_description(request: Request, site: SiteDep) -> Response:
    """Every route with an example. The page is public, what it shows is for whom `/openapi.json` is for."""
    return await _page(site, "docs.html", request)


@router.get("/docs/{client}", response_class=Response)
async def client_description(client: str, request: Request, site: SiteDep) -> Response:
    """How one program uses the service: the same file for all, which the page reads from its own address."""
    return await _page(site, "docs.html", request)


@router.get("/service-worker.js", response_class=Response)
async def service_worker(request: Request, site: SiteDep) -> Response:
    """What keeps pages for when the gateway is away. It is served here as it is for all below its folder."""
    answer = await site.worker(request.headers)
    if answer is None:
        raise ApiError(404, "not_found", "this gateway serves no pages")
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


async def _page(site: Site, name: str, request: Request) -> Response:
    answer = await site.page(name, request.headers)
    if answer is None:
        raise ApiError(404, "not_found", "this gateway serves no pages")
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
