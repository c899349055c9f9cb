"""The named voices: what the workers announce, and "default", which every model has."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from gateway.pool import WorkerPool


@dataclass(frozen=True)
class Voice:
    """One entry of `GET /api/voices`."""

    id: str
    name: str
    language: str | None
    description: str


def list_voices(pool: WorkerPool) -> list[dict[str, str | None]]:
    """Every voice that some worker has, "default" first, then by name."""
    voices = {"default": Voice("default", "Default", None, "The model's own voice")}
    for worker in pool.workers.values():
        model = worker.model
        for voice in model.voices if model else ():
            if voice != "default":
                language = model.languages[0] if model.languages else None
                voices[voice] = Voice(voice, voice, language, f"A voice of {model.name}")
    ordered = sorted(voices.values(), key=lambda voice: (voice.id != "default", voice.id))
    return [asdict(voice) for voice in ordered]


def served_models(pool: WorkerPool) -> set[str]:
    """Names of the models that workers serve."""
    return {worker.model.name for worker in pool.workers.values() if worker.model}
