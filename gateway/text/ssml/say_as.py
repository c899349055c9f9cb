"""`<say-as>`: text that is read as its author says, in English or Chinese."""

from __future__ import annotations

import re
from collections.abc import Callable

from gateway.text.chinese import numbers as chinese_numbers
from gateway.text.english import letters
from gateway.text.english import numbers as english_numbers
from gateway.text.normaliser import normalise
from gateway.text.rules import apply
from gateway.text.spoken import Spoken, is_ideogram

_WHOLE = re.compile(r"[+-]?\d{1,3}(?:,\d{3})+|[+-]?\d{1,15}")
_ORDINAL = re.compile(r"(\d{1,3}(?:,\d{3})+|\d{1,15})(?:st|nd|rd|th)?", re.I)
_DATE_PARTS = re.compile(r"(\d{1,4})[-/. ](\d{1,2})(?:[-/. ](\d{1,4}))?")
_PHONE = re.compile(r"\+?[\d ().-]{3,24}")
_YEAR_FIRST, _YEAR_LAST = ("ymd",), ("mdy", "dmy")
DATE_FORMATS = (*_YEAR_FIRST, *_YEAR_LAST)
MOST_CHARACTERS = 200
"""Of a text that is read so."""


class CannotSay(ValueError):
    """The text is not what it is said to be."""


def say_as(text: str, kind: str, language: str, format: str | None = None) -> str:
    """`text` in words. `kind`: one of KINDS; `language`: "en" or "zh"; `format`: of a date.

    Raises CannotSay. `by_name` says the same for models that cannot spell.
    """
    if len(text) > MOST_CHARACTERS:
        raise CannotSay(f"has more than {MOST_CHARACTERS} characters")
    said = _KINDS[kind](text.strip(), language, format)
    if not said.strip() or (kind in _IN_WORDS and any(map(str.isdecimal, said))):
        raise CannotSay(f"cannot be read as {kind}")
    return said


def by_name(said: str, kind: str, language: str) -> str:
    """What `say_as` made of a text, with its letters by their names: "ay bee one" for "A B one"."""
    if language == "zh":
        return said
    if kind in _SPELT:
        return " ".join(letters.NAMES.get(each, each) for each in said.split(" "))
    return Spoken.of(said).edited(apply(letters.RULES, said)).text


def _characters(text: str, language: str, format: str | None) -> str:
    digits = chinese_numbers.digits if language == "zh" else english_numbers.digits
    said = (digits(each) if each in "0123456789" else each.upper() for each in text if each.isalnum())
    return ("" if all(map(is_ideogram, text)) else " ").join(said)


def _cardinal(text: str, language: str, format: str | None) -> str:
    if not _WHOLE.fullmatch(text):
        raise CannotSay("cannot be read as cardinal")
    value = int(text.replace(",", ""))
    minus, cardinal = (
        ("负", chinese_numbers.cardinal) if language == "zh" else ("minus ", english_numbers.cardinal)
    )
    return (minus if value < 0 else "") + cardinal(abs(value))


def _ordinal(text: str, language: str, format: str | None) -> str:
    found = _ORDINAL.fullmatch(text)
    if found is None:
        raise CannotSay("cannot be read as ordinal")
    value = int(found[1].replace(",", ""))
    return f"第{chinese_numbers.cardinal(value)}" if language == "zh" else english_numbers.ordinal(value)


def _date(text: str, language: str, format: str | None) -> str:
    found = _DATE_PARTS.fullmatch(text)
    if found is None or found[3] is None:
        return normalise(text, language).text
    year_first = len(found[1]) == 4
    if format is None:
        format = "ymd" if year_first else "mdy"
    given = dict(zip(format, found.groups(), strict=True))
    year, month, day = (int(given[name]) for name in "ymd")
    if len(given["y"]) != 4 or not (1 <= month <= 12 and 1 <= day <= 31):
        raise CannotSay(f"cannot be read as date {format}")
    return normalise(f"{year}-{month:02}-{day:02}", language).text


def _in_words(text: str, language: str, format: str | None) -> str:
    return normalise(text, language).text


def _telephone(text: str, language: str, format: str | None) -> str:
    if not _PHONE.fullmatch(text) or not any(map(str.isdecimal, text)):
        raise CannotSay("cannot be read as telephone")
    groups = re.findall(r"\d+", text)
    if language == "zh":
        return ("加" if text.startswith("+") else "") + chinese_numbers.phone("".join(groups))
    return ("plus " if text.startswith("+") else "") + ", ".join(map(english_numbers.digits, groups))


_KINDS: dict[str, Callable[[str, str, str | None], str]] = {
    "characters": _characters,
    "spell-out": _characters,
    "cardinal": _cardinal,
    "ordinal": _ordinal,
    "date": _date,
    "time": _in_words,
    "telephone": _telephone,
}
_IN_WORDS = ("date", "time")
_SPELT = ("characters", "spell-out")
KINDS = tuple(_KINDS)
