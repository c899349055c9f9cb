"""The browser pages, from `frontend/`: plain files, revalidated on every load."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter, FastAPI
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Receive, Scope, Send

from gateway.api.file_response import RangedFileResponse, refusing_ranges
from gateway.errors import ApiError
from gateway.service import GatewayDep

router = APIRouter(include_in_schema=False)

_REVALIDATE = {"Cache-Control": "no-cache"}


@router.get("/", response_class=RangedFileResponse)
async def studio(gateway: GatewayDep) -> RangedFileResponse:
    """Type, choose a voice, hear it."""
    return _page(gateway.settings.frontend_dir / "index.html")


@router.get("/admin", response_class=RangedFileResponse)
async def admin(gateway: GatewayDep) -> RangedFileResponse:
    """Workers and queue. The page is public, what it shows is not."""
    return _page(gateway.settings.frontend_dir / "admin.html")


@router.get("/live", response_class=RangedFileResponse)
async def live(gateway: GatewayDep) -> RangedFileResponse:
    """Text goes in as it is written, speech comes out meanwhile."""
    return _page(gateway.settings.frontend_dir / "live.html")


@router.get("/sessions", response_class=RangedFileResponse)
async def sessions(gateway: GatewayDep) -> RangedFileResponse:
    """What was recorded. The page is public, what it shows is not."""
    return _page(gateway.settings.frontend_dir / "sessions.html")


@router.get("/sessions/{id}", response_class=RangedFileResponse)
async def session(id: str, gateway: GatewayDep) -> RangedFileResponse:
    """One recording: the same file for every id, which the page reads from its own address."""
    return _page(gateway.settings.frontend_dir / "session.html")


def _page(path: Path) -> RangedFileResponse:
    if not path.is_file():
        raise ApiError(404, "not_found", "this gateway serves no pages")
    return RangedFileResponse(path, headers=_REVALIDATE)


class _RevalidatedFiles(StaticFiles):
    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await super().__call__(scope, receive, refusing_ranges(send))

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers.update(_REVALIDATE)
        return response


def mount_static_files(app: FastAPI, frontend_dir: Path) -> None:
    """Serve `frontend_dir`/static at /static."""
    app.mount("/static", _RevalidatedFiles(directory=frontend_dir / "static", check_dir=False), name="static")
