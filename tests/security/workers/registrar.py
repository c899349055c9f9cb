"""Registrations at a gateway in this process, and a client of one worker."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx

from gateway.app import create_app
from gateway.settings import load_settings
from gateway.workers.client import WorkerClient
from gateway.workers.http import worker_http
from gateway.workers.metronome import Metronome
from gateway.workers.whereabouts import Whereabouts
from tests.gateway.stages.fleet import describe_model, status
from worker.protocol import REGISTRATION_PATH

SHARED = "a secret that all workers share"
Register = Callable[..., Awaitable[httpx.Response]]


@asynccontextmanager
async def registrar(**options: object) -> AsyncIterator[Register]:
    """`register(secret, url=..., status=..., peer=..., leaving=...)` at a gateway in this process."""
    app = create_app(load_settings(worker_urls="http://127.0.0.1:9", allowed_hosts="*", **options))

    async def register(secret: str | None, peer: str = "127.0.0.1", **fields: Any) -> httpx.Response:
        body = {"url": "http://127.0.0.1:9001", "status": said(), "leaving": False, **fields}
        headers = {"Authorization": f"Bearer {secret}"} if secret else {}
        headers |= body.pop("headers", {})
        transport = httpx.ASGITransport(app, client=(peer, 50_000))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8006") as client:
            return await client.post(REGISTRATION_PATH, json=body, headers=headers)

    async with app.router.lifespan_context(app):
        register.gateway = app.state.gateway
        yield register


def said(**changes: Any) -> dict[str, Any]:
    """The JSON of a status."""
    fields = status(model=describe_model()).model_dump(mode="json")
    fields["model"] |= changes.pop("model", {})
    return {**fields, **changes}


@asynccontextmanager
async def client_of(url: str, whereabouts: Whereabouts | None = None) -> AsyncIterator[WorkerClient]:
    async with worker_http() as http:
        yield WorkerClient(url, load_settings(), http, Metronome(), whereabouts)
