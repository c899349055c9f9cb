"""What there is to choose from: "default", which every model has, the voices that workers announce, and the
custom ones.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal
from urllib.parse import quote

from gateway.database import Adapter, NamedRow, Voice
from gateway.slots.pool import WorkerPool
from gateway.slots.requirement import Requirement
from gateway.voices import consent
from gateway.voices.resolution import features_for
from worker.protocol import VoiceDescription

RECORDING, SAMPLE = "recording", "sample"
"""What a preview plays: the audio that a voice was made of, or a sentence that a worker speaks with it."""
Lack = Literal["consent", "adapter", "model"]
"""Why nobody can speak with a custom voice: nobody agreed to its use; its adapter is gone, or without consent
itself; no model that is served can speak with it.
"""


def served_models(pool: WorkerPool) -> set[str]:
    """Names of the speech models that workers serve."""
    return set(pool.workers.models("speech"))


def spoken_languages(pool: WorkerPool) -> list[str]:
    """Codes of those that the speech models speak; English and Chinese where nobody says more."""
    models = pool.workers.models("speech").values()
    return sorted({code for model in models for code in model.languages}) or ["en", "zh"]


def is_built_in(pool: WorkerPool, name: str) -> bool:
    """Whether the name is one that workers announce."""
    return name in _built_in_names(pool)


def built_in_name(pool: WorkerPool, reference: str) -> str | None:
    """The voice that workers have by that name, in whichever case it is written; None for none."""
    names = _built_in_names(pool)
    if reference in names:
        return reference
    return min((name for name in names if name.casefold() == reference.casefold()), default=None)


def _built_in_names(pool: WorkerPool) -> set[str]:
    return {"default"}.union(*(worker.model.voices for worker in pool.workers.values() if worker.speaks))


def built_in_voices(pool: WorkerPool) -> list[dict[str, Any]]:
    """Every voice that some worker has, "default" first, then by name."""
    voices = {"default": _built_in("default", "Default", None, "The model's own voice")}
    for model in [worker.model for worker in pool.workers.values() if worker.speaks]:
        told = {voice.name: voice for voice in model.voice_details}
        for name in model.voices:
            about = told.get(name) or VoiceDescription(name=name)
            if name == "default" and not about.description:
                continue
            language = about.language or (model.languages[0] if len(model.languages) == 1 else None)
            title = "Default" if name == "default" else name
            description = about.description or f"A voice of {model.name}"
            known = voices[name]["models"] if name in voices else None
            voices[name] = _built_in(name, title, language, description, list(about.tags))
            if name != "default":
                voices[name]["models"] = sorted({*(known or ()), model.name})
    return sorted(voices.values(), key=lambda voice: (voice["id"] != "default", voice["id"]))


def custom_voices(
    pool: WorkerPool,
    voices: Iterable[Voice],
    adapters: Mapping[str, Adapter],
    tenant: str | None,
    *,
    admin: bool = False,
) -> list[dict[str, Any]]:
    """The rows as `tenant`, or an administrator, sees them, by name.

    adapters: those that the voices speak with, as `Adapters.named` finds them.
    """
    described = [describe(pool, voice, adapters, tenant, admin=admin) for voice in voices]
    return sorted(described, key=lambda voice: (voice["name"].casefold(), voice["id"]))


def adapter_of(voice: Voice) -> str | None:
    """The id or name of the adapter that it speaks with; None for none."""
    return voice.parameters.get("adapter") or None


def describe(
    pool: WorkerPool,
    voice: Voice,
    adapters: Mapping[str, Adapter],
    tenant: str | None,
    *,
    admin: bool = False,
) -> dict[str, Any]:
    """A custom voice as everybody may see it."""
    lack = _lack(pool, voice, adapters)
    return {
        "id": voice.id,
        "name": voice.name,
        "language": voice.language,
        "description": voice.description,
        "kind": "custom",
        "tags": voice.tags,
        "has_transcript": voice.transcript is not None,
        "audio_seconds": round(voice.audio_seconds, 3),
        "owner_is_me": is_of(voice, tenant),
        "usable": lack is None,
        "lacks": lack,
        "preview_url": f"/api/voices/{voice.id}/preview",
        "preview": RECORDING if admin or is_of(voice, tenant) else SAMPLE,
        "parameters": voice.parameters,
        "models": None,
    }


def is_of(row: NamedRow, tenant: str | None) -> bool:
    """Whether it belongs to who asks; None is nobody."""
    return tenant is not None and row.owner == tenant


def describe_all(
    pool: WorkerPool, voice: Voice, adapters: Mapping[str, Adapter], tenant: str | None
) -> dict[str, Any]:
    """A custom voice as its owner and administrators see it."""
    return {
        **describe(pool, voice, adapters, tenant, admin=True),
        "transcript": voice.transcript,
        "loudness_lufs": round(voice.loudness_lufs, 1),
        "audio_sha256": voice.audio_sha256,
        "consent": consent.described(voice),
        "created_at": voice.created_at.isoformat(),
        "updated_at": voice.updated_at.isoformat(),
    }


def _lack(pool: WorkerPool, voice: Voice, adapters: Mapping[str, Adapter]) -> Lack | None:
    if not consent.is_given(voice):
        return "consent"
    reference = adapter_of(voice)
    adapter = adapters.get(reference) if reference else None
    if reference and adapter is None:
        return "adapter"
    return None if _can_be_spoken(pool, voice, adapter) else "model"


def _can_be_spoken(pool: WorkerPool, voice: Voice, adapter: Adapter | None) -> bool:
    """Whether a model takes it; as long as no model is known, that is assumed."""
    known = [worker for worker in pool.workers.values() if worker.speaks]
    needed = Requirement(
        voice.parameters.get("model") or (adapter.model if adapter else None),
        revision=adapter.model_revision if adapter else None,
        features=features_for(voice),
        adapters=adapter is not None,
    )
    return not known or any(worker.offers(needed) for worker in known)


def _built_in(
    id: str, name: str, language: str | None, description: str, tags: Sequence[str] = ()
) -> dict[str, Any]:
    return {
        "id": id,
        "name": name,
        "language": language,
        "description": description,
        "kind": "built-in",
        "tags": list(tags),
        "has_transcript": False,
        "audio_seconds": None,
        "owner_is_me": False,
        "usable": True,
        "lacks": None,
        "preview_url": f"/api/voices/{quote(id, safe='')}/preview",
        "preview": SAMPLE,
        "parameters": {},
        "models": None,
    }
