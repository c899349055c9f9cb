"""What there is to choose from: models, formats and limits. Public; the pages build their forms from
it.
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from gateway.answers.order import THINKING
from gateway.audio.formats import AUDIO_FORMATS
from gateway.service import GatewayDep
from gateway.slots.capacity.worker import Worker
from models import denoising

router = APIRouter()


@router.get("/api/config")
async def page_config(gateway: GatewayDep) -> dict[str, Any]:
    """What a page needs to know; the fields of the model are null until a worker has loaded one.

    They are those of the first speech model; `models` has them of each, by name.
    """
    settings = gateway.settings
    workers = list(gateway.pool.workers.values())
    loaded = next((worker for worker in workers if worker.speaks), None)
    writers = gateway.pool.workers.models("text")
    models = {worker.model.name: _described(worker) for worker in reversed(workers) if worker.speaks}
    return {
        **_described(loaded),
        "models": [models[name] for name in sorted(models)],
        "text_models": sorted(writers),
        "thinking_models": sorted(name for name, model in writers.items() if THINKING in model.features),
        "loading": _loading(workers),
        "max_text_characters": settings.max_text_characters,
        "max_audio_seconds": settings.max_audio_seconds,
        "formats": list(AUDIO_FORMATS),
        "pages": gateway.operations.pages.enabled(),
        "training": settings.trains,
        "denoises": denoising.is_available(),
        "record_sessions": settings.record_sessions,
        "playback_stats": True,
        "admin_token_required": True,
        "api_is_public": settings.expose_openapi,
    }


def _described(worker: Worker | None) -> dict[str, Any]:
    """The model of a worker, as far as a request depends on it."""
    model = worker.model if worker else None
    return {
        "model": model.name if model else None,
        "device": _kind_of_device(worker),
        "sample_rate": model.sample_rate if model else None,
        "patch_seconds": model.patch_seconds if model else None,
        "languages": model.languages if model else [],
        "features": model.features if model else [],
        "default_cfg_value": model.default_cfg_value if model else None,
        "default_inference_timesteps": model.default_inference_timesteps if model else None,
    }


def _kind_of_device(worker: Worker | None) -> str | None:
    """`cpu` or `cuda`: which of them is nobody's business."""
    return worker.status.device.partition(":")[0] if worker and worker.status else None


def _loading(workers: list[Worker]) -> dict[str, Any] | None:
    """How far the first worker is that loads its model, while none can speak."""
    if any(worker.serving and worker.speaks for worker in workers):
        return None
    said = (worker.status.loading for worker in workers if worker.status and worker.status.loading)
    loading = next(said, None)
    return loading.model_dump() if loading else None
