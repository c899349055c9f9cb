"""One worker's life: loading, serving, draining, failing; and its slots.

Loading runs in a thread, so that the process answers `GET /health` from its first moment. A worker whose
loading failed, or whose engine died or hangs, is in state ERROR and says why; `server.py` decides whether it
stays up. Everything but loading belongs to the event loop's thread; the loading thread only sets attributes
that are complete when they appear.
"""

from __future__ import annotations

import asyncio
import gc
import os
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import structlog
from pydantic import TypeAdapter

from engine.loop import EngineLoop
from telemetry import Tracing
from telemetry.build import build
from worker.engines.held_adapters import HeldAdapters
from worker.engines.loading import EngineFactory, RefusedError
from worker.errors import WorkerError
from worker.gateways.turns import Hold, NoSlotError, Turns
from worker.kinds import ModelKind, kind_of
from worker.memory import device_memory_bytes, resident_memory_bytes
from worker.protocol import (
    AnyModel,
    Counters,
    ErrorCode,
    LoadingProgress,
    SlotClaim,
    WorkerState,
    WorkerStatus,
)
from worker.settings import WorkerSettings

logger = structlog.get_logger(__name__)

_description: TypeAdapter[AnyModel] = TypeAdapter(AnyModel)
_CLOSE_SECONDS = 0.5
"""Between two looks at whether the engine hangs that is to stop."""


def _call_later(delay_seconds: float, callback: Callable[[], None]) -> object:
    return asyncio.get_running_loop().call_later(delay_seconds, callback)


def _call_soon(callback: Callable[[], None]) -> object:
    return asyncio.get_running_loop().call_soon(callback)


@dataclass(frozen=True)
class Serving:
    """A loaded engine and the thread that steps it."""

    engine: Any
    """A speech engine or a text engine."""
    kind: ModelKind
    loop: EngineLoop
    model: AnyModel


class Slot:
    """The right to one running request. Released once; releasing again does nothing."""

    def __init__(self, worker: Worker, hold: Hold) -> None:
        self._worker: Worker | None = worker
        self._hold = hold
        self._paused = False

    def set_paused(self, paused: bool) -> None:
        """Say that the request in it stands still, or goes on."""
        if self._worker is not None and paused != self._paused:
            self._paused = paused
            self._worker.count_paused(1 if paused else -1)

    def release(self) -> None:
        """Give the slot back."""
        self.set_paused(False)
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.take_back_slot()
            self._hold.release()


class Worker:
    """State, slots and counters of this process, and the engine once there is one."""

    def __init__(self, settings: WorkerSettings, engine_factory: EngineFactory) -> None:
        self.settings = settings
        self.worker_id = settings.worker_id or f"worker-{settings.port}"
        self.boot_id = secrets.token_hex(8)
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
        self._engine_factory = engine_factory
        self._started_at = time.monotonic()
        self._loading = LoadingProgress(stage="starting", progress=0.0)
        self._loading_error: str | None = None
        self._serving: Serving | None = None
        self._draining = False
        self._closed = False
        self._slots_used = 0
        self._slots_paused = 0
        self._all_slots_free = asyncio.Event()
        self._all_slots_free.set()
        self._loader = threading.Thread(target=self._load, name="load-engine", daemon=True)

    def start(self) -> None:
        """Begin to load the engine; returns at once."""
        self._loader.start()

    @property
    def is_loading(self) -> bool:
        """Whether the loading thread runs. It cannot be interrupted."""
        return self._loader.is_alive()

    @property
    def error(self) -> str | None:
        """Why the state is ERROR."""
        if self._loading_error is not None:
            return self._loading_error
        if self._serving is None:
            return None
        if (failure := self._serving.loop.error) is not None:
            return f"the engine died: {type(failure).__name__}: {failure}"
        limit = self.settings.step_timeout_seconds
        return f"the engine hangs: a step has taken more than {limit:g} s" if self._hangs else None

    @property
    def _hangs(self) -> bool:
        if self._serving is None or self._serving.loop.error is not None:
            return False
        return self._serving.loop.step_seconds > self.settings.step_timeout_seconds

    @property
    def has_lost_its_engine(self) -> bool:
        """Whether there was an engine, and it died or hangs."""
        return self._serving is not None and self.error is not None

    @property
    def state(self) -> WorkerState:
        """ERROR outranks LOADING, which outranks DRAINING."""
        if self.error is not None:
            return WorkerState.ERROR
        if self._serving is None:
            return WorkerState.LOADING
        if self._draining:
            return WorkerState.DRAINING
        return WorkerState.BUSY if self._slots_used else WorkerState.IDLE

    @property
    def step(self) -> int:
        """Engine steps so far."""
        return 0 if self._serving is None else self._serving.loop.step_count

    def status(self) -> WorkerStatus:
        """What `GET /health` answers."""
        serving, state = self._serving, self.state
        device = getattr(None if serving is None else serving.engine, "device", self.settings.device)
        return WorkerStatus(
            worker_id=self.worker_id,
            boot_id=self.boot_id,
            state=state,
            slots_total=self.settings.slots,
            slots_used=self._slots_used,
            slots_paused=self._slots_paused,
            model=None if serving is None else serving.model,
            device=str(device),
            pid=os.getpid(),
            build=build(),
            step=self.step,
            uptime_seconds=time.monotonic() - self._started_at,
            memory_bytes=resident_memory_bytes(),
            device_memory_bytes=None if serving is None else device_memory_bytes(str(device)),
            counters=self._counters_now(),
            supervised=self.settings.supervised,
            traced=self.tracing.on,
            loading=self._loading if state is WorkerState.LOADING else None,
            error=self.error,
        )

    def _counters_now(self) -> Counters:
        """With those of the engine's cache, which an engine without one does not have."""
        figures = getattr(None if self._serving is None else self._serving.engine, "cache_figures", None)
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
        if self._serving is None:
            raise WorkerError(ErrorCode.LOADING, "the worker is still loading its model")
        return self._serving

    def take_slot(self, gateway: str | None = None, claim: SlotClaim | None = None) -> tuple[Serving, Slot]:
        """A slot and the engine to use it with. Raises WorkerError when there is none to be had."""
        serving = self.serving()
        try:
            hold = self.turns.take(gateway, claim)
        except NoSlotError:
            message = f"all {self.settings.slots} slots are used or promised"
            raise WorkerError(ErrorCode.BUSY, message) from None
        self._slots_used += 1
        self._all_slots_free.clear()
        return serving, Slot(self, hold)

    def take_back_slot(self) -> None:
        """For `Slot.release`."""
        self._slots_used -= 1
        if self._slots_used == 0:
            self._all_slots_free.set()

    def count_paused(self, change: int) -> None:
        """For `Slot.set_paused`."""
        self._slots_paused += change

    def drain(self) -> None:
        """Finish open requests and refuse new ones until `resume`."""
        if not self._draining:
            logger.info("draining", slots_used=self._slots_used)
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
            await asyncio.wait_for(self._all_slots_free.wait(), timeout_seconds)
        except TimeoutError:
            logger.warning("requests still open", slots_used=self._slots_used)
            return False
        return True

    async def close(self) -> None:
        """Stop the engine thread, then free the device. A thread that loads or hangs is left to itself."""
        self._closed = True
        self.adapters.close()
        serving, ended = self._serving, False
        while serving is not None and not ended and not self._hangs:
            ended = await asyncio.to_thread(serving.loop.close, _CLOSE_SECONDS)
        if ended:
            await asyncio.to_thread(serving.engine.close)
        logger.info("closed", requests=self.counters.requests, errors=self.counters.errors)

    def _report(self, stage: str, progress: float) -> None:
        if stage != self._loading.stage:
            logger.info("loading", stage=stage)
        self._loading = LoadingProgress(stage=stage, progress=min(1.0, max(0.0, progress)))

    def _load(self) -> None:
        started_at = time.monotonic()
        try:
            engine = self._engine_factory(self.settings, self._report)
            model = _description.validate_python(engine.info.to_dict())
            loop = EngineLoop(engine)
            loop.start()
        except RefusedError as error:
            self._loading_error = f"loading failed: {error}"
            logger.error("loading failed", model=self.settings.model, reason=str(error))
            return
        except Exception as error:
            self._loading_error = f"loading failed: {type(error).__name__}: {error}"
            logger.exception("loading failed", model=self.settings.model)
            return
        gc.collect()
        gc.freeze()  # hundreds of thousands of objects stay; to look through them would hold up all audio
        self._serving = Serving(engine, kind_of(engine), loop, model)
        seconds = round(time.monotonic() - started_at, 2)
        logger.info("ready", model=engine.info.name, revision=engine.info.revision, seconds=seconds)
