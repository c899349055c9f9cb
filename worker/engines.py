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


class DeviceError(RuntimeError):
    """The device asked for is not there; the message is all there is to say."""


def load_engine(settings: WorkerSettings, report: ReportProgress) -> SpeechEngine:
    """The engine of `settings.model`. Raises DeviceError."""
    if settings.model == "synthetic":
        return SyntheticEngine(step_ms=settings.step_ms, slots=settings.slots)
    report("importing", 0.0)
    import torch

    from models.voxcpm.engine import load_engine as load_voxcpm

    kind, _, index = settings.device.partition(":")
    if kind == "cuda" and int(index or 0) >= (count := torch.cuda.device_count()):
        raise DeviceError(f"device {settings.device}: PyTorch sees {count} CUDA devices here")
    return load_voxcpm(settings.model, settings.device, settings.slots, report)
