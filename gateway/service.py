"""The running gateway behind the routes: pool, clients and health monitors of its workers, settings and
metrics.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Annotated, Protocol

from fastapi import Depends
from pydantic import SecretStr
from starlette.requests import HTTPConnection

from gateway.adapters.files import AdapterFiles
from gateway.adapters.service import Adapters
from gateway.callers.elsewhere import Open, OpenElsewhere
from gateway.callers.identity import Callers
from gateway.database import Database
from gateway.database.belonging import check_belonging
from gateway.edge.connections.crowd import Crowd
from gateway.errors import ApiError
from gateway.files.content_files import ContentFiles
from gateway.files.disk import Disk
from gateway.files.kept_secrets import ADMIN_TOKEN, RESUME_SECRET, kept_secret
from gateway.lexicons import Lexicons
from gateway.metrics import Metrics
from gateway.operations.measurements.objectives import promise
from gateway.operations.operations import Operations
from gateway.requests import TtsRequest
from gateway.sessions import Recorder
from gateway.settings import GatewaySettings
from gateway.slots.capacity.estimates import EtaTuning, ServiceTime
from gateway.slots.capacity.worker import Worker
from gateway.slots.line.tickets import Ticket
from gateway.slots.pool import WorkerPool
from gateway.slots.requirement import Requirement
from gateway.streams.resumption.succession import Successions
from gateway.streams.resumption.token import ResumeTokens
from gateway.streams.retry_budget import RetryBudget
from gateway.timing.aligner import Aligner, open_aligner
from gateway.voices.resolution import DirectedSpeaker, Speaker
from gateway.voices.service import Voices
from gateway.workers.client import WorkerClient, WorkerUnreachable
from gateway.workers.registration import Registry
from gateway.workers.roster import Roster
from telemetry import Telemetry
from telemetry.families import TelemetryCollector

_MARKING_THREADS = 2
_LAST_WORDS_SECONDS = 1.0
"""For clients to hear that a shutdown ends their requests."""
_LAST_ROWS_SECONDS = 3.0
"""For what the database is to know of the end."""


class OpenSession(Protocol):
    """A live session, as far as the gateway minds it."""

    tenant: str

    def shut_down(self, reason: ApiError) -> None:
        """End, and tell the client why."""


class Gateway:
    """State of one gateway process; `running()` brackets its life."""

    def __init__(self, settings: GatewaySettings) -> None:
        self.settings = settings
        self.started_at = time.monotonic()
        self.closing = False
        """Shutting down: running requests go on, new ones are refused."""
        tuning = EtaTuning()
        workers = [
            Worker(f"w{index}", url, settings.health_failures_down, service_time=ServiceTime(tuning))
            for index, url in enumerate(settings.worker_urls)
        ]
        self.pool = WorkerPool(
            workers,
            max_queue=settings.max_queue,
            no_worker_grace_seconds=settings.no_worker_grace_seconds,
            max_wait_seconds=settings.queue_timeout_seconds,
            ageing_seconds=settings.bulk_ageing_seconds,
        )
        secret = _kept(settings.resume_secret, settings, RESUME_SECRET)
        self.link_secret = secret.encode()
        """What the keys of links, digests of clients and salts of cached prompts are derived from.
        Gateways with a `data_dir` each have the same by a common `resume_secret` alone.
        """
        self.callers = Callers(settings, _kept(settings.admin_token, settings, ADMIN_TOKEN))
        self.database = Database(settings.database)
        self.disk = Disk(settings.data_dir, round(settings.min_free_disk_gb * 10**9))
        self.crowd = Crowd(settings)
        self.metrics = Metrics(self.pool, self.disk, self.crowd)
        promise(self.metrics, settings)
        self.telemetry = Telemetry(settings, "voxfleet-gateway", self.metrics.registry.collect)
        self.metrics.registry.register(TelemetryCollector(self.telemetry))
        self.tracing = self.telemetry.tracing
        self.pool.demand.objective_seconds = settings.objective_first_audio_seconds
        self.pool.demand.first_token_seconds = settings.objective_first_token_seconds
        self.recorder = Recorder(settings, self.database, self.metrics, self.disk)
        self.live_sessions: set[OpenSession] = set()
        self.open_elsewhere = OpenElsewhere(self.database, self.link_secret, self.open_here)
        self.pool.tickets.elsewhere = lambda tenant: self.open_elsewhere.of(tenant).streams
        self._leaving: set[str] = set()
        """Tickets on their way from one worker to another; nobody else is to count on the same slot."""
        adapter_files = AdapterFiles(ContentFiles(settings.data_dir / "adapters", ".adapter", self.disk))
        self.roster = Roster(self.pool, settings, adapter_files.read)
        self.voices = Voices(settings, self.database, self.pool, self.roster.clients, self.disk)
        self.adapters = Adapters(settings, self.database, self.pool, self.roster.clients, adapter_files)
        self.lexicons = Lexicons(settings, self.database)
        self.registry = Registry(self.pool, self.roster, settings, tuning)
        self.operations = Operations(
            self.pool, self.database, tuning, fleet_may_be_empty=settings.fleet_may_be_empty
        )
        self.metrics.database_up.set_function(lambda: not self.operations.history.failing)
        self.resume_tokens = ResumeTokens(secret.encode(), settings.resume_seconds)
        self.aligner: Aligner | None = open_aligner(settings.aligner)
        self.successions = Successions()
        self.retry_budget = RetryBudget(settings.retry_ratio, self._slots_of_largest_worker)
        self.marker = ThreadPoolExecutor(_MARKING_THREADS, "marking") if settings.watermark else None
        """Where speech is marked, beside the event loop."""

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Open the database, and watch the workers for as long as the block lasts. Raises DatabaseError."""
        async with self.telemetry.running():
            async with self._working():
                yield

    @asynccontextmanager
    async def _working(self) -> AsyncIterator[None]:
        await self.database.open()
        try:
            await check_belonging(self.database, self.settings.data_dir)
            self.voices.start()
            self.adapters.start()
            async with self.recorder.running(), self.operations.running(), self.roster.running():
                async with self.open_elsewhere.running():
                    yield
        finally:
            if self.marker is not None:
                self.marker.shutdown(wait=False, cancel_futures=True)
            self.registry.close()
            if self.aligner is not None:
                await self.aligner.close()
            await self.voices.close()
            await self.adapters.close()
            await self.lexicons.close()
            await self.database.close()

    async def speaker_of(self, request: TtsRequest, tenant: str, voice: Speaker | None = None) -> Speaker:
        """Who speaks a request of `tenant`: its voice, or the one given, with the adapter that either names,
        as its instructions say.

        Raises what `Voices.resolve` and `Adapters.adapted` raise.
        """
        voice = voice or await self.voices.resolve(request.voice, tenant)
        asked = voice.fill_in(request)
        speaker = await self.adapters.adapted(voice, asked, tenant)
        return DirectedSpeaker(speaker) if asked.instructions else speaker

    async def check_speaker(self, request: TtsRequest, tenant: str) -> None:
        """Raise what a clip is refused with for its voice, adapter or model, for what is spoken later.

        No worker has to be up yet.
        """
        speaker = await self.speaker_of(request, tenant)
        needed = speaker.requirement(speaker.fill_in(request).model)
        problem = self.pool.why_unservable(needed)
        if problem is not None and problem.status_code != 503:
            raise problem
        self.check_shortest(request, needed)

    def check_shortest(self, request: TtsRequest, needed: Requirement) -> None:
        """Raise ApiError for a `max_seconds` in which no model that may speak the request says anything."""
        models = self.pool.workers.models_for(needed)
        least = min((model.patch_seconds for model in models), default=0.0)
        if request.max_seconds is not None and request.max_seconds * request.speed < least:
            message = f"max_seconds is at least {least / request.speed:g}"
            raise ApiError(422, "invalid_value", message, param="max_seconds")

    @property
    def clients(self) -> dict[str, WorkerClient]:
        """The wire to each worker, by id."""
        return self.roster.clients

    def open_here(self, tenant: str) -> Open:
        """What a client has open at this gateway."""
        sessions = sum(session.tenant == tenant for session in self.live_sessions)
        return Open(self.pool.tickets.streams[tenant], sessions)

    def _slots_of_largest_worker(self) -> int:
        return max((worker.slots_total for worker in self.pool.workers.values()), default=0)

    def check_open(self) -> None:
        """Raise ApiError when the gateway is shutting down."""
        if self.closing:
            raise self._shutting_down()

    def _shutting_down(self) -> ApiError:
        return ApiError(503, "shutting_down", "the gateway is shutting down", retry_after_seconds=5)

    def check_worker(self, worker: Worker) -> None:
        """Have the worker's health looked at now."""
        self.roster.check_now(worker.id)

    def may_leave(self, worker: Worker, ticket: Ticket) -> bool:
        """Whether the request can go on at once on another worker, which then expects it until `moved`."""
        others = (other for other in self.pool.workers.values() if other is not worker)
        room = sum(other.room for other in others if other.offers(ticket.requirement))
        if room <= len(self._leaving - {ticket.id}):
            return False
        self._leaving.add(ticket.id)
        return True

    def moved(self, ticket: Ticket) -> None:
        """The request is in line for another worker, or has ended: nobody is expected any more."""
        self._leaving.discard(ticket.id)

    async def set_draining(self, worker_id: str, draining: bool, move_streams: bool = False) -> Worker:
        """Drain or resume a worker; with `move_streams`, what it streams goes on elsewhere as room allows.

        Raises ApiError: 404 unknown, 409 while it restarts, 502 when it cannot be reached.
        """
        worker = self.pool.workers.steady(worker_id)
        control = self.clients[worker_id].control
        try:
            status = await (control.drain() if draining else control.resume())
        except WorkerUnreachable as error:
            raise ApiError(502, "worker_unreachable", f"worker {worker_id} does not answer") from error
        self.pool.reports.answered(worker, status)
        worker.moving_out = draining and move_streams
        return worker

    async def close(self) -> None:
        """Refuse new requests, give the others `shutdown_seconds`, and tell the rest that it is over."""
        self.closing = True
        self.database.end_within(self.settings.shutdown_seconds + _LAST_ROWS_SECONDS)
        self.operations.log.say("shutdown", "", "shutdown", open=len(self.pool.tickets))
        for session in list(self.live_sessions):
            session.shut_down(self._shutting_down())
        await self._until_no_tickets(self.settings.shutdown_seconds)
        for ticket_id in list(self.pool.tickets):
            self.pool.end(ticket_id, self._shutting_down())
        await self._until_no_tickets(_LAST_WORDS_SECONDS)
        self.hurry()

    def hurry(self) -> None:
        """No request is waited for any more; what the database is to know of the end is."""
        self.database.end_within(_LAST_ROWS_SECONDS)

    async def _until_no_tickets(self, limit_seconds: float) -> None:
        changed = asyncio.Event()
        self.pool.on_change.append(changed.set)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit_seconds):
                while self.pool.tickets:
                    changed.clear()
                    await changed.wait()
        self.pool.on_change.remove(changed.set)


def _kept(given: SecretStr | None, settings: GatewaySettings, name: str) -> str:
    """The secret of the settings, else the one that is kept in `data_dir`."""
    return kept_secret(settings.data_dir, name) if given is None else given.get_secret_value()


async def current_gateway(connection: HTTPConnection) -> Gateway:
    """The gateway of the app that a request came to. Plain functions as dependencies run in threads."""
    return connection.app.state.gateway


GatewayDep = Annotated[Gateway, Depends(current_gateway)]
