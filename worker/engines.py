"""Makes the engine that a worker serves; a model is imported only for a worker that serves it."""

from __future__ import annotations

from collections.abc import Callable

from models.speech import SpeechEngine
from worker.settings import WorkerSettings
from worker.synthetic import SyntheticEngine

ReportProgress = Callable[[str, float], None]
"""Called with the stage of loading and how much of it is done, 0 to 1."""
EngineFactory = Callable[[WorkerSettings, ReportProgress], SpeechEngine]
"""Runs in the loading thread, for as long as it takes; what it raises is the worker's error."""


def load_engine(settings: WorkerSettings, report: ReportProgress) -> SpeechEngine:
    """The engine of `settings.model`."""
    if settings.model == "synthetic":
        return SyntheticEngine(step_ms=settings.step_ms, slots=settings.slots)
    report("importing", 0.0)
    from models.voxcpm.engine import load_engine as load_voxcpm

    return load_voxcpm(settings.model, settings.device, settings.slots, report)
