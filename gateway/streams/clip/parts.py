"""The text of a clip in the parts that are spoken one after the other, each as written and as spoken.

A text is cut where it is written, so that no figure and no word of the lexicon is cut in two; each part is
then respelt, and put into words where that is wanted. A part whose words are too many is cut again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, pairwise
from typing import Literal

from gateway.text import LANGUAGES, NO_LEXICON, Lexicon, Spoken, has_rules, normalising
from gateway.text.language import is_loaded, told_language
from gateway.text.spoken import Edit
from gateway.text.ssml import Passage, Script
from gateway.text.steps import Steps, finished
from models.sentences import cut, each_part_ranges, sentence_ends
from worker.protocol import ModelDescription

Normalize = Literal["auto", "on", "off"]
WORDS_ONLY = "words_only"
"""The feature of a model that reads words alone: figures have to be put into words for it."""
TOLD_LANGUAGE = "language"
"""The feature of a model that wants to be told the language of a text."""
_ANY_LANGUAGE = "und"
"""Of a text that may be in any: nothing is put into words."""
_SHORTEST_PART = 40
"""Characters. What is still too long in words when cut to this is cut in its words."""


@dataclass(frozen=True)
class Part:
    """One request to a worker."""

    written: str
    spoken: str
    pause: float = 0.0
    """Seconds of silence before it."""
    rate: float = 1.0
    """How fast it is said, against the rest."""
    language: str | None = None
    """Code of its language, where somebody wants to know and it is known."""
    said: Spoken | None = field(default=None, compare=False, repr=False)
    """What is spoken, with the way back to what is written; None where that is all the same."""


def wants_words(normalize: Normalize, model: ModelDescription) -> bool:
    """Whether figures, signs and abbreviations are put into words for a model."""
    return normalize == "on" or (normalize == "auto" and WORDS_ONLY in model.features)


@dataclass(frozen=True)
class Reading:
    """How a text is read to a model: the same for the same text, wherever it is done."""

    model: ModelDescription
    normalize: Normalize = "auto"
    language: str | None = None
    """ISO 639 code of the text, where it is known."""
    lexicon: Lexicon = NO_LEXICON
    around: str | None = None
    """The language of the text around, where this one doesn't tell its own."""

    @property
    def in_words(self) -> bool:
        """Whether figures are put into words."""
        return wants_words(self.normalize, self.model)

    @property
    def as_written(self) -> bool:
        """Whether every text is spoken as it is written."""
        return not self.in_words and not self.lexicon

    @property
    def tells_language(self) -> bool:
        """Whether the language of each part is of interest."""
        return self.in_words or TOLD_LANGUAGE in self.model.features

    @property
    def is_quick(self) -> bool:
        """Whether nothing has to be loaded first."""
        return self.language is not None or not self.tells_language or is_loaded(self._known)

    def language_of(self, text: str) -> str | None:
        """The language of a part of the text; its code may name a region where it was given."""
        return told_language(text, self._known, self._otherwise) if self.language is None else self.language

    def _told(self, text: str) -> str | None:
        """The language of a part, where it is of interest; else what the request says."""
        return self.language_of(text) if self.tells_language else self.language

    @property
    def _known(self) -> tuple[str, ...]:
        return (*LANGUAGES, *self.model.languages)

    @property
    def _otherwise(self) -> str | None:
        languages = self.model.languages
        return self.around or (languages[0] if len(languages) == 1 else None)

    @property
    def _unless_told(self) -> str | None:
        """What a text counts as that doesn't tell: "Um 3." to a model that speaks German is no English.

        A model that reads words alone would leave the figures out.
        """
        return _ANY_LANGUAGE if self._reads_others else None

    @property
    def _reads_others(self) -> bool:
        """Whether the model reads figures itself, in languages that have no rules."""
        speaks_others = not set(self.model.languages).issubset(LANGUAGES)
        return speaks_others and WORDS_ONLY not in self.model.features

    def puts_in_words(self, language: str | None) -> bool:
        """Whether figures of a part in a language, or in none that is known, are put into words."""
        return self.in_words and has_rules(language or self._unless_told)

    def read(self, text: str, fixed: Sequence[Edit] = ()) -> Spoken:
        """`text` as it is spoken. `fixed`: what is said for places in it, whatever else holds."""
        return finished(self.steps(text, fixed))

    def steps(self, text: str, fixed: Sequence[Edit] = ()) -> Steps[Spoken]:
        """`read` in small steps."""
        return (yield from self._said(text, fixed, self.language_of(text) if self.in_words else None))

    def _said(self, text: str, fixed: Sequence[Edit], language: str | None) -> Steps[Spoken]:
        """`steps` of a text in a language, where figures are put into words."""
        spell = WORDS_ONLY in self.model.features
        if spell:
            fixed = [replace(edit, spoken=edit.named or edit.spoken) for edit in fixed]
        if not self.in_words:
            return self.lexicon.respell(text, fixed)[0]
        language = language or self._unless_told
        foreign = yield from self._foreign(text, language)
        return (yield from normalising(text, language, self.lexicon, fixed, spell, foreign))

    def _foreign(self, text: str, language: str | None) -> Steps[list[tuple[int, int]]]:
        """Sentences of a text that are in a language without rules."""
        found: list[tuple[int, int]] = []
        if self.language is not None or not self._reads_others or not has_rules(language):
            return found
        ends = sorted(sentence_ends(text))
        for start, end in pairwise([0, *ends]) if len(ends) > 1 else ():
            yield
            if not has_rules(told_language(text[start:end], self._known, language)):
                found.append((start, end))
        return found

    def cut(self, text: str) -> list[Part]:
        """`text` in parts that the model speaks well; without words it is one part all the same."""
        return [part for part in self._cut(Passage(text)) if part is not None]

    def cut_script(self, script: Script) -> list[Part]:
        """`cut` for a document with pauses, each of which ends a part."""
        return [part for part in self.each_part(script) if part is not None]

    def each_part(self, script: Script) -> Iterator[Part | None]:
        """The parts of `cut_script`, each as it is found; None while nothing is."""
        reading = self if self.language is not None else replace(self, language=script.language)
        if reading.tells_language:
            reading = replace(reading, around=reading.language_of(script.text))
        for passage in script.passages:
            pause = passage.pause
            for part in reading._cut(passage):
                if part is None:
                    yield None
                    continue
                yield replace(part, rate=passage.rate, pause=pause)
                pause = 0.0

    def _cut(self, passage: Passage) -> Iterator[Part | None]:
        limit = self.model.part_characters or self.model.max_text_characters
        pieces = self._pieces(passage, limit)
        is_plain = self.as_written and not passage.fixed
        for piece in chain([next(pieces, passage)], pieces):
            if is_plain:
                yield Part(piece.text, piece.text, language=self._told(piece.text))
            else:
                yield from self._parts(piece, limit)

    def _pieces(self, passage: Passage, limit: int | None) -> Iterator[Passage]:
        kept = self.lexicon.ranges(passage.text, passage.fixed)
        groups = each_part_ranges(passage.text, limit, self._languages(passage.text), kept)
        return (_piece(passage, group) for group in groups)

    def _languages(self, text: str) -> list[str]:
        """The first decides what is an abbreviation."""
        language = self._told(text)
        return [*([language.partition("-")[0].lower()] if language else ()), *self.model.languages]

    def _parts(self, piece: Passage, limit: int) -> Iterator[Part | None]:
        language = self._told(piece.text)
        spoken = yield from self._said(piece.text, piece.fixed, language)
        if len(spoken.text) <= limit:
            yield Part(piece.text, spoken.text, language=language, said=spoken)
            return
        shorter = len(piece.text) * limit // len(spoken.text)
        smaller = [] if shorter < min(_SHORTEST_PART, len(piece.text)) else list(self._pieces(piece, shorter))
        if len(smaller) < 2:
            yield from (replace(part, language=language) for part in _cut_words(spoken, limit))
            return
        for each in smaller:
            yield from self._parts(each, limit)


def _piece(passage: Passage, ranges: Sequence[tuple[int, int]]) -> Passage:
    """Some ranges of a passage, with a space between them."""
    texts: list[str] = []
    fixed: list[Edit] = []
    at = 0
    for start, end in ranges:
        inside = (edit for edit in passage.fixed if start <= edit.start and edit.end <= end)
        fixed += (edit.moved(at - start) for edit in inside)
        texts.append(passage.text[start:end])
        at += end - start + 1
    return Passage(" ".join(texts), tuple(fixed))


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
