"""The body of `POST /api/jobs`: a clip, and what only a job has."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, model_validator

from gateway.audio.formats import AudioFormat
from gateway.bodies import Body
from gateway.errors import BY_LIST, LIST, NO_LIST, ApiError, FieldError
from gateway.jobs.chapters import MOST_CHAPTERS, MOST_TITLE_CHARACTERS, Chapter, find_chapters
from gateway.requests import SaidRequest, Text, TtsRequest, check_limits
from gateway.settings import GatewaySettings


def _check_storable(text: str) -> str:
    if "\0" in text:
        raise ValueError("holds a NUL character")
    return text


Line = Annotated[Text, AfterValidator(_check_storable)]


class ChapterStart(Body):
    """A chapter as a client names it."""

    title: Annotated[Line, Field(min_length=1, max_length=MOST_TITLE_CHARACTERS)]
    start: Annotated[int, Field(ge=0)]
    """Its first character in the text."""


class JobRequest(SaidRequest):
    """A clip that is fetched when it is done; `format` is the one of its result, if no other is asked for."""

    format: Literal[AudioFormat, "m4b"] = "mp3"
    title: Annotated[Line, Field(max_length=160)] = ""
    """The first words of the text when empty."""
    chapters: Annotated[
        Annotated[Literal["auto", "none"], NO_LIST]
        | Annotated[list[ChapterStart], Field(max_length=MOST_CHAPTERS, fail_fast=True), LIST],
        BY_LIST,
    ] = "auto"
    """auto: by the headings of the text."""

    @model_validator(mode="after")
    def _rules_of_jobs(self) -> Self:
        if self.priority not in (None, "bulk"):
            raise FieldError("priority", "invalid_value", "priority: jobs are of the class bulk")
        if self.record:
            raise FieldError("record", "invalid_value", "record: a job keeps its audio itself")
        if isinstance(self.chapters, list):
            starts = [chapter.start for chapter in self.chapters]
            if starts != sorted(set(starts)) or (starts and starts[-1] >= len(self.text)):
                message = "chapters: each begins within the text, after the one before it"
                raise FieldError("chapters", "invalid_value", message)
        return self

    def find_chapters(self) -> list[Chapter]:
        """The chapters that were named, or that the text has. Takes a while for a long one."""
        if isinstance(self.chapters, list):
            return [Chapter(chapter.title, chapter.start) for chapter in self.chapters]
        return find_chapters(self.text) if self.chapters == "auto" and self.input_type == "text" else []

    def clip_request(self) -> TtsRequest:
        """What is spoken: at the model's rate, from which any format is made."""
        fields = self.model_dump(exclude={"title", "chapters", "format", "sample_rate", "bit_rate"})
        return TtsRequest.model_validate({**fields, "format": "pcm", "priority": "bulk"})


def check_job(order: JobRequest, settings: GatewaySettings) -> None:
    """Raise ApiError when it exceeds a limit of this deployment."""
    limit = settings.max_job_characters
    if len(order.text) > limit:
        message = f"text has {len(order.text)} characters, at most {limit} are allowed for a job"
        raise ApiError(422, "text_too_long", message, param="text")
    check_limits(order.model_copy(update={"text": "x"}), settings)
