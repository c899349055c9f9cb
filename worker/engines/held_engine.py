"""The engine of a worker: how it is loaded, whether it still steps, how it is closed.

Loading runs in a thread, so that the process answers `GET /health` from its first moment. The thread only
sets attributes that are complete when they appear; everything else belongs to the event loop's thread.
"""

from __future__ import annotations

import asyncio
import gc
import threading
import time
from dataclasses import dataclass
from typing import Any

import structlog
from pydantic import TypeAdapter

from engine.loop import EngineLoop
from worker.engines.loading import EngineFactory, RefusedError
from worker.engines.step_watch import StepWatch
from worker.kinds import ModelKind, kind_of
from worker.protocol import AnyModel, LoadingProgress
from worker.settings import WorkerSettings

logger = structlog.get_logger(__name__)

_description: TypeAdapter[AnyModel] = TypeAdapter(AnyModel)
_CLOSE_SECONDS = 0.5
"""Between two looks at whether the engine hangs that is to stop."""


@dataclass(frozen=True)
class Serving:
    """A loaded engine and the thread that steps it."""

    engine: Any
    """A speech engine or a text engine."""
    kind: ModelKind
    loop: EngineLoop
    watch: StepWatch
    model: AnyModel


class HeldEngine:
    """None at first, then `serving`; or an `error`."""

    def __init__(self, settings: WorkerSettings, factory: EngineFactory) -> None:
        self.serving: Serving | None = None
        self.progress = LoadingProgress(stage="starting", progress=0.0)
        self._settings = settings
        self._factory = factory
        self._loading_error: str | None = None
        self._loader = threading.Thread(target=self._load, name="load-engine", daemon=True)

    def load(self) -> None:
        """Begin to load it; returns at once."""
        self._loader.start()

    @property
    def is_loading(self) -> bool:
        """Whether the loading thread runs. It cannot be interrupted."""
        return self._loader.is_alive()

    @property
    def error(self) -> str | None:
        """Why there is none, or none that serves."""
        if self._loading_error is not None:
            return self._loading_error
        if self.serving is None:
            return None
        if (failure := self.serving.loop.error) is not None:
            return f"the engine died: {type(failure).__name__}: {failure}"
        limit = self._settings.step_timeout_seconds
        return f"the engine hangs: a step has taken more than {limit:g} s" if self._hangs else None

    @property
    def _hangs(self) -> bool:
        if self.serving is None or self.serving.loop.error is not None:
            return False
        return self.serving.watch.look() > self._settings.step_timeout_seconds

    @property
    def is_lost(self) -> bool:
        """Whether there was an engine, and it died or hangs."""
        return self.serving is not None and self.error is not None

    @property
    def step(self) -> int:
        """How many steps the engine has made."""
        return 0 if self.serving is None else self.serving.loop.step_count

    @property
    def device(self) -> str:
        """The device that it computes on, or will."""
        return str(getattr(self.serving and self.serving.engine, "device", self._settings.device))

    @property
    def cache_figures(self) -> Any:
        """The figures of its KV cache; None for an engine without one."""
        return getattr(self.serving and self.serving.engine, "cache_figures", None)

    async def close(self) -> None:
        """Stop its thread, then free the device. A thread that loads or hangs is left to itself."""
        serving, ended = self.serving, False
        while serving is not None and not ended and not self._hangs:
            ended = await asyncio.to_thread(serving.loop.close, _CLOSE_SECONDS)
        if ended:
            await asyncio.to_thread(serving.engine.close)

    def _report(self, stage: str, progress: float) -> None:
        if stage != self.progress.stage:
            logger.info("loading", stage=stage)
        self.progress = LoadingProgress(stage=stage, progress=min(1.0, max(0.0, progress)))

    def _load(self) -> None:
        started_at = time.monotonic()
        try:
            engine = self._factory(self._settings, self._report)
            model = _description.validate_python(engine.info.to_dict())
            loop = EngineLoop(engine)
            loop.start()
        except RefusedError as error:
            self._loading_error = f"loading failed: {error}"
            logger.error("loading failed", model=self._settings.model, reason=str(error))
            return
        except Exception as error:
            self._loading_error = f"loading failed: {type(error).__name__}: {error}"
            logger.exception("loading failed", model=self._settings.model)
            return
        gc.collect()
        gc.freeze()  # hundreds of thousands of objects stay; to look through them would hold up all audio
        self.serving = Serving(engine, kind_of(engine), loop, StepWatch(loop), model)
        seconds = round(time.monotonic() - started_at, 2)
        logger.info("ready", model=engine.info.name, revision=engine.info.revision, seconds=seconds)
