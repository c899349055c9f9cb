"""What stands in logs of changes, in notes of versions and in programs."""

from __future__ import annotations

import re

from gateway.text.english.numbers import cardinal, digits, number, year
from gateway.text.rules import Rule, rule

_DOI_SIGNS = {".": "dot", "/": "slash", "-": "dash", "_": "underscore", ":": "colon"}
_TESTS = {"==": "equals", "===": "equals", "!=": "is not equal to", "!==": "is not equal to"}


def _year(match: re.Match[str]) -> str:
    return f", {year(int(match['say']))}"


def _offset(match: re.Match[str]) -> str:
    """From Greenwich, behind the year that git writes behind a time."""
    hours, minutes = int(match["hours"]), int(match["minutes"])
    if not hours and not minutes:
        return ", U T C"
    sign = "plus" if match["sign"] == "+" else "minus"
    return f", U T C {sign} {cardinal(hours)}" + (f" {cardinal(minutes)}" if minutes else "")


def _version(match: re.Match[str]) -> str:
    """ "3.12", which no decimal is."""
    return " point ".join(map(number, match["say"].split(".")))


def _list(match: re.Match[str]) -> str:
    """ "40/65/90", of a game, and "24.61/28.93/33.04"."""
    return ", ".join(map(number, match[0].split("/")))


def _doi(match: re.Match[str]) -> str:
    pieces = re.findall(r"\d+|[A-Za-z]+|[./_:-]", match["say"])
    return " ".join(digits(piece) if piece.isdecimal() else _DOI_SIGNS.get(piece, piece) for piece in pieces)


_VERSIONED = "Node(?:\\.js)?|Java|Python|PHP|Ubuntu|Debian|Postgres(?:QL)?|Rails|Angular|React|CUDA"
RULES: tuple[Rule, ...] = (
    rule(r"(?<=\d:\d\d:\d\d)(?P<say>\s(?:19|20)\d\d)(?=\s[+−-]\d{4}\b|\s?$|[.,;)\]\n])", _year),
    rule(
        r"(?<=\d:\d\d:\d\d\s\d{4})\s(?P<sign>[+−-])(?P<hours>[01]\d)(?P<minutes>[0-5]\d)(?!\d)",
        _offset,
    ),
    rule(rf"\b(?:{_VERSIONED})\s(?P<say>\d{{1,2}}\.[1-9]\d)(?![\w%]|\.\d)", _version),
    rule(rf"\b(?:{_VERSIONED})\s\d{{1,2}}(?P<say>/)(?=\d{{1,2}}(?!\d))", ", "),
    rule(r"(?<![\w./:-])\d{1,5}(?:\.\d{1,3})?(?:/\d{1,5}(?:\.\d{1,3})?){3,12}(?![\w/]|\.\d)", _list),
    rule(r"(?<![\w./:-])(?:\d{1,3}/){2}\d{1,3}(?![\w/]|\.\d)", _list),
    rule(r"(?<=\w)\s(?P<say>[!=]==?)\s(?=['\"])", lambda match: _TESTS[match["say"]]),
    rule(r"(?<![\w/])f(?P<say>/)(?=\d{1,2}(?:\.\d)?(?![\w/]))", " "),
    rule(r"\b(?:DOI|doi)(?::|\s|:\s)(?P<say>10\.\d{4,9}/[\w./:-]{2,80}\w)", _doi),
)
