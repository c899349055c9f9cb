"""Voices and models as ElevenLabs' clients ask for them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request

from gateway.api.voices.voices import visible_voices
from gateway.errors import ApiError
from gateway.service import Gateway, GatewayDep

router = APIRouter()

_LANGUAGES = {
    "de": "German", "en": "English", "es": "Spanish", "fr": "French", "it": "Italian", "ja": "Japanese",
    "ko": "Korean", "pt": "Portuguese", "ru": "Russian", "zh": "Chinese",
}  # fmt: skip
"""Names of languages; others go by their code."""


@router.get("/v1/voices")
async def list_voices(request: Request, gateway: GatewayDep) -> dict[str, Any]:
    """All voices that the caller may name."""
    return {"voices": await _voices(request, gateway)}


@router.get("/v2/voices")
async def search_voices(
    request: Request,
    gateway: GatewayDep,
    search: str = "",
    page_size: Annotated[int, Query(ge=1, le=100)] = 10,
    next_page_token: str = "",
) -> dict[str, Any]:
    """The same, page by page."""
    voices = [voice for voice in await _voices(request, gateway) if _matches(voice, search)]
    start = 0
    if next_page_token:
        places = (place for place, voice in enumerate(voices) if voice["voice_id"] == next_page_token)
        start = next(places, len(voices))
    following = voices[start + page_size : start + page_size + 1]
    return {
        "voices": voices[start : start + page_size],
        "has_more": bool(following),
        "total_count": len(voices),
        "next_page_token": following[0]["voice_id"] if following else None,
    }


@router.get("/v1/voices/{voice_id}")
async def get_voice(voice_id: str, request: Request, gateway: GatewayDep) -> dict[str, Any]:
    """One of them."""
    for voice in await _voices(request, gateway):
        if voice["voice_id"] == voice_id:
            return voice
    raise ApiError(404, "voice_not_found", "there is no such voice", param="voice_id")


def list_models(gateway: Gateway) -> list[dict[str, Any]]:
    """The models that are served, for `GET /v1/models`."""
    models = gateway.pool.workers.models("speech")
    limit = gateway.settings.max_text_characters
    return [
        {
            "model_id": name,
            "name": name,
            "description": "",
            "can_do_text_to_speech": True,
            "can_do_voice_conversion": False,
            "can_be_finetuned": False,
            "can_use_style": False,
            "can_use_speaker_boost": False,
            "serves_pro_voices": False,
            "requires_alpha_access": False,
            "token_cost_factor": 1.0,
            "maximum_text_length_per_request": limit,
            "languages": [
                {"language_id": code, "name": _LANGUAGES.get(code, code)}
                for code in models[name].languages or ("en", "zh")
            ],
        }
        for name in sorted(models)
    ]


async def _voices(request: Request, gateway: Gateway) -> list[dict[str, Any]]:
    found = await visible_voices(request, gateway, admin=False)
    address = _address(request)
    return [_describe(voice, address) for voice in found if voice["usable"]]


def _address(request: Request) -> str:
    """Where the client has found this service, as far as a proxy tells: players want whole addresses."""
    told = request.headers.get("x-forwarded-proto", "").partition(",")[0].strip().lower()
    scheme = told if told in ("http", "https") else request.scope["scheme"]
    return f"{scheme}://{request.url.netloc}"


def _describe(voice: dict[str, Any], address: str) -> dict[str, Any]:
    labels = {"language": voice["language"]} if voice["language"] else {}
    return {
        "voice_id": voice["id"],
        "name": voice["name"],
        "category": "cloned" if voice["kind"] == "custom" else "premade",
        "description": voice["description"],
        "labels": labels,
        "preview_url": address + voice["preview_url"],
        "samples": [],
        "settings": None,
        "available_for_tiers": [],
        "high_quality_base_model_ids": [],
        "is_owner": voice["owner_is_me"],
    }


def _matches(voice: dict[str, Any], search: str) -> bool:
    words = f"{voice['name']} {voice['description']} {' '.join(voice['labels'].values())}"
    return search.casefold() in words.casefold()
