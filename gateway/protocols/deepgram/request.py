"""The query of Deepgram's `/v1/speak` and `/v2/speak`: voice, encoding, container, rates and speed."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.datastructures import QueryParams

from gateway.errors import ApiError, from_validation
from gateway.live.messages import Start
from gateway.protocols.deepgram.controls import Controls
from gateway.protocols.tags import clip_fields
from gateway.requests import BitRate, Name, TtsRequest
from gateway.service import Gateway

DEEPGRAM = "deepgram"
"""The protocol's name, in metrics and sessions."""
STREAMED = {"linear16": "pcm", "mulaw": "ulaw", "alaw": "alaw"}
"""Encodings over a socket, and our formats."""
FORMATS = {
    ("linear16", "wav"): "wav",
    ("linear16", "none"): "pcm",
    ("mulaw", "wav"): "wav-ulaw",
    ("mulaw", "none"): "ulaw",
    ("alaw", "wav"): "wav-alaw",
    ("alaw", "none"): "alaw",
    ("mp3", "none"): "mp3",
    ("opus", "ogg"): "opus",
    ("flac", "none"): "flac",
    ("aac", "none"): "aac",
}
"""By encoding and container; the first container of an encoding is its usual one."""
_RATES = {"linear16": 24_000, "mulaw": 8000, "alaw": 8000, "mp3": 22_050, "opus": 48_000, "aac": 22_050}
"""Samples per second where the query says nothing. FLAC has the model's."""
_THEIR_VOICES = ("aura-", "flux-")
"""Beginnings of names."""
SLOWEST, FASTEST = 0.25, 4.0
_TAKEN_ELSEWHERE = {"callback", "callback_method"}

Encoding = Literal["linear16", "mulaw", "alaw", "mp3", "opus", "flac", "aac"]


class SpeakQuery(BaseModel):
    """Deepgram's names. `model` is a voice; one of Deepgram's that nobody made here is the default one."""

    model_config = ConfigDict(extra="allow", allow_inf_nan=False)

    model: Name = "default"
    encoding: Encoding | None = None
    container: Literal["none", "wav", "ogg"] | None = None
    sample_rate: Annotated[int, Field(ge=8000, le=48_000)] | None = None
    bit_rate: BitRate | None = None
    speed: Annotated[float, Field(ge=SLOWEST, le=FASTEST)] = 1.0
    adapter: Name | None = None
    """Not Deepgram's: what fine-tuning learnt, by id or name, to speak with."""

    def to_tts_request(self, text: str, controls: Controls) -> TtsRequest:
        """A clip, whose marks `controls` takes out. Raises ApiError."""
        encoding = self.encoding or "mp3"
        containers = [container for known, container in FORMATS if known == encoding]
        container = self.container or containers[0]
        if container not in containers:
            message = f"container: {encoding} comes in {' or '.join(containers)}"
            raise ApiError(400, "unsupported_audio_format", message, param="container")
        fields = {
            **clip_fields(text, controls),
            "voice": self.model,
            "format": FORMATS[encoding, container],
            "sample_rate": self.sample_rate or _RATES.get(encoding),
            "bit_rate": self.bit_rate,
            "speed": self.speed,
            "adapter": self.adapter,
        }
        try:
            return TtsRequest.model_validate(fields)
        except ValidationError as error:
            raise as_bad_request(from_validation(error.errors())) from error

    def to_start(self) -> Start:
        """A live session. Raises ApiError for an encoding that does not come over a socket."""
        if (self.encoding or "linear16") not in STREAMED:
            message = f"encoding: over a WebSocket it is {', '.join(STREAMED)}"
            raise ApiError(400, "unsupported_audio_format", message, param="encoding")
        rate = self.sample_rate or _RATES[self.encoding or "linear16"]
        return Start(type="start", voice=self.model, sample_rate=rate, speed=self.speed, adapter=self.adapter)

    @property
    def streamed_format(self) -> str:
        """The format of the audio over a socket."""
        return STREAMED[self.encoding or "linear16"]


async def read_query(query: QueryParams, gateway: Gateway) -> SpeakQuery:
    """The query, its voice being one that is here. Raises ApiError."""
    given: dict[str, Any] = dict(query)
    if refused := _TAKEN_ELSEWHERE & given.keys():
        name = min(refused)
        raise ApiError(400, "unsupported", f"{name}: audio is sent as the answer alone", param=name)
    try:
        found = SpeakQuery.model_validate(given)
    except ValidationError as error:
        raise as_bad_request(from_validation(error.errors())) from error
    if found.model.startswith(_THEIR_VOICES) and not await gateway.voices.knows(found.model):
        found.model = "default"
    return found


def as_bad_request(problem: ApiError) -> ApiError:
    """With the status that Deepgram's clients expect."""
    return ApiError(400, problem.code, problem.message, param=problem.param)
