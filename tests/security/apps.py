"""A gateway in this process, without workers, and clients of it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
from fastapi import FastAPI

from gateway.app import create_app
from gateway.settings import load_settings
from tests.gateway.callers.administration import ADMIN_TOKEN

Opened = Callable[..., httpx.AsyncClient]


@asynccontextmanager
async def running_app(folder: Path, **options: object) -> AsyncIterator[tuple[FastAPI, Opened]]:
    """The application, and `opened(headers)` for a client that is on this machine."""
    given = {"worker_urls": "http://127.0.0.1:9", "admin_token": ADMIN_TOKEN, "data_dir": folder}
    given |= {"no_worker_grace_seconds": 0.2, **options}  # nobody comes up
    app = create_app(load_settings(**given))

    def opened(**headers: str) -> httpx.AsyncClient:
        transport = httpx.ASGITransport(app, client=("127.0.0.1", 50_000))
        return httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8006", headers=headers)

    async with app.router.lifespan_context(app):
        yield app, opened
