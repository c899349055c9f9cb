"""`POST /v1/audio/speech`, and the same on Azure's paths."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response

from gateway.protocols.clip import whole_clip
from gateway.protocols.ignored import ignored_fields
from gateway.protocols.openai.errors import adapter_is_in_model
from gateway.protocols.openai.events import Events
from gateway.protocols.openai.request import OPENAI, OpenAiSpeechRequest, known_voice
from gateway.protocols.response import SpeechResponse
from gateway.requests import TtsRequest, check_limits
from gateway.service import Gateway, GatewayDep
from gateway.voices.catalog import served_models
from worker.protocol import INSTRUCTIONS_UNSUPPORTED

router = APIRouter()


@router.post("/v1/audio/speech", response_class=Response)
@router.post("/openai/v1/audio/speech", response_class=Response)
async def openai_speech(order: OpenAiSpeechRequest, request: Request, gateway: GatewayDep) -> Response:
    """The audio comes while it is generated, as OpenAI's does."""
    return await _speak(order, request, gateway)


@router.post("/openai/deployments/{deployment}/audio/speech", response_class=Response)
async def azure_speech(
    deployment: str, order: OpenAiSpeechRequest, request: Request, gateway: GatewayDep
) -> Response:
    """Azure's form: the path names the model."""
    order.model = order.model or deployment
    return await _speak(order, request, gateway)


async def _speak(order: OpenAiSpeechRequest, request: Request, gateway: Gateway) -> Response:
    translated, ignored = await translate(order, request, gateway)
    if order.comes_whole:
        return await whole_clip(request, gateway, translated, OPENAI, ignored, text_field="input")
    framing = Events() if order.stream_format == "sse" else None
    return SpeechResponse(request, gateway, translated, OPENAI, ignored, framing)


async def translate(
    order: OpenAiSpeechRequest, request: Request, gateway: Gateway
) -> tuple[TtsRequest, dict[str, str]]:
    """What is asked for, and a header that names what nothing is done with. Raises ApiError."""
    translated = order.to_tts_request(served_models(gateway.pool))
    check_limits(translated, gateway.settings, "input")
    if translated.adapter != order.adapter:
        adapter_is_in_model(request)
    tenant = gateway.callers.identify(request).tenant
    translated.voice = await known_voice(gateway, order.voice, tenant)
    ignored = order.ignored
    if translated.instructions and not await are_followed(translated, gateway, tenant):
        translated.instructions = None
        ignored = ignored_fields((*order.model_extra, "instructions"))
    return translated, ignored


async def are_followed(translated: TtsRequest, gateway: Gateway, tenant: str) -> bool:
    """Whether some model that may speak the request can be told how. OpenAI's older ones cannot be, and take
    instructions all the same.
    """
    speaker = await gateway.speaker_of(translated, tenant)
    model = speaker.fill_in(translated).model
    problem = gateway.pool.why_unservable(speaker.requirement(model))
    return problem is None or problem.code != INSTRUCTIONS_UNSUPPORTED
