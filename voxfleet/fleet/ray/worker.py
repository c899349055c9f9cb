"""The actor of one worker: keeps its process alive on the machine, and with the GPUs, that Ray gave it.

The process dials in at the gateways and speaks to them; nothing of speech passes through Ray. It ends with
this actor, however that ends, and Ray starts the actor again, on another machine if need be.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, replace

import httpx
import ray
from ray.exceptions import RayError

from voxfleet.fleet.ray import actors
from voxfleet.fleet.ray.assignment import WorkerSpec
from voxfleet.fleet.ray.events import EventThread
from voxfleet.processes import ports
from voxfleet.processes.devices import Placement
from voxfleet.processes.service import Health, Service
from voxfleet.processes.worker_service import (
    PROBE_TIMEOUT_SECONDS,
    WORKER_GRACE_SECONDS,
    WorkerPlan,
    worker_service,
)

_ASK_AGAIN_SECONDS = 0.5


@dataclass(frozen=True)
class WorkerReport:
    """How a worker is."""

    digest: str
    """A digest of what it was started with."""
    node: str
    """Machine, by Ray's id."""
    healthy: bool = False
    draining: bool = False
    failed_starts: int = 0
    """In a row."""


class SpeechWorker:
    """See the module. What it prints is this actor's log in Ray's dashboard."""

    def __init__(self, id: str, spec: WorkerSpec, namespace: str) -> None:
        self._id, self._spec, self._namespace = id, spec, namespace
        self._report = WorkerReport(spec.digest, ray.get_runtime_context().get_node_id())
        self._stage = ""
        self._service: Service | None = None
        self._stopped = False
        self._events = EventThread()
        self._events.begin(self._begin())

    def __repr__(self) -> str:
        """What Ray's dashboard shows."""
        return self._id

    def report(self) -> WorkerReport:
        """How the worker is now."""
        return self._report

    def drain(self) -> None:
        """Remember that it drains, for a controller that comes later."""
        self._report = replace(self._report, draining=True)
        self._say("draining")

    def stop(self) -> None:
        """End the process, and start it no more."""
        self._events.call(self._stop())

    async def _begin(self) -> None:
        self._say(f"starting with {self._spec.model} on {self._spec.device}, {self._spec.slots} slots")
        self._secret = await self._ask_for_secret()
        self._http = httpx.AsyncClient(timeout=PROBE_TIMEOUT_SECONDS, trust_env=False)
        if not self._stopped:
            self._service = self._new_service()
            await self._service.start()

    async def _ask_for_secret(self) -> str:
        """Ask the controller for the secret; it may be away for a while."""
        while True:
            try:
                controller = await asyncio.to_thread(actors.find, actors.CONTROLLER, self._namespace)
                if controller is not None:
                    return await controller.worker_secret.remote()
            except RayError as error:
                self._say(f"the controller does not answer: {type(error).__name__}")
            await asyncio.sleep(_ASK_AGAIN_SECONDS)

    async def _stop(self) -> None:
        self._stopped = True
        if self._service is not None:
            await self._service.stop(WORKER_GRACE_SECONDS)
        self._say("stopped")

    def _new_service(self) -> Service:
        spec, host = self._spec, ray.util.get_node_ip_address()
        worker = WorkerPlan(
            self._id,
            ports.any_free(host),
            spec.model,
            Placement(spec.device),
            spec.slots,
            gateway_urls=spec.gateway_urls,
            host=host,
            environment=dict(spec.settings),
        )
        return worker_service(worker, self._secret, self._http, self)

    # ------------------------------------------------------------------------- what its supervision says

    def on_line(self, service: Service, line: str) -> None:
        print(line, flush=True)

    def on_health(self, service: Service, health: Health) -> None:
        stage = "serving" if health.healthy else f"loading: {health.stage or 'starting'}"
        if stage != self._stage:
            self._stage = stage
            self._say(stage)
        failed = service.failed_starts
        self._report = replace(self._report, healthy=health.healthy, failed_starts=failed)

    def on_down(self, service: Service, reason: str, delay_seconds: float) -> None:
        self._stage = ""
        self._say(f"{reason}; starting it again in {delay_seconds:.1f} s")
        self._report = replace(self._report, healthy=False, failed_starts=service.failed_starts)
        fresh = self._new_service()  # somebody may have taken its port
        service.command, service.probe = fresh.command, fresh.probe

    def _say(self, what: str) -> None:
        print(f"{self._id} (process {os.getpid()}): {what}", flush=True)
