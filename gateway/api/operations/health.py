"""Liveness, readiness, metrics and version."""

from __future__ import annotations

import asyncio
import time
from typing import Any

from fastapi import APIRouter, Depends, Request, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest
from prometheus_client.openmetrics import exposition as openmetrics

from gateway.api.permissions import is_admin, require_metrics
from gateway.errors import ApiError
from gateway.service import GatewayDep
from gateway.slots.requirement import Requirement
from telemetry.build import VERSION, build
from worker.protocol import PROTOCOL_VERSION

router = APIRouter()


@router.get("/health")
async def health(gateway: GatewayDep) -> dict[str, Any]:
    """The process lives and its event loop turns. Says nothing about workers: that is /ready."""
    told = {"status": "ok", "uptime_seconds": round(time.monotonic() - gateway.started_at, 3)}
    return told if gateway.settings.instance is None else {**told, "instance": gateway.settings.instance}


@router.get("/ready")
async def ready(gateway: GatewayDep) -> dict[str, Any]:
    """200 when a request would be served: some worker is up, or one is started for it, and the gateway is
    not shutting down; else 503.
    """
    gateway.check_open()
    serving = sum(worker.serving for worker in gateway.pool.workers.values())
    if not serving and not gateway.operations.fleet.may_start(Requirement()):
        raise ApiError(503, "not_ready", "no worker is up", retry_after_seconds=2)
    return {"status": "ready", "workers": serving}


@router.get("/metrics", response_class=Response, dependencies=[Depends(require_metrics)])
async def metrics(request: Request, gateway: GatewayDep) -> Response:
    """Prometheus text format; where traces are told, OpenMetrics for who takes it, with exemplars."""
    write, kind = generate_latest, CONTENT_TYPE_LATEST
    if gateway.tracing.on and "application/openmetrics-text" in request.headers.get("accept", ""):
        write, kind = openmetrics.generate_latest, openmetrics.CONTENT_TYPE_LATEST
    text = await asyncio.to_thread(write, gateway.metrics.snapshot())
    return Response(text, headers={"Content-Type": kind})


@router.get("/version")
async def version(request: Request, gateway: GatewayDep) -> dict[str, Any]:
    """Version of the gateway and of the protocol that it speaks with workers; for operators, the build."""
    told = {"name": "voxfleet", "version": VERSION, "protocol": PROTOCOL_VERSION}
    return {**told, "build": build()} if is_admin(request, gateway) else told
