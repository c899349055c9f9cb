"""Applications of tests share what FastAPI makes of routes, and nothing else."""

from __future__ import annotations

import httpx
import pytest
from fastapi import APIRouter, FastAPI, Request, routing

from tests import app_routes

router = APIRouter()


@router.get("/name/{number}")
async def name(request: Request, number: int) -> str:
    return f"{request.app.title} {number}"


def application(title: str, prefix: str = "") -> FastAPI:
    app = FastAPI(title=title, openapi_url=None)
    app.include_router(router, prefix=prefix)
    return app


async def answer(app: FastAPI, path: str) -> tuple[int, object]:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://here") as client:
        answered = await client.get(path)
    return answered.status_code, answered.json()


def test_fastapi_prepares_routes_where_it_is_looked_for() -> None:
    assert app_routes._build is not None, "_IncludedRouter._build_effective_context of FastAPI is gone"
    assert hasattr(routing, "iter_route_contexts")


async def test_each_application_answers_for_itself_by_routes_that_are_prepared_once() -> None:
    first, second, elsewhere = application("first"), application("second"), application("third", "/there")
    assert await answer(first, "/name/1") == (200, "first 1")
    assert await answer(second, "/name/2") == (200, "second 2")
    assert (await answer(second, "/name/two"))[0] == 422
    assert await answer(elsewhere, "/there/name/3") == (200, "third 3")
    assert (await answer(elsewhere, "/name/3"))[0] == 404
    assert await answer(first, "/name/4") == (200, "first 4")
    prepared = [
        next(routing.iter_route_contexts(app.routes))._route_context for app in (first, second, elsewhere)
    ]
    assert prepared[0] is prepared[1] and prepared[0] is not prepared[2]


async def test_an_application_that_overrides_dependencies_is_refused() -> None:
    app = application("overrides")
    app.dependency_overrides[name] = application
    with pytest.raises(RuntimeError, match="dependency_overrides"):
        await answer(app, "/name/1")
