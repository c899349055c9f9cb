"""What a client may say of a training and of a recording for it, and which recordings are refused."""

from __future__ import annotations

from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from gateway.bodies import Body
from gateway.errors import ApiError, FieldError
from gateway.requests import Language
from gateway.voices.fields import FileName, Person, Statement, Transcript, VoiceName, told, validated
from gateway.voices.recordings.checks import Check, Checked
from models.sentences import has_words

MOST_STEPS, DEFAULT_STEPS = 5000, 600
LONGEST_RECORDING_SECONDS = 30.0
_OF_A_PIECE = {
    "audio_too_short": "less than 2 s of it are heard: say a whole sentence, or leave it out",
    "too_long": f"it is longer than {LONGEST_RECORDING_SECONDS:g} s: cut it between sentences",
}
_OF_A_VOICE_ALONE = {"short", "long", "pauses", "long_pause", "trimmed"}
"""Remarks that hold for the one recording of a voice, not for one of many."""


class TrainingRequest(Body):
    """The body of `POST /api/trainings`."""

    name: VoiceName
    """The name of the voice to be."""
    language: Language | None = None
    consent_by: Person
    consent_statement: Statement
    steps: Annotated[int, Field(ge=1, le=MOST_STEPS)] = DEFAULT_STEPS
    """At most; it ends earlier when nothing gets better."""


class RecordingForm(BaseModel):
    """The fields beside the file `audio` of a recording."""

    model_config = ConfigDict(extra="forbid", strict=True)

    transcript: Transcript
    """What is said in it."""
    name: FileName = "recording"
    """What the client calls it, such as a file's name."""

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not has_words(self.transcript):
            raise FieldError("transcript", "invalid_value", "transcript: has no words")
        return self


def read_recording_form(fields: dict[str, str]) -> RecordingForm:
    """The text fields of an upload; empty ones count as left out. Raises ApiError."""
    return validated(RecordingForm, told(fields))


def remarks_of(checked: Checked) -> list[Check]:
    """What is to be said of one of many recordings. Raises ApiError 422 for one that is of no use."""
    refusal = checked.refusal
    if refusal is None and checked.recording.seconds > LONGEST_RECORDING_SECONDS:
        raise ApiError(422, "audio_too_long", _OF_A_PIECE["too_long"], param="audio")
    if refusal is not None:
        message = _OF_A_PIECE.get(refusal.code, refusal.message)
        raise ApiError(422, refusal.code, message, param="audio")
    return [check for check in checked.checks if check.code not in _OF_A_VOICE_ALONE]
