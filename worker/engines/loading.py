"""Makes the engine that a worker serves; a model is imported only for a worker that serves it.

A family of speech models is a loader here, of text models a line in `models/llm/families.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engine.cpu.cpus import bound_shape_caches, give_way_while_waiting, thread_limit
from worker.engines.synthetic import SyntheticEngine
from worker.settings import WorkerSettings

ReportProgress = Callable[[str, float], None]
"""Called with the stage of loading and how much of it is done, 0 to 1."""
EngineFactory = Callable[[WorkerSettings, ReportProgress], Any]
"""Makes a `models.speech.SpeechEngine` or a `models.llm.engine.TextEngine`. Runs in the loading thread, for
as long as it takes; what it raises is the worker's error.
"""


class RefusedError(RuntimeError):
    """What the settings ask for is not to be had here; the message is all there is to say."""


def load_engine(settings: WorkerSettings, report: ReportProgress) -> Any:
    """The engine of `settings.model`. Raises RefusedError before anything is loaded."""
    if settings.model == "synthetic":
        return SyntheticEngine(step_ms=settings.step_ms, slots=settings.slots)
    report("importing", 0.0)
    give_way_while_waiting()
    bound_shape_caches()
    import torch

    from engine.errors import OptionsError, RequestError
    from models.llm.loading import is_text_model

    kind, _, index = settings.device.partition(":")
    if kind == "cuda" and int(index or 0) >= (count := torch.cuda.device_count()):
        raise RefusedError(f"device {settings.device}: PyTorch sees {count} CUDA devices here")
    threads = thread_limit(settings.workers_on_machine)
    report("config", 0.0)
    if settings.model != "bundled" and is_text_model(settings.model):
        from models.llm.loading import load_engine as load

        options = settings.text_options()
    else:
        from models.voxcpm.loading import load_engine as load

        options = settings.engine_options()
    try:
        return load(settings.model, settings.device, settings.slots, report, threads=threads, **options)
    except (OptionsError, RequestError) as error:
        raise RefusedError(str(error)) from error
