"""The text of a clip in the parts that are spoken one after the other, each as written and as spoken.

A text is cut where it is written, so that no figure is cut in two; each part is then put into words where
that is wanted. A part whose words are too many is cut again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gateway.text import Spoken, normalise
from models.sentences import cut, parts
from worker.protocol import ModelDescription

Normalize = Literal["auto", "on", "off"]
WORDS_ONLY = "words_only"
"""The feature of a model that reads words alone: figures have to be put into words for it."""
_SHORTEST_PART = 40
"""Characters. What is still too long in words when cut to this is cut in its words."""


@dataclass(frozen=True)
class Part:
    """One request to a worker."""

    written: str
    spoken: str


def wants_words(normalize: Normalize, model: ModelDescription) -> bool:
    """Whether figures, signs and abbreviations are put into words for a model."""
    return normalize == "on" or (normalize == "auto" and WORDS_ONLY in model.features)


def language_of(model: ModelDescription, said: str | None = None) -> str | None:
    """The language of a text: what was `said` of it, else that of a model that has one alone."""
    if said is not None:
        return said
    return model.languages[0] if len(model.languages) == 1 else None


def cut_text(
    text: str, normalize: Normalize, model: ModelDescription, language: str | None = None
) -> list[Part]:
    """`text` in parts that `model` speaks well; without words it is one part all the same."""
    languages = _languages(model, language)
    if not wants_words(normalize, model):
        pieces = parts(text, model.part_characters, languages) or [text]
        return [Part(piece, piece) for piece in pieces]
    limit = model.part_characters or model.max_text_characters
    pieces = parts(text, limit, languages) or [text]
    return [part for piece in pieces for part in _in_words(piece, limit, model, language)]


def _languages(model: ModelDescription, language: str | None) -> list[str]:
    """The first decides what is an abbreviation."""
    return [*([language.partition("-")[0].lower()] if language else ()), *model.languages]


def _in_words(piece: str, limit: int, model: ModelDescription, language: str | None) -> list[Part]:
    spoken = normalise(piece, language_of(model, language))
    if len(spoken.text) <= limit:
        return [Part(piece, spoken.text)]
    shorter = len(piece) * limit // len(spoken.text)
    if shorter < min(_SHORTEST_PART, len(piece)):
        return _cut_words(spoken, limit)
    smaller = parts(piece, shorter, _languages(model, language))
    if len(smaller) < 2:
        return _cut_words(spoken, limit)
    return [part for each in smaller for part in _in_words(each, limit, model, language)]


def _cut_words(spoken: Spoken, limit: int) -> list[Part]:
    """A figure of very many words: its parts share what is written."""
    found, start, written = [], 0, 0
    while start < len(spoken.text):
        rest = spoken.text[start:]
        end = start + (cut(rest, limit) if len(rest) > limit else len(rest))
        until = spoken.to_written(end)
        found.append(Part(spoken.written[written:until], spoken.text[start:end].strip()))
        start, written = end, until
    return [part for part in found if part.spoken]
