"""The gateway as an ASGI application: `create_app(settings)` is all of it but the listening socket."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache

from fastapi import FastAPI
from fastapi.middleware.cors import CORSMiddleware
from starlette.requests import HTTPConnection

from gateway.api import pages
from gateway.api.failures import install_failure_handlers
from gateway.api.long_texts import book_audio, books, documents, jobs
from gateway.api.operations import events, fleet, health, registration, switches, workers_and_queue
from gateway.api.permissions import check_sender
from gateway.api.sessions import files as session_files
from gateway.api.sessions import sessions
from gateway.api.speech import catalog, encode, live, stream
from gateway.api.transfer.upload import (
    ADAPTER_PATH,
    AUDIO_PATHS,
    DOCUMENT_PATH,
    TRAINING_PATH,
    UPLOAD_SECONDS,
)
from gateway.api.voices import adapters, lexicon, trainings, voices
from gateway.bodies import MOST_BODY_VALUES
from gateway.books import Books
from gateway.description import describe
from gateway.description import route as description
from gateway.documents.reading import Documents
from gateway.edge.methods import HeadMiddleware, methods_of
from gateway.edge.middleware import BodyLimit, EdgeMiddleware
from gateway.edge.unread import UnreadAnswers
from gateway.errors import install_error_handlers
from gateway.jobs import Jobs
from gateway.operations.page_gate import PageGate
from gateway.protocols.openai import answers
from gateway.protocols.registry import ROUTERS, error_shape_of
from gateway.protocols.selfhosted import coqui, forms, marytts
from gateway.protocols.wyoming import server as wyoming
from gateway.service import Gateway
from gateway.settings import GatewaySettings
from gateway.site import Site
from gateway.training import Trainings
from telemetry.build import VERSION


def create_app(settings: GatewaySettings) -> FastAPI:
    """The application for `settings`. Its `state.gateway` is the running gateway."""
    gateway = Gateway(settings)

    app_jobs, app_trainings = Jobs(gateway), Trainings(gateway)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with gateway.running(), wyoming.listening(gateway), app_jobs.running():
            async with app_trainings.running():
                yield

    app = FastAPI(
        title="VoxFleet",
        version=VERSION,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
    )
    app.state.gateway = gateway
    app.state.jobs, app.state.trainings = app_jobs, app_trainings
    app.state.books = Books(gateway, app_jobs)
    app.state.documents = Documents(settings.max_job_characters)
    app.state.site = Site(settings.frontend_dir, settings.data_dir / "editions")
    install_error_handlers(app, pages.lost, methods_of)
    install_failure_handlers(app)
    _add_middleware(app, gateway)
    _add_routes(app)
    app.openapi = cache(lambda: describe(app, anonymous=settings.anonymous))  # type: ignore[method-assign]
    pages.mount_static_files(app, app.state.site, settings.frontend_dir)
    return app


def _add_middleware(app: FastAPI, gateway: Gateway) -> None:
    """What happens to every request; the last one added sees it first."""
    settings = gateway.settings
    app.add_middleware(PageGate, pages=gateway.operations.pages, lost=pages.lost)
    app.add_middleware(HeadMiddleware)

    def address_of(connection: HTTPConnection) -> str:
        return gateway.callers.client(connection).address

    app.add_middleware(UnreadAnswers, address_of=address_of)
    app.add_middleware(
        EdgeMiddleware,
        metrics=gateway.metrics,
        settings=settings,
        check_sender=lambda connection: check_sender(connection, gateway),
        address_of=address_of,
        error_shape_of=error_shape_of,
        body_limits=_body_limits(settings),
        traced=gateway.tracing.on,
    )
    if settings.allowed_origins:
        _allow_pages(app, settings.allowed_origins)


def _add_routes(app: FastAPI) -> None:
    for router in ROUTERS:
        app.include_router(router)
    public = (
        stream,
        live,
        encode,
        catalog,
        health,
        pages,
        voices,
        adapters,
        lexicon,
        sessions,
        session_files,
        jobs,
        books,
        book_audio,
        documents,
        trainings,
    )
    for room in (*public, workers_and_queue, fleet, switches, events, registration, description):
        app.include_router(room.router)
    app.include_router(workers_and_queue.tickets)
    app.include_router(switches.public)


def _body_limits(settings: GatewaySettings) -> dict[str, BodyLimit]:
    """Limits of paths whose bodies may be larger than others'. One that ends with a slash: all below it."""
    audio = BodyLimit(settings.max_voice_bytes + settings.max_body_bytes, UPLOAD_SECONDS, in_memory=False)
    values = answers.most_values(settings)
    answer = BodyLimit(answers.most_bytes(settings), UPLOAD_SECONDS, values=values, lists=MOST_BODY_VALUES)
    form = BodyLimit(forms.most_bytes(settings), settings.body_timeout_seconds)
    book = BodyLimit(books.most_bytes(settings), books.UPLOAD_SECONDS, values=books.most_values(settings))
    document_bytes = settings.max_document_bytes + settings.max_body_bytes
    adapter_bytes = settings.max_adapter_bytes + settings.max_body_bytes
    return {
        **dict.fromkeys((*AUDIO_PATHS, f"{TRAINING_PATH}/"), audio),
        **dict.fromkeys(answers.PATHS, answer),
        **dict.fromkeys((*marytts.PATHS, coqui.PATH), form),
        ADAPTER_PATH: BodyLimit(adapter_bytes, UPLOAD_SECONDS, in_memory=False),
        DOCUMENT_PATH: BodyLimit(document_bytes, UPLOAD_SECONDS, in_memory=False),
        encode.PATH: BodyLimit(settings.max_encode_bytes, UPLOAD_SECONDS, in_memory=False),
        jobs.PATH: BodyLimit(jobs.most_bytes(settings.max_job_characters), jobs.UPLOAD_SECONDS),
        **dict.fromkeys((books.PATH, f"{books.PATH}/"), book),
        lexicon.PATH: BodyLimit(lexicon.MOST_BYTES, lexicon.UPLOAD_SECONDS),
    }


def _allow_pages(app: FastAPI, origins: list[str]) -> None:
    """Pages of these origins may read the answers. Around everything, for they read errors too."""
    app.add_middleware(
        CORSMiddleware,
        allow_origins=origins,
        allow_methods=["*"],
        allow_headers=["*"],
        expose_headers=["*"],
        allow_private_network=True,
        max_age=600,
    )
