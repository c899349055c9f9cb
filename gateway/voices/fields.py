"""What a client may say of a voice: the fields of an upload and of a change, with their limits."""

from __future__ import annotations

import json
from typing import Annotated, Any, Self, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    model_validator,
)

from gateway.bodies import Body
from gateway.errors import ApiError, FieldError, from_validation
from gateway.requests import Instructions, Language, Name, TtsRequest
from gateway.text.printable import is_blank, is_printable, mixes_scripts

MAX_TAGS = 10
Fields = TypeVar("Fields", bound=BaseModel)


def _one_line(text: str) -> str:
    """Without white space around it. Raises ValueError when it is empty or holds control characters."""
    text = text.strip()
    if is_blank(text):
        raise ValueError("is empty")
    if not is_printable(text):
        raise ValueError("holds line breaks or control characters")
    return text


def _of_one_script(name: str) -> str:
    """Raises ValueError for a name that could pass for another one."""
    if mixes_scripts(name):
        raise ValueError("mixes in one word letters of alphabets that look alike, as Latin and Cyrillic do")
    return name


def _many_lines(text: str) -> str:
    text = text.strip()
    if not is_printable(text.replace("\n", "").replace("\r", "").replace("\t", "")):
        raise ValueError("holds control characters")
    return text


def _words(text: str) -> str:
    text = _many_lines(text)
    if not text:
        raise ValueError("is empty")
    return text


FileName = Annotated[str, Field(max_length=80), AfterValidator(_one_line)]
VoiceName = Annotated[FileName, AfterValidator(_of_one_script)]
Description = Annotated[str, Field(max_length=500), AfterValidator(_many_lines)]
Tag = Annotated[str, Field(max_length=32), AfterValidator(_one_line)]
Transcript = Annotated[str, Field(max_length=2000), AfterValidator(_words)]
Person = Annotated[str, Field(max_length=160), AfterValidator(_one_line)]
Switch = Annotated[bool, BeforeValidator(lambda said: {"true": True, "false": False}.get(said, said))]
"""As a form says it."""
Statement = Annotated[str, Field(max_length=4000), AfterValidator(_words)]


class VoiceParameters(Body):
    """Values of `TtsRequest` that hold where a request says nothing."""

    model_config = ConfigDict(allow_inf_nan=False)

    model: Name | None = None
    seed: int | None = None
    cfg_value: float | None = None
    inference_timesteps: int | None = None
    temperature: float | None = None
    instructions: Instructions | None = None
    adapter: Name | None = None

    @model_validator(mode="after")
    def _as_in_a_request(self) -> Self:
        try:
            TtsRequest(text="x", **self.model_dump(exclude_none=True))
        except ValidationError as error:
            raise ValueError(from_validation(error.errors()).message) from None
        return self


class NamedChange(Body):
    """What a PATCH may say of a row that somebody made; a field that is left out stays. `consent_by: null`
    withdraws the consent.
    """

    name: VoiceName = ""
    description: Description = ""
    consent_by: Person | None = None
    consent_statement: Statement | None = None

    @model_validator(mode="after")
    def _consent_is_whole(self) -> Self:
        if (self.consent_by is None) != (self.consent_statement is None):
            missing = "consent_by" if self.consent_by is None else "consent_statement"
            raise FieldError(missing, "missing_field", "a consent needs consent_by and consent_statement")
        return self

    @property
    def columns(self) -> dict[str, Any]:
        """What was said, as columns of a row, consent left aside."""
        return self.model_dump(include=self.model_fields_set - {"consent_by", "consent_statement"})


class VoiceChange(NamedChange):
    """The body of a PATCH of a voice."""

    language: Language | None = None
    tags: Annotated[list[Tag], Field(max_length=MAX_TAGS)] = []
    transcript: Transcript | None = None
    parameters: VoiceParameters = VoiceParameters()

    @property
    def columns(self) -> dict[str, Any]:
        """The parameters that were said alone."""
        said = super().columns
        if "parameters" in said:
            said["parameters"] = self.parameters.model_dump(exclude_none=True)
        return said


class VoiceForm(VoiceChange):
    """The fields of an upload, beside its file."""

    name: VoiceName
    denoise: Switch = False
    """Whether the noise behind the speaker is taken out of the recording."""

    @property
    def columns(self) -> dict[str, Any]:
        """Nothing of what was done with the recording."""
        return {name: value for name, value in super().columns.items() if name != "denoise"}


class TrialForm(VoiceForm):
    """The fields of an upload that is heard and not kept: a name is not needed yet."""

    name: VoiceName = "trial"
    sentence_language: Language = "en"
    """The language of the sentence that is spoken."""

    @property
    def columns(self) -> dict[str, Any]:
        """The columns of a voice."""
        return {"name": self.name, "parameters": {}} | {
            name: value for name, value in super().columns.items() if name != "sentence_language"
        }


class CheckForm(BaseModel):
    """The fields of a recording that is examined alone."""

    denoise: Switch = False


class ConsentForm(BaseModel):
    """Somebody's spoken consent: what the recording is called, and its language."""

    model_config = ConfigDict(extra="forbid", strict=True)

    name: VoiceName
    language: Language


def read_consent_form(fields: dict[str, str]) -> ConsentForm:
    """The text fields beside the recording of a consent. Raises ApiError."""
    return validated(ConsentForm, fields)


def read_form(fields: dict[str, str]) -> VoiceForm:
    """The text fields of an upload; empty ones count as left out. Raises ApiError."""
    return validated(VoiceForm, told(fields))


def read_trial_form(fields: dict[str, str]) -> TrialForm:
    """The text fields of an upload that is heard and not kept. Raises ApiError."""
    return validated(TrialForm, told(fields))


def told(fields: dict[str, str]) -> dict[str, Any]:
    """The fields of a form that were filled in, as their types. Raises ApiError."""
    values: dict[str, Any] = {name: value for name, value in fields.items() if value.strip()}
    if "tags" in values:
        values["tags"] = [tag for tag in values["tags"].split(",") if tag.strip()]
    if "parameters" in values:
        values["parameters"] = json_object(values["parameters"], "parameters")
    return values


def read_check_form(fields: dict[str, str]) -> CheckForm:
    """What is said beside a recording that is examined alone. Raises ApiError."""
    return validated(CheckForm, told(fields))


def json_object(text: str, name: str) -> Any:
    """What a field of a form says as JSON. Raises ApiError."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise ApiError(422, "invalid_value", f"{name}: not a JSON object", param=name) from None


def validated(form: type[Fields], values: Any) -> Fields:
    """A form of these fields. Raises ApiError."""
    try:
        return form.model_validate(values)
    except ValidationError as error:
        raise from_validation(error.errors()) from error
