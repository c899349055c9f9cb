"""What a client may ask for: the body of `POST /tts` and the first message of `WS /ws/tts`.

`TtsRequest` is also what every protocol of `gateway/protocols/` is translated into.

Types are strict (a number in quotes is refused), unknown fields are refused by name,
and limits that belong to a deployment are checked by `check_limits` against its settings.
"""

from __future__ import annotations

import math
import secrets
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from gateway.audio.formats import AudioFormat, bit_rate_problem, sample_rate_problem
from gateway.bodies import parse_message
from gateway.bounds import at_most, few_fields
from gateway.errors import ApiError, FieldError, from_validation
from gateway.settings import GatewaySettings
from gateway.text.language import LONGEST_CODE, is_language_code
from gateway.text.lexicon import MOST_REQUEST_ENTRIES, check_entries
from gateway.text.paragraphs import LONGEST_PARAGRAPH_PAUSE
from gateway.text.ssml import FASTEST_RATE, PARAGRAPH_SECONDS, SLOWEST_RATE, Script, SsmlError, parse_ssml
from gateway.timing.words import Granularity
from models.sentences import has_words

MAX_SEED = 2**63 - 1
NATIVE = "voxfleet"
"""The name of our own protocol, in metrics and sessions."""
_CHARACTERS_PER_SECOND = 15.0
_SHORTEST_CLIP_SECONDS = 0.5


def _check_unicode(text: str) -> str:
    """JSON can smuggle in half a surrogate pair, which nothing behind this point could encode."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise ValueError("is not valid Unicode") from None
    return text


Text = Annotated[str, AfterValidator(_check_unicode)]
Name = Annotated[Text, Field(min_length=1, max_length=128)]
BitRate = Annotated[int, Field(ge=8000, le=320_000)]
"""Bits per second, of any codec; `bit_rate_problem` knows which can have less."""


def _language_code(text: str) -> str:
    if not is_language_code(text):
        raise ValueError("must be a code such as en, de or zh-CN")
    return text


Language = Annotated[str, Field(max_length=LONGEST_CODE), AfterValidator(_language_code)]
"""An ISO 639 code, maybe with a region."""


Instructions = Annotated[Text, Field(max_length=4096), AfterValidator(lambda text: " ".join(text.split()))]


def _check_pronunciations(entries: dict[str, str]) -> dict[str, str]:
    return check_entries(entries, MOST_REQUEST_ENTRIES)


Pronunciations = Annotated[
    dict[str, str], AfterValidator(_check_pronunciations), at_most(MOST_REQUEST_ENTRIES)
]
"""Words and how they are said."""


class SpeechOptions(BaseModel):
    """How to speak, whatever is said: in a clip and in a live session. None leaves a choice to the model."""

    model_config = ConfigDict(
        extra="forbid", strict=True, allow_inf_nan=False, use_attribute_docstrings=True
    )  # the docstrings stand in the description of the API

    voice: Name = "default"
    """Who speaks, by id, name or alias."""
    adapter: Annotated[Text, Field(max_length=128)] | None = None
    """Adapter to speak with, by id or name; "": none, even if the voice names one."""
    instructions: Instructions | None = None
    """How to speak, or who does, in words: "a warm, elderly voice", for models that follow them."""
    model: Name | None = None
    """Which model speaks, where there are several."""
    sample_rate: Annotated[int, Field(ge=8000, le=48000)] | None = None
    """Samples per second of the answer; left out: the model's own."""
    seed: Annotated[int, Field(ge=0, le=MAX_SEED)] | None = None
    """Same seed, same request, same audio; left out: drawn at random."""
    cfg_value: Annotated[float, Field(ge=0.1, le=10)] | None = None
    """Strength of classifier-free guidance: how closely text and voice are followed."""
    inference_timesteps: Annotated[int, Field(ge=2, le=100)] | None = None
    """Steps of flow matching for each patch: more take longer."""
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    """Scale of the noise that speech is drawn from: less varies less."""
    speed: Annotated[float, Field(ge=0.25, le=4)] = 1.0
    """Speed of the speech at the same pitch: at 2 it takes half the time."""
    language: Language | None = None
    """Language of the text, by which figures are read and sentences end; left out: told from the text."""
    priority: Literal["interactive", "default", "bulk"] | None = None
    """Class in the queue; left out: default for a clip, the highest allowed for a live session."""
    normalize: Literal["auto", "on", "off"] = "auto"
    """Put figures, signs and abbreviations into words; auto: where the model reads words alone."""
    lexicon: Pronunciations = Field(default_factory=dict)
    """Words and how they are said, before the owner's and the service's lexicon."""
    record: bool = False
    """Keep text and audio as a session, if the gateway records those who ask for it."""

    _few_fields = model_validator(mode="before")(few_fields)


class TtsRequest(SpeechOptions):
    """One clip: what to say, how, and as which file."""

    text: Annotated[Text, Field(validation_alias=AliasChoices("text", "input"))]
    """What is said."""
    input_type: Literal["text", "ssml"] = "text"
    """What `text` is: plain, or an SSML document."""
    format: AudioFormat = "wav"
    """Format of the file."""
    bit_rate: BitRate | None = None
    """Bits per second of mp3, opus and aac."""
    paragraph_pause: Annotated[float, Field(ge=0, le=LONGEST_PARAGRAPH_PAUSE)] = PARAGRAPH_SECONDS
    """Seconds of silence between paragraphs, which blank lines part; 0: none. SSML has its own pauses."""
    timestamps: Granularity = "none"
    """Tell when each word or character is said, after the audio of each part of the text."""
    min_seconds: Annotated[float, Field(ge=0)] | None = None
    """Seconds of audio before which the clip does not end."""
    max_seconds: Annotated[float, Field(gt=0)] | None = None
    """Seconds of audio after which the clip ends."""

    @model_validator(mode="before")
    @classmethod
    def _one_text(cls, values: Any) -> Any:
        if isinstance(values, dict) and "text" in values and "input" in values:
            raise FieldError("input", "invalid_value", "give either text or input, not both")
        return values

    @model_validator(mode="after")
    def _rules_between_fields(self) -> Self:
        if not self.text.strip():
            raise FieldError("text", "empty_text", "text has no words")
        if (
            self.min_seconds is not None
            and self.max_seconds is not None
            and self.min_seconds > self.max_seconds
        ):
            raise FieldError("min_seconds", "invalid_value", "min_seconds is greater than max_seconds")
        if self.input_type == "ssml":
            try:
                self._check_rates(parse_ssml(self.text, self.language))
            except SsmlError as error:
                raise FieldError("text", "invalid_ssml", f"text: {error}") from error
        if problem := sample_rate_problem(self.format, self.sample_rate):
            raise FieldError("sample_rate", "invalid_value", problem)
        if problem := bit_rate_problem(self.format, self.bit_rate):
            raise FieldError("bit_rate", "invalid_value", problem)
        return self

    def _check_rates(self, script: Script) -> None:
        for passage in script.passages:
            if not SLOWEST_RATE <= passage.rate * self.speed <= FASTEST_RATE:
                message = f"the rate of <prosody> times speed is from {SLOWEST_RATE:g} to {FASTEST_RATE:g}"
                raise SsmlError(message)
        if getattr(self, "resume", False) and any(passage.rate != 1 for passage in script.passages):
            message = "a clip that can be resumed comes at the model's own speed: leave <prosody> out"
            raise SsmlError(message)


class SaidRequest(TtsRequest):
    """One of our own clients, who knows what it sends."""

    @model_validator(mode="after")
    def _has_words(self) -> Self:
        if not has_words(self.text):
            raise FieldError("text", "empty_text", "text has no words")
        return self


class ClipRequest(SaidRequest):
    """The body of `POST /tts`."""

    stream: bool = False
    """Send the file while it is generated, without knowing its length."""


class StreamRequest(SaidRequest):
    """The first message of a WebSocket: as `TtsRequest`, always answered with raw PCM."""

    format: Literal["pcm"] = "pcm"
    resume: bool = False
    """Send resume tokens, with which any gateway can go on with the clip."""

    @model_validator(mode="after")
    def _resumable(self) -> Self:
        if self.resume and self.sample_rate is not None:
            message = "a clip that can be resumed comes at the model's own rate: leave sample_rate out"
            raise FieldError("sample_rate", "invalid_value", message)
        if self.resume and self.speed != 1:
            message = "a clip that can be resumed comes at the model's own speed: leave speed out"
            raise FieldError("speed", "invalid_value", message)
        return self


def fields_of(message: str | bytes, what: str = "message") -> dict[str, Any]:
    """The fields of a message over a socket. `what`: its protocol's word for it. Raises ApiError."""
    fields = parse_message(message, what)
    if not isinstance(fields, dict):
        raise ApiError(422, f"invalid_{what}", f"{what}s are JSON objects")
    return fields


def parse_stream_request(message: str) -> StreamRequest:
    """The first message of a WebSocket. Raises ApiError."""
    try:
        return StreamRequest.model_validate(fields_of(message))
    except ValidationError as error:
        raise from_validation(error.errors()) from error


def translated(fields: dict[str, Any], text_field: str = "text") -> TtsRequest:
    """The request that another protocol's fields mean, with the text in `text_field`. Raises ApiError 422."""
    try:
        return TtsRequest.model_validate(fields)
    except ValidationError as error:
        problem = from_validation(error.errors())
        param = text_field if problem.param == "text" else problem.param
        raise ApiError(422, problem.code, problem.message, param=param) from error


def check_limits(
    request: TtsRequest, settings: GatewaySettings, text_field: str = "text", *, whole: bool = False
) -> None:
    """Raise ApiError when the request exceeds a limit of this deployment. `text_field`: for its client.

    `whole`: its audio is kept until all of it is there.
    """
    characters = len(request.text)
    if characters > settings.max_text_characters:
        limit = settings.max_text_characters
        message = f"{text_field} has {characters} characters, at most {limit} are allowed"
        raise ApiError(422, "text_too_long", message, param=text_field)
    if whole and characters > settings.max_clip_characters:
        message = (
            f"{text_field} has {characters} characters, at most {settings.max_clip_characters} are allowed "
            "for a file that is sent whole: ask for one that streams"
        )
        raise ApiError(422, "text_too_long", message, param=text_field)
    longest = min(settings.max_clip_seconds if whole else math.inf, settings.max_audio_seconds)
    for name in ("min_seconds", "max_seconds"):
        seconds = getattr(request, name)
        if seconds is not None and seconds > longest:
            raise ApiError(422, "invalid_value", f"{name} is at most {longest:g}", param=name)


def expected_audio_seconds(request: TtsRequest) -> float:
    """A guess at how much is generated for the clip, which counts until that is known."""
    seconds = max(len(request.text) / _CHARACTERS_PER_SECOND, _SHORTEST_CLIP_SECONDS)
    seconds = max(seconds, (request.min_seconds or 0.0) * request.speed)
    return min(seconds, request.max_seconds * request.speed if request.max_seconds else seconds)


def random_seed() -> int:
    """A seed for a request that names none; small enough for JavaScript's numbers."""
    return secrets.randbelow(2**32)
