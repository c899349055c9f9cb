"""A small part of SSML 1.1: text with pauses, other rates, and words that are said otherwise.

    script = parse_ssml('<speak>Hello <break time="500ms"/> <sub alias="W three C">W3C</sub></speak>')
    script.text                        # "Hello W3C"
    script.passages[1].pause           # 0.5, in seconds

Known are speak, p, s, break, prosody, sub and say-as, each with the attributes below; everything else is an
error that names it. The markup has no DTD, no entities but XML's own five, and no processing instructions.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from xml.parsers import expat

from gateway.text.lexicon import check_spoken
from gateway.text.say_as import DATE_FORMATS, KINDS, CannotSay, by_name, say_as
from gateway.text.spoken import Edit, is_ideogram
from models.sentences import has_words

LONGEST_PAUSE_SECONDS = 20.0
MOST_PAUSE_SECONDS = 120.0
"""Of all pauses together."""
MOST_DOCUMENT_CHARACTERS = 1_000_000
"""Of a document with its markup, whatever settings allow: it is read on the event loop."""
_MOST_SAY_AS_CHARACTERS = 20_000
"""Of all that is read as its author says: putting it into words takes 15 microseconds per character."""
_MOST_DEPTH = 16
_MOST_ELEMENTS = 2000
_STRENGTHS = {"none": 0.0, "x-weak": 0.1, "weak": 0.2, "medium": 0.4, "strong": 0.7, "x-strong": 1.0}
"""Seconds; the names are SSML's, which leaves their length to the service."""
_SENTENCE_SECONDS, PARAGRAPH_SECONDS = _STRENGTHS["weak"], _STRENGTHS["strong"]
SLOWEST_RATE, FASTEST_RATE = 0.25, 4.0
_RATES = {"x-slow": 0.5, "slow": 0.75, "medium": 1.0, "default": 1.0, "fast": 1.25, "x-fast": 1.5}
"""Against ordinary speech; SSML leaves that to the service, too."""
_PERCENT = re.compile(r"([+-]?)(\d{1,3}(?:\.\d{1,3})?)%")
_TIME = re.compile(r"\+?(\d{1,6}(?:\.\d{1,6})?|\.\d{1,6})(ms|s)")
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")
_ATTRIBUTES = {
    "speak": {"version", "xml:lang", "xmlns", "xmlns:xsi", "xsi:schemaLocation"},
    "p": set[str](),
    "s": set[str](),
    "break": {"time", "strength"},
    "prosody": {"rate"},
    "sub": {"alias"},
    "say-as": {"interpret-as", "format"},
}
_BOUNDARIES = {"p": PARAGRAPH_SECONDS, "s": _SENTENCE_SECONDS}
_OF_TEXT = ("sub", "say-as")
"""Elements that hold text alone."""


class SsmlError(ValueError):
    """What is wrong with the markup."""


@dataclass(frozen=True)
class Passage:
    """Text without a pause in it."""

    text: str
    fixed: tuple[Edit, ...] = ()
    """What of it is said otherwise, whatever stands elsewhere."""
    pause: float = 0.0
    """Seconds of silence before it."""
    rate: float = 1.0
    """How fast it is said, against the rest."""


@dataclass(frozen=True)
class Script:
    """What a document says."""

    passages: tuple[Passage, ...]
    pause_after: float = 0.0
    """Seconds of silence at the end."""
    language: str | None = None
    """That `speak` names."""

    @property
    def text(self) -> str:
        """The words without markup."""
        return " ".join(passage.text for passage in self.passages)


def parse_ssml(source: str, language: str | None = None) -> Script:
    """What an SSML document says. `language`: ISO 639 code that goes before the document's own.

    Raises SsmlError.
    """
    if len(source) > MOST_DOCUMENT_CHARACTERS:
        raise SsmlError(f"SSML has at most {MOST_DOCUMENT_CHARACTERS} characters")
    reader = _Reader(language)
    parser = expat.ParserCreate("utf-8")
    parser.buffer_text = True
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
    parser.StartElementHandler, parser.EndElementHandler = reader.start, reader.end
    parser.CharacterDataHandler = reader.characters
    parser.StartDoctypeDeclHandler = _refuse("a DOCTYPE")
    parser.EntityDeclHandler = _refuse("an entity declaration")
    parser.ProcessingInstructionHandler = _refuse("a processing instruction")
    try:
        parser.Parse(source.strip().encode("utf-8"), True)
    except expat.ExpatError as error:
        problem = expat.errors.messages.get(error.code, "not well-formed")
        raise SsmlError(f"no well-formed XML: {problem} in line {error.lineno}") from error
    return reader.script()


def _refuse(what: str) -> object:
    def refuse(*_: object) -> None:
        raise SsmlError(f"{what} is not allowed")

    return refuse


@dataclass
class _Reader:
    """Takes the document element by element."""

    language: str | None
    depth: list[str] = field(default_factory=list)
    passages: list[Passage] = field(default_factory=list)
    text: str = ""
    """Of the passage that is being read, with every run of white space as one space."""
    has_ideograms: bool = False
    """Whether that text has any."""
    fixed: list[Edit] = field(default_factory=list)
    explicit: float | None = None
    """Of the breaks since the last word."""
    boundary: float = 0.0
    """Of sentences and paragraphs that began or ended since."""
    elements: int = 0
    say_as_characters: int = 0
    attributes: dict[str, str] = field(default_factory=dict)
    inner: str = ""
    """Text of an element that holds text alone."""
    rates: list[float] = field(default_factory=lambda: [1.0])
    """Of the elements that are open, the innermost last."""
    rate: float = 1.0
    """Of the passage that is being read."""
    _pending: float = 0.0
    """Seconds of silence before the passage that is being read."""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.elements += 1
        self._check(name, attributes)
        self.depth.append(name)
        if name == "speak":
            self._take_language(attributes.get("xml:lang"))
        elif name == "break":
            self._pause(_seconds(attributes))
        elif name in _BOUNDARIES:
            self.boundary = max(self.boundary, _BOUNDARIES[name])
        elif name == "prosody":
            self.attributes = attributes
            self.rates.append(_rate(self._needed(name, "rate")))
        else:
            self.attributes, self.inner = attributes, ""

    def _check(self, name: str, attributes: dict[str, str]) -> None:
        if name not in _ATTRIBUTES:
            raise SsmlError(f"<{name[:40]}> is not supported; known are {', '.join(_ATTRIBUTES)}")
        if (name == "speak") != (not self.depth):
            raise SsmlError("<speak> is around everything, once")
        if self.depth and self.depth[-1] in (*_OF_TEXT, "break"):
            raise SsmlError(f"<{self.depth[-1]}> holds no <{name}>")
        if name in self.depth and name in _BOUNDARIES:
            raise SsmlError(f"<{name}> holds no <{name}>")
        if len(self.depth) >= _MOST_DEPTH or self.elements > _MOST_ELEMENTS:
            raise SsmlError(f"at most {_MOST_ELEMENTS} elements, {_MOST_DEPTH} in one another, are allowed")
        for attribute in attributes:
            if attribute not in _ATTRIBUTES[name]:
                raise SsmlError(f"<{name}> has no attribute {attribute[:40]!r} here")

    def _take_language(self, named: str | None) -> None:
        if named is not None and (len(named) > 16 or not _LANGUAGE.fullmatch(named)):
            raise SsmlError("<speak>: xml:lang is an ISO 639 code")
        self.language = self.language or named

    def _pause(self, seconds: float) -> None:
        self.explicit = (self.explicit or 0.0) + seconds

    def characters(self, data: str) -> None:
        if self.depth[-1] in _OF_TEXT:
            self.inner += data
        elif self.depth[-1] == "break" and data.strip():
            raise SsmlError("<break> holds no text")
        else:
            self._say(data)

    def end(self, name: str) -> None:
        self.depth.pop()
        if name in _BOUNDARIES:
            self.boundary = max(self.boundary, _BOUNDARIES[name])
        elif name == "prosody":
            self.rates.pop()
        elif name in _OF_TEXT:
            written = " ".join(self.inner.split())
            if not written:
                raise SsmlError(f"<{name}> holds no text")
            self._say(written, *self._spoken(name, written))

    def _spoken(self, name: str, written: str) -> tuple[str, str | None]:
        """What is said, and how a model has it said that cannot spell."""
        try:
            if name == "sub":
                return check_spoken(self._needed(name, "alias")), None
            kind, format = self._needed(name, "interpret-as"), self.attributes.get("format")
            if kind not in KINDS:
                raise SsmlError(f"<say-as> cannot read as {kind[:40]!r}; known are {', '.join(KINDS)}")
            if format is not None and (kind != "date" or format not in DATE_FORMATS):
                raise SsmlError(f"<say-as>: format is one of {', '.join(DATE_FORMATS)}, of a date")
            self.say_as_characters += len(written)
            if self.say_as_characters > _MOST_SAY_AS_CHARACTERS:
                raise SsmlError(f"<say-as> holds at most {_MOST_SAY_AS_CHARACTERS} characters in all")
            language = self._language_of(written)
            said = say_as(written, kind, language, format)
            return said, by_name(said, kind, language)
        except CannotSay as error:
            raise SsmlError(f"<say-as>: {written[:40]!r} {error}") from error
        except ValueError as error:
            raise error if isinstance(error, SsmlError) else SsmlError(f"<{name}>: {error}") from error

    def _needed(self, name: str, attribute: str) -> str:
        if not (value := self.attributes.get(attribute, "").strip()):
            raise SsmlError(f"<{name}> needs the attribute {attribute!r}")
        return value

    def _language_of(self, written: str) -> str:
        if self.language is not None:
            return "zh" if self.language.lower().startswith("zh") else "en"
        return "zh" if self.has_ideograms or any(map(is_ideogram, written)) else "en"

    def _say(self, data: str, spoken: str | None = None, named: str | None = None) -> None:
        if data.strip():
            self._end_passage()
        words = re.sub(r"\s+", " ", data)
        if not self.text or self.text.endswith(" "):
            words = words.removeprefix(" ")
        if spoken is not None:
            self.fixed.append(Edit(len(self.text), len(self.text) + len(words), spoken, named))
        self.text += words
        self.has_ideograms = self.has_ideograms or any(map(is_ideogram, words))

    def _end_passage(self) -> None:
        """What follows comes after a pause, or at another rate, if that is so."""
        seconds = self.boundary if self.explicit is None else self.explicit
        if not self.text.strip() and not self.passages:
            seconds = self.explicit or 0.0
        parted = seconds > 0 or self.boundary > 0 or self.rate != self.rates[-1]
        if parted and self.text.strip():
            self._close()
        if parted:
            self._pending, self.text, self.fixed = self._pending + seconds, "", []
            self.has_ideograms = False
        self.explicit, self.boundary, self.rate = None, 0.0, self.rates[-1]

    def _close(self) -> None:
        """Signs of which no word is said belong to the words before them."""
        text = self.text.rstrip()
        if not has_words(text) and not any(has_words(edit.spoken) for edit in self.fixed):
            if self.passages:
                self.passages[-1] = replace(self.passages[-1], text=self.passages[-1].text + text)
            return
        if self._pending > LONGEST_PAUSE_SECONDS:
            raise SsmlError(f"a pause lasts at most {LONGEST_PAUSE_SECONDS:g} s")
        self.passages.append(Passage(text, tuple(self.fixed), self._pending, self.rate))
        self._pending = 0.0

    def script(self) -> Script:
        if self.text.strip():
            self._close()
        if not self.passages:
            raise SsmlError("there are no words in it")
        after = self._pending + (self.explicit or 0.0)
        if after > LONGEST_PAUSE_SECONDS:
            raise SsmlError(f"a pause lasts at most {LONGEST_PAUSE_SECONDS:g} s")
        if after + sum(passage.pause for passage in self.passages) > MOST_PAUSE_SECONDS:
            raise SsmlError(f"all pauses together last at most {MOST_PAUSE_SECONDS:g} s")
        return Script(tuple(self.passages), after, self.language)


def _rate(said: str) -> float:
    """A keyword, a percentage of ordinary speech ("80%"), or how much more or less than that ("-20%")."""
    if (rate := _RATES.get(said)) is not None:
        return rate
    if (found := _PERCENT.fullmatch(said)) is None:
        raise SsmlError(f"<prosody>: rate is one of {', '.join(_RATES)}, or like 80%, +20% or -20%")
    share = float(found[2]) / 100
    rate = {"": share, "+": 1 + share, "-": 1 - share}[found[1]]
    if not SLOWEST_RATE <= rate <= FASTEST_RATE:
        raise SsmlError(f"<prosody>: rate is from {SLOWEST_RATE:.0%} to {FASTEST_RATE:.0%}")
    return rate


def _seconds(attributes: dict[str, str]) -> float:
    """The length of a break; its time goes before its strength."""
    if (time := attributes.get("time")) is not None:
        if (found := _TIME.fullmatch(time.strip())) is None:
            raise SsmlError("<break>: time is like 500ms or 1.5s")
        seconds = float(found[1]) / (1000 if found[2] == "ms" else 1)
        if seconds > LONGEST_PAUSE_SECONDS:
            raise SsmlError(f"<break>: a pause lasts at most {LONGEST_PAUSE_SECONDS:g} s")
        return seconds
    strength = attributes.get("strength", "medium")
    if strength not in _STRENGTHS:
        raise SsmlError(f"<break>: strength is one of {', '.join(_STRENGTHS)}")
    return _STRENGTHS[strength]
