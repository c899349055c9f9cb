"""One worker's life: loading, serving, draining, failing.

A worker whose loading failed, or whose engine died or hangs, is in state ERROR and says why; `server.py`
decides whether it stays up. Everything here belongs to the event loop's thread.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import time
from collections.abc import Callable

import structlog

from telemetry import Tracing
from telemetry.build import build
from worker.engines.held_adapters import HeldAdapters
from worker.engines.held_engine import HeldEngine, Serving
from worker.engines.loading import EngineFactory
from worker.errors import WorkerError
from worker.gateways.turns import NoSlotError, Turns
from worker.memory import device_memory_bytes, resident_memory_bytes
from worker.protocol import Counters, ErrorCode, SlotClaim, WorkerState, WorkerStatus
from worker.settings import WorkerSettings
from worker.slots import Slot, Slots

logger = structlog.get_logger(__name__)


def _call_later(delay_seconds: float, callback: Callable[[], None]) -> object:
    return asyncio.get_running_loop().call_later(delay_seconds, callback)


def _call_soon(callback: Callable[[], None]) -> object:
    return asyncio.get_running_loop().call_soon(callback)


class Worker:
    """State, slots, counters and engine of this process."""

    def __init__(self, settings: WorkerSettings, engine_factory: EngineFactory) -> None:
        self.settings = settings
        self.worker_id = settings.worker_id or f"worker-{settings.port}"
        self.boot_id = secrets.token_hex(8)
        self.engine = HeldEngine(settings, engine_factory)
        self.slots = Slots()
        self.counters = Counters()
        self.adapters = HeldAdapters(settings.max_adapter_memory_bytes)
        self.tracing = Tracing()
        """Where spans of requests begin; `worker.app` puts another one here where telemetry is on."""
        self.turns = Turns(settings.slots, _call_later, _call_soon)
        self.on_state_change: list[Callable[[], None]] = []
        """Called on the event loop when the worker begins or ceases to drain."""
        self.end_within: Callable[[float], None] | None = None
        """Ends the process within so many seconds; None where no server runs that could."""
        self._ending = False
        self._started_at = time.monotonic()
        self._draining = False
        self._closed = False

    @property
    def state(self) -> WorkerState:
        """ERROR outranks LOADING, which outranks DRAINING."""
        if self.engine.error is not None:
            return WorkerState.ERROR
        if self.engine.serving is None:
            return WorkerState.LOADING
        if self._draining:
            return WorkerState.DRAINING
        return WorkerState.BUSY if self.slots.used else WorkerState.IDLE

    def status(self) -> WorkerStatus:
        """What `GET /health` answers."""
        engine, serving, state = self.engine, self.engine.serving, self.state
        return WorkerStatus(
            worker_id=self.worker_id,
            boot_id=self.boot_id,
            state=state,
            slots_total=self.settings.slots,
            slots_used=self.slots.used,
            slots_paused=self.slots.paused,
            model=None if serving is None else serving.model,
            device=engine.device,
            pid=os.getpid(),
            build=build(),
            step=engine.step,
            uptime_seconds=time.monotonic() - self._started_at,
            memory_bytes=resident_memory_bytes(),
            device_memory_bytes=None if serving is None else device_memory_bytes(engine.device),
            counters=self._counters_now(),
            supervised=self.settings.supervised,
            traced=self.tracing.on,
            loading=engine.progress if state is WorkerState.LOADING else None,
            error=engine.error,
        )

    def _counters_now(self) -> Counters:
        """With those of the engine's cache, which an engine without one does not have."""
        figures = self.engine.cache_figures
        if figures is None:
            return self.counters
        names = [name for name in Counters.model_fields if name.startswith("kv_")]
        cache = {name: getattr(figures, name.removeprefix("kv_")) for name in names}
        return self.counters.model_copy(update=cache)

    def serving(self) -> Serving:
        """The engine, when new work is taken. Raises WorkerError: loading, draining or failed."""
        state = self.state
        if state is WorkerState.ERROR:
            raise WorkerError(ErrorCode.WORKER_FAILED, "the worker has failed; its /health says why")
        if self._draining or self._closed:
            raise WorkerError(ErrorCode.DRAINING, "the worker is draining and takes no new requests")
        if self.engine.serving is None:
            raise WorkerError(ErrorCode.LOADING, "the worker is still loading its model")
        return self.engine.serving

    def take_slot(self, gateway: str | None = None, claim: SlotClaim | None = None) -> tuple[Serving, Slot]:
        """A slot and the engine to use it with. Raises WorkerError when there is none to be had."""
        serving = self.serving()
        try:
            hold = self.turns.take(gateway, claim)
        except NoSlotError:
            message = f"all {self.settings.slots} slots are used or promised"
            raise WorkerError(ErrorCode.BUSY, message) from None
        return serving, self.slots.use(hold)

    def drain(self) -> None:
        """Finish open requests and refuse new ones until `resume`."""
        if not self._draining:
            logger.info("draining", slots_used=self.slots.used)
            self._set_draining(True)

    def resume(self) -> None:
        """Take new requests again, unless the process is about to end."""
        if self._draining and not self._ending:
            logger.info("resumed")
            self._set_draining(False)

    def shut_down(self, wait_seconds: float) -> None:
        """End the process once nothing is open, or after `wait_seconds`. Raises WorkerError."""
        if not self.settings.supervised or self.end_within is None:
            raise WorkerError(ErrorCode.NOT_SUPERVISED, "nobody would start this worker again")
        self._ending = True
        self.drain()
        self.end_within(wait_seconds)

    def _set_draining(self, draining: bool) -> None:
        self._draining = draining
        self.turns.reopen(not draining)
        for listener in self.on_state_change:
            listener()

    async def finish_open_requests(self, timeout_seconds: float) -> bool:
        """Drain and wait, before the process ends; False when requests were still open at the end."""
        self._ending = True
        self.drain()
        try:
            await asyncio.wait_for(self.slots.all_free.wait(), timeout_seconds)
        except TimeoutError:
            logger.warning("requests still open", slots_used=self.slots.used)
            return False
        return True

    async def close(self) -> None:
        """The process ends: nothing is taken any more, and the device is freed."""
        self._closed = True
        self.adapters.close()
        await self.engine.close()
        logger.info("closed", requests=self.counters.requests, errors=self.counters.errors)
