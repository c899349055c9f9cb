"""What there is to choose from: models, formats and limits. Public; the pages build their forms from
it.
"""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter

from gateway.audio.formats import AUDIO_FORMATS
from gateway.service import GatewayDep
from gateway.slots.worker import Worker

router = APIRouter()


@router.get("/api/config")
async def page_config(gateway: GatewayDep) -> dict[str, Any]:
    """What a page needs to know; the fields of the model are null until a worker has loaded one."""
    settings = gateway.settings
    workers = list(gateway.pool.workers.values())
    loaded = next((worker for worker in workers if worker.model), None)
    model = loaded.model if loaded else None
    return {
        "model": model.name if model else None,
        "device": _kind_of_device(loaded),
        "loading": _loading(workers),
        "sample_rate": model.sample_rate if model else None,
        "patch_seconds": model.patch_seconds if model else None,
        "languages": model.languages if model else [],
        "features": model.features if model else [],
        "default_cfg_value": model.default_cfg_value if model else None,
        "default_inference_timesteps": model.default_inference_timesteps if model else None,
        "max_text_characters": settings.max_text_characters,
        "max_audio_seconds": settings.max_audio_seconds,
        "formats": list(AUDIO_FORMATS),
        "pages": gateway.operations.pages.enabled(),
        "record_sessions": settings.record_sessions,
        "playback_stats": True,
        "admin_token_required": True,
        "api_is_public": settings.expose_openapi,
    }


def _kind_of_device(worker: Worker | None) -> str | None:
    """`cpu` or `cuda`: which of them is nobody's business."""
    return worker.status.device.partition(":")[0] if worker and worker.status else None


def _loading(workers: list[Worker]) -> dict[str, Any] | None:
    """How far the first worker is that loads its model, while none can speak."""
    if any(worker.serving for worker in workers):
        return None
    said = (worker.status.loading for worker in workers if worker.status and worker.status.loading)
    loading = next(said, None)
    return loading.model_dump() if loading else None
