"""What has to be in a timeline so that it can be shown, and what is said of one that is damaged."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel


class DamagedSession(ValueError):
    """Its journal or its timeline was changed, or is not whole, in a way that cannot be read."""


class _Span(BaseModel):
    start: int
    end: int
    first_sample: int
    end_sample: int


class _Word(_Span):
    estimated: bool


class _Chunk(BaseModel):
    at: float
    first_sample: int
    samples: int


class _Utterance(BaseModel):
    index: int
    text: str
    at: float
    sample_rate: int | None
    first_sample: int
    samples: int
    workers: list[str]
    parts: list[_Span]
    words: list[_Word]
    chunks: list[_Chunk]


class _Event(BaseModel):
    at: float
    kind: str


class _Timeline(BaseModel):
    sample_rate: int | None
    audio_seconds: float
    utterances: list[_Utterance]
    events: list[_Event]


def checked(timeline: dict[str, Any]) -> dict[str, Any]:
    """The timeline. Raises DamagedSession where something is missing or of another type."""
    try:
        _Timeline.model_validate(timeline)
    except ValueError as error:
        raise DamagedSession("the timeline is damaged") from error
    return timeline
