"""Reading a document element by element, and what is refused in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from xml.parsers import expat

from gateway.text.language import is_language_code
from gateway.text.lexicon import check_spoken
from gateway.text.spoken import has_ideogram
from gateway.text.ssml.say_as import DATE_FORMATS, KINDS, CannotSay, by_name, say_as
from gateway.text.ssml.script import Script, SsmlError
from gateway.text.ssml.values import PARAGRAPH_SECONDS, SENTENCE_SECONDS, rate_of, seconds_of
from gateway.text.ssml.writer import ScriptWriter

MOST_DOCUMENT_CHARACTERS = 1_000_000
"""Of a document with its markup, whatever settings allow: it is read on the event loop."""
_MOST_SAY_AS_CHARACTERS = 20_000
"""Of all that is read as its author says: it is put into words on the event loop."""
_COSTS = {"date": 5, "time": 5}
"""What a character of these counts for: they are read by all rules, and by the grammars."""
_LEAST_COST = 100
"""Of one of these: a short one takes 0.2 ms, too."""
_MOST_DEPTH = 16
_MOST_ELEMENTS = 2000
_ATTRIBUTES = {
    "speak": {"version", "xml:lang", "xmlns", "xmlns:xsi", "xsi:schemaLocation"},
    "p": set[str](),
    "s": set[str](),
    "break": {"time", "strength"},
    "prosody": {"rate"},
    "sub": {"alias"},
    "say-as": {"interpret-as", "format"},
}
_BOUNDARIES = {"p": PARAGRAPH_SECONDS, "s": SENTENCE_SECONDS}
_OF_TEXT = ("sub", "say-as")
"""Elements that hold text alone."""


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
    return reader.writer.script(reader.language)


def _refuse(what: str) -> object:
    def refuse(*_: object) -> None:
        raise SsmlError(f"{what} is not allowed")

    return refuse


@dataclass
class _Reader:
    """Takes the document element by element."""

    language: str | None
    writer: ScriptWriter = field(default_factory=ScriptWriter)
    depth: list[str] = field(default_factory=list)
    """Elements that are open, the innermost last."""
    rates: list[float] = field(default_factory=lambda: [1.0])
    """Their rates."""
    elements: int = 0
    say_as_characters: int = 0
    attributes: dict[str, str] = field(default_factory=dict)
    inner: str = ""
    """Text of an element that holds text alone."""

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.elements += 1
        self._check(name, attributes)
        self.depth.append(name)
        if name == "speak":
            self._take_language(attributes.get("xml:lang"))
        elif name == "break":
            self.writer.pause(seconds_of(attributes))
        elif name in _BOUNDARIES:
            self.writer.part(_BOUNDARIES[name])
        elif name == "prosody":
            self.attributes = attributes
            self.rates.append(rate_of(self._needed(name, "rate")))
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
        if named is not None and not is_language_code(named):
            raise SsmlError("<speak>: xml:lang is an ISO 639 code")
        self.language = self.language or named

    def characters(self, data: str) -> None:
        if self.depth[-1] in _OF_TEXT:
            self.inner += data
        elif self.depth[-1] == "break" and data.strip():
            raise SsmlError("<break> holds no text")
        else:
            self.writer.say(data, self.rates[-1])

    def end(self, name: str) -> None:
        self.depth.pop()
        if name in _BOUNDARIES:
            self.writer.part(_BOUNDARIES[name])
        elif name == "prosody":
            self.rates.pop()
        elif name in _OF_TEXT:
            written = " ".join(self.inner.split())
            if not written:
                raise SsmlError(f"<{name}> holds no text")
            self.writer.say(written, self.rates[-1], *self._spoken(name, written))

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
            self.say_as_characters += (
                max(len(written) * _COSTS[kind], _LEAST_COST) if kind in _COSTS else len(written)
            )
            if self.say_as_characters > _MOST_SAY_AS_CHARACTERS:
                most = f"at most {_MOST_SAY_AS_CHARACTERS} characters in all"
                counted = f"dates and times count fivefold, and {_LEAST_COST} at least"
                raise SsmlError(f"<say-as> holds {most}, where {counted}")
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
        return "zh" if self.writer.has_ideograms or has_ideogram(written) else "en"
