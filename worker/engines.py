"""Makes the engine that a worker serves; a model is imported only for a worker that serves it."""

from __future__ import annotations

from collections.abc import Callable

from engine.cpus import bound_shape_caches, give_way_while_waiting, thread_limit
from models.speech import SpeechEngine
from worker.settings import WorkerSettings
from worker.synthetic import SyntheticEngine

ReportProgress = Callable[[str, float], None]
"""Called with the stage of loading and how much of it is done, 0 to 1."""
EngineFactory = Callable[[WorkerSettings, ReportProgress], SpeechEngine]
"""Runs in the loading thread, for as long as it takes; what it raises is the worker's error."""


class RefusedError(RuntimeError):
    """What the settings ask for is not to be had here; the message is all there is to say."""


def load_engine(settings: WorkerSettings, report: ReportProgress) -> SpeechEngine:
    """The engine of `settings.model`. Raises RefusedError before anything is loaded."""
    if settings.model == "synthetic":
        return SyntheticEngine(step_ms=settings.step_ms, slots=settings.slots)
    report("importing", 0.0)
    give_way_while_waiting()
    bound_shape_caches()
    import torch

    from models.voxcpm.engine import load_engine as load_voxcpm
    from models.voxcpm.options import OptionsError

    kind, _, index = settings.device.partition(":")
    if kind == "cuda" and int(index or 0) >= (count := torch.cuda.device_count()):
        raise RefusedError(f"device {settings.device}: PyTorch sees {count} CUDA devices here")
    threads = thread_limit(settings.workers_on_machine)
    try:
        return load_voxcpm(
            settings.model,
            settings.device,
            settings.slots,
            report,
            threads=threads,
            **settings.engine_options(),
        )
    except OptionsError as error:
        raise RefusedError(str(error)) from error
