"""The worker's HTTP and WebSocket interface; `worker.protocol` says what is on the wire.

`create_app(settings)` is the whole worker but for the listening socket. Tests bring their own engine.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated, Literal

import structlog
from fastapi import FastAPI, Query, Request, WebSocket
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from engine.errors import EngineError, RequestError
from telemetry import Telemetry
from worker.audio_cache import AudioCache
from worker.audio_input import decode_audio
from worker.engines.held_adapters import check_takes_adapters
from worker.engines.loading import EngineFactory, load_engine
from worker.errors import WorkerError, status_and_detail
from worker.figures import families
from worker.gateways.auth import STRANGER, SharedSecretMiddleware
from worker.gateways.registrar import Registrar
from worker.gateways.slot_socket import SlotSocket, gateway_of
from worker.kinds.speech import from_array
from worker.lifecycle import Worker
from worker.protocol import (
    ADAPTERS_PATH,
    GENERATE_PATH,
    MAX_ADAPTER_CONFIG_BYTES,
    SLOTS_PATH,
    AdapterDescription,
    Digest,
    EncodeResponse,
    ErrorCode,
    ProtocolError,
    WorkerState,
    WorkerStatus,
)
from worker.requests.connection import Connection
from worker.settings import WorkerSettings

logger = structlog.get_logger(__name__)

RETRY_AFTER_SECONDS = 1
_SILENT_SECONDS = 10.0
"""So long nothing of a body may come. Others wait meanwhile who send an adapter."""
_BODY_SECONDS = 45.0
"""The longest that a body may take; less than a gateway waits for its answer."""


def create_app(settings: WorkerSettings, engine_factory: EngineFactory = load_engine) -> FastAPI:
    """The application of one worker; its `state.worker` loads when it starts up and closes when it ends."""
    worker = Worker(settings, engine_factory)
    registrar = Registrar(worker, settings)
    telemetry = Telemetry(settings, "voxfleet-worker", lambda: families(worker, telemetry))
    worker.tracing = telemetry.tracing

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with telemetry.running():
            worker.engine.load()
            registrar.start()
            yield
            await registrar.close()
            await worker.close()

    app = FastAPI(title="VoxFleet worker", lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    app.state.worker = worker
    app.add_middleware(SharedSecretMiddleware, secret=settings.secret)
    _add_error_handlers(app)
    _add_control_routes(app, worker)
    _add_encode_route(app, worker)
    _add_adapter_route(app, worker)

    @app.websocket(GENERATE_PATH)
    async def generate(websocket: WebSocket) -> None:
        await websocket.accept()
        await Connection(websocket, worker, gateway_of(websocket)).serve()

    @app.websocket(SLOTS_PATH)
    async def slots(websocket: WebSocket) -> None:
        await websocket.accept()
        await SlotSocket(websocket, worker.turns).serve()

    return app


def _add_control_routes(app: FastAPI, worker: Worker) -> None:
    @app.get("/health", response_model=None)
    async def health(request: Request) -> WorkerStatus | dict[str, str]:
        if STRANGER in request.scope:
            return {"state": worker.state}
        return worker.status()

    @app.get("/ready")
    async def ready() -> JSONResponse:
        state = worker.state
        is_ready = state in (WorkerState.IDLE, WorkerState.BUSY)
        return JSONResponse({"state": state}, 200 if is_ready else 503)

    @app.post("/drain")
    async def drain() -> WorkerStatus:
        worker.drain()
        return worker.status()

    @app.post("/shutdown")
    async def shut_down(
        wait_seconds: Annotated[float, Query(ge=0, le=3600, allow_inf_nan=False)] = 0.0,
    ) -> WorkerStatus:
        worker.shut_down(wait_seconds)
        return worker.status()

    @app.post("/resume")
    async def resume() -> WorkerStatus:
        worker.resume()
        return worker.status()


def _add_encode_route(app: FastAPI, worker: Worker) -> None:
    one_at_a_time = asyncio.Semaphore(1)
    cache = AudioCache()

    @app.post("/encode")
    async def encode(request: Request, role: Literal["reference", "prompt"] = "reference") -> EncodeResponse:
        engine = worker.serving().engine
        if not hasattr(engine, "encode_audio"):
            raise WorkerError(ErrorCode.NOT_FOUND, "this worker serves a text model, which hears nothing")
        data = await _read_body(request, worker.settings.max_audio_bytes, "audio")
        key = await asyncio.to_thread(cache.key, data, role)
        async with one_at_a_time:
            if answer := cache.get(key):
                return answer
            samples, rate = await asyncio.to_thread(decode_audio, data, worker.settings.max_audio_seconds)
            latents = await asyncio.to_thread(engine.encode_audio, samples, rate, role)
            answer = EncodeResponse(
                role=role,
                latents=from_array(latents),
                audio_seconds=len(samples) / rate,
                model_revision=engine.info.revision,
            )
            cache.put(key, answer)
        return answer


def _add_adapter_route(app: FastAPI, worker: Worker) -> None:
    @app.post(ADAPTERS_PATH)
    async def take_adapter(request: Request, digest: Digest) -> AdapterDescription:
        engine = worker.serving().engine
        check_takes_adapters(engine)
        async with worker.adapters.one_at_a_time:
            body = await _read_body(request, engine.max_adapter_bytes + MAX_ADAPTER_CONFIG_BYTES, "adapter")
            return await worker.adapters.take(engine, body, digest)


async def _read_body(request: Request, max_bytes: int, param: str) -> bytes:
    """The whole body. Raises WorkerError as soon as it is larger than `max_bytes`, or comes too slowly."""
    too_large = WorkerError(ErrorCode.TOO_LARGE, f"the body is larger than {max_bytes} bytes", param)
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > max_bytes:
        raise too_large
    body = bytearray()
    now = asyncio.get_running_loop().time
    latest = now() + _BODY_SECONDS
    try:
        async with asyncio.timeout(_SILENT_SECONDS) as patience:
            async for piece in request.stream():
                body += piece
                if len(body) > max_bytes:
                    raise too_large
                patience.reschedule(min(now() + _SILENT_SECONDS, latest))
    except TimeoutError:
        raise WorkerError(ErrorCode.SLOW_SENDER, "the body comes too slowly", param) from None
    return bytes(body)


def _add_error_handlers(app: FastAPI) -> None:
    async def respond(_: Request, error: Exception) -> JSONResponse:
        status, detail = status_and_detail(error)
        if status == 500:
            logger.error("request failed", code=detail.code, error=type(error).__name__)
        headers = {"Retry-After": str(RETRY_AFTER_SECONDS)} if status in (429, 503) else {}
        if status == 408:
            headers["Connection"] = "close"  # the rest of the body is not read
        return JSONResponse({"error": detail.model_dump()}, status, headers)

    async def respond_to_fields(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        param = ".".join(map(str, first["loc"][1:]))
        return await respond(
            request, WorkerError(ErrorCode.INVALID_REQUEST, f"{param}: {first['msg']}", param)
        )

    async def respond_to_routing(request: Request, error: HTTPException) -> JSONResponse:
        codes = {404: ErrorCode.NOT_FOUND, 405: ErrorCode.METHOD_NOT_ALLOWED}
        code = codes.get(error.status_code, ErrorCode.INVALID_REQUEST)
        return await respond(request, WorkerError(code, str(error.detail)))

    for kind in (WorkerError, RequestError, EngineError, ProtocolError, Exception):
        app.add_exception_handler(kind, respond)
    app.add_exception_handler(RequestValidationError, respond_to_fields)
    app.add_exception_handler(HTTPException, respond_to_routing)
