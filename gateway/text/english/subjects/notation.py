"""How music and moves of chess are written down."""

from __future__ import annotations

import re

from gateway.text.english.numbers import cardinal
from gateway.text.rules import Rule, rule

_NOTES = {"♩": "quarter note", "♪": "eighth note"}
_METRES = "time|meter|metre|section|bars?|feel|groove|beat|rhythm|signature|march|waltz|passage"
_CHORD = r"(?=m(?![a-z])|maj|min|dim|aug|sus|add|[2-9]|1[13])"
_PIECES = {"K": "king", "Q": "queen", "R": "rook", "B": "bishop", "N": "knight"}
_SIGNS = {**_PIECES, "x": "takes", "+": "check", "#": "mate", "=": "becomes"}
_CASTLES = {"O-O": "castles", "O-O-O": "castles queenside"}
_MOVE = r"(?:[KQRBN][a-h]?[1-8]?x?[a-h][1-8]|[a-h]x[a-h][1-8]|[a-h][18]=[QRBN])(?:=[QRBN])?[+#]?"
_PLAYED = re.compile(
    r"\b\d{1,3}\.{1,3}\s?(?:[KQRBN]?[a-h]?x?[a-h][1-8]|O-O)|\b[KQRN]x?[a-h][1-8]\b.*\b[KQRN]x?[a-h][1-8]\b"
)
_NEAR = 40
"""Characters in which it is told that somebody plays chess."""


def _metre(match: re.Match[str]) -> str:
    """ "6/8 time", and as "a piece in 6/8"."""
    return f"{cardinal(int(match['beats']))} {cardinal(int(match['note']))}"


def _mode(match: re.Match[str]) -> str:
    """Of a key, "C♯ min."."""
    return "major" if match["mode"] == "maj" else "minor"


def _is_played(match: re.Match[str]) -> bool:
    around = match.string[max(0, match.start() - _NEAR) : match.end() + _NEAR]
    return _PLAYED.search(around) is not None


def _move(match: re.Match[str]) -> str | None:
    if not _is_played(match):
        return None
    said = " ".join(cardinal(int(sign)) if sign.isdigit() else _SIGNS.get(sign, sign) for sign in match[0])
    return f" {said}" if match.string.endswith(".", 0, match.start()) else said


def _castle(match: re.Match[str]) -> str | None:
    return _CASTLES[match[0]] if _is_played(match) else None


_METRE = r"(?P<say>(?P<beats>\d{1,2})/(?P<note>[248]|16))"
RULES: tuple[Rule, ...] = (
    rule(rf"(?<![\w-]){_MOVE}(?![\w-])", _move),
    rule(r"(?<=\d\.)(?P<say>[a-h][1-8])(?=[+#!?]{0,3}\s)", _move),
    rule(r"(?<![\w-])O-O(?:-O)?(?![\w-])", _castle),
    rule(r"[♩♪]\s?=\s?(?=\d)", lambda match: f"{_NOTES[match[0][0]]} equals "),
    rule(r"[♩♪]\.\s?=\s?(?=\d)", lambda match: f"dotted {_NOTES[match[0][0]]} equals "),
    rule(rf"(?<![\w./]){_METRE}(?=\s(?:{_METRES})\b)", _metre),
    rule(r"¾(?=[\s-]time\b(?!\s[a-z]))", "three four"),
    rule(r"\b[A-G][#b♯♭]?\s(?P<say>(?P<mode>maj|min)\.)(?!\sof\b|\s\d)", _mode),
    rule(r"\b[Ii]n (?P<say>(?P<beats>[2-7]|9|12)/(?P<note>[48]))(?=[.,;:!?)]|$|\s(?:at|with)\b)", _metre),
    rule(rf"(?<![\w./]){_METRE}(?=,?\s(?:at\s)?\d{{2,3}}\s?(?:bpm|BPM|beats)\b)", _metre),
    rule(rf"\b[Tt]ime sig(?:\.|nature)?:?\s{_METRE}(?![\w/])", _metre),
    rule(rf"(?<![A-Za-z])[A-G](?P<say>#){_CHORD}", "sharp"),
    rule(rf"(?<![A-Za-z])[A-G](?P<say>b)(?![2348]){_CHORD}(?!\d[A-Za-z])", "flat"),
    rule(
        r"(?<![A-Za-z])[A-G][#b♯♭]?(?:m|maj|min|dim)?7(?P<say>[b#])(?=[59]|11)",
        lambda match: "flat" if match["say"] == "b" else "sharp",
    ),
)
