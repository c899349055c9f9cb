"""Voices and models as ElevenLabs' clients ask for them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field

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


class VoiceSearch(BaseModel):
    """What a client looks for; what voices here have no label for is ignored."""

    model_config = ConfigDict(extra="ignore")

    search: str = ""
    page_size: Annotated[int, Field(ge=1, le=100)] = 10
    next_page_token: str = ""
    voice_ids: Annotated[list[str], Field(max_length=100)] = []
    category: str = ""
    voice_type: str = ""
    """See `_TYPES`."""
    language: list[str] = []
    sort: str = ""
    sort_direction: str = "asc"

    def found(self, voices: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Those that fit, in the order that is asked for."""
        fitting = [voice for voice in voices if self._fits(voice)]
        if self.sort == "name":
            fitting.sort(key=lambda voice: voice["name"].casefold(), reverse=self.sort_direction == "desc")
        return fitting

    def _fits(self, voice: dict[str, Any]) -> bool:
        language = voice["labels"].get("language")
        words = f"{voice['name']} {voice['description']} {' '.join(voice['labels'].values())}"
        return (
            self.search.casefold() in words.casefold()
            and (not self.voice_ids or voice["voice_id"] in self.voice_ids)
            and self.category in ("", voice["category"])
            and _TYPES.get(self.voice_type, lambda voice: True)(voice)
            and (not self.language or language in self.language)
        )


@router.get("/v2/voices")
async def search_voices(
    request: Request, gateway: GatewayDep, search: Annotated[VoiceSearch, Query()]
) -> dict[str, Any]:
    """The same, page by page."""
    voices = search.found(await _voices(request, gateway))
    start = 0
    if search.next_page_token:
        places = (place for place, voice in enumerate(voices) if voice["voice_id"] == search.next_page_token)
        start = next(places, len(voices))
    end = start + search.page_size
    following = voices[end : end + 1]
    return {
        "voices": voices[start:end],
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


def _is_premade(voice: dict[str, Any]) -> bool:
    return voice["category"] == "premade"


_TYPES: dict[str, Callable[[dict[str, Any]], bool]] = {
    "default": _is_premade,
    "personal": lambda voice: voice["is_owner"],
    "workspace": lambda voice: not voice["is_owner"] and not _is_premade(voice),
    "community": lambda voice: False,
    "non-default": lambda voice: not _is_premade(voice),
    "non-community": lambda voice: not _is_premade(voice),
    "saved": lambda voice: not _is_premade(voice),
}
"""What ElevenLabs calls whose voices."""
