"""What OpenAI's clients call."""

from __future__ import annotations

from pydantic import BaseModel

from gateway.description.media import AUDIO, EVENTS, JSON
from gateway.description.operation import Given, Operation, Tag
from gateway.voices.fields import ConsentForm

_SPEECH = {"model": "tts-1", "voice": "alloy", "input": "Doors open at nine.", "response_format": "mp3"}
_QUESTION = [{"role": "user", "content": "What is new in the harbour?"}]
_CHAT = {"model": "Qwen3-0.6B", "messages": _QUESTION, "max_tokens": 24, "temperature": 0.7, "seed": 7}
_COMPLETION = {"model": "Qwen3-0.6B", "prompt": "Once upon a time", "max_tokens": 24, "seed": 7}
_HEARD = (*AUDIO, EVENTS)
_READ = (JSON, EVENTS)
_CONSENT = {"id": Given("consent")}


class SampleForm(BaseModel):
    """The fields of a voice beside its sample."""

    name: str
    consent: str
    """Id of a voice consent."""
    ref_text: str = ""
    """What is said in the sample, where that is known."""
    speaker_description: str = ""


TAG = Tag(
    "OpenAI",
    "For clients of OpenAI's API: the base URL is this address with /v1.",
    (
        Operation("POST", "/v1/audio/speech", "Speak a text, as OpenAI does", body=_SPEECH, media=_HEARD),
        Operation(
            "POST", "/openai/v1/audio/speech", "The same on Azure's newer path", body=_SPEECH, media=_HEARD
        ),
        Operation(
            "POST",
            "/openai/deployments/{deployment}/audio/speech",
            "The same with the model in the path, as Azure does",
            parameters={"deployment": "tts-1"},
            body=_SPEECH,
            media=_HEARD,
        ),
        Operation(
            "POST", "/v1/chat/completions", "Go on with a conversation, in text", body=_CHAT, media=_READ
        ),
        Operation("POST", "/v1/completions", "Go on with a text", body=_COMPLETION, media=_READ),
        Operation(
            "POST",
            "/v1/audio/speech/batch",
            "Speak several texts, for clients of vLLM-Omni and SGLang-Omni",
            body={"items": [{"input": "Doors open at nine."}], "voice": "default", "response_format": "wav"},
        ),
        Operation(
            "WEBSOCKET",
            "/v1/audio/speech/stream",
            "Text in pieces over a socket, for clients of vLLM-Omni",
            messages=(
                {"type": "session.config", "voice": "default", "response_format": "wav"},
                {"type": "input.text", "text": "Doors open at nine."},
                {"type": "input.done"},
            ),
            last="session.done",
        ),
        Operation("GET", "/v1/models", "List models", access="public", gives={"model": "data.0.id"}),
        Operation(
            "GET", "/v1/models/{id}", "Look at a model", access="public", parameters={"id": Given("model")}
        ),
        Operation("GET", "/v1/audio/models", "List models, as Open WebUI asks", access="public"),
        Operation("GET", "/v1/audio/voices", "List voices that requests may name", access="public"),
        Operation(
            "POST",
            "/v1/audio/voice_consents",
            "Keep a spoken consent",
            file="recording",
            upload="audio/wav",
            form={"name": "Ruth Example", "language": "en"},
            fields=ConsentForm,
            gives={"consent": "id"},
        ),
        Operation("GET", "/v1/audio/voice_consents", "List consents", parameters={"limit": 20}),
        Operation("GET", "/v1/audio/voice_consents/{id}", "Look at a consent", parameters=_CONSENT),
        Operation(
            "POST",
            "/v1/audio/voice_consents/{id}",
            "Rename a consent",
            parameters=_CONSENT,
            body={"name": "Ruth E."},
        ),
        Operation(
            "POST",
            "/v1/audio/voices",
            "Make a voice under a consent",
            file="audio_sample",
            upload="audio/wav",
            form={"name": "Ruth at work", "consent": Given("consent")},
            fields=SampleForm,
            gives={"openai_voice": "id"},
        ),
        Operation(
            "DELETE", "/v1/audio/voices/{id}", "Delete a voice", parameters={"id": Given("openai_voice")}
        ),
        Operation("DELETE", "/v1/audio/voice_consents/{id}", "Delete a consent", parameters=_CONSENT),
    ),
)
