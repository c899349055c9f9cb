"""Letters and signs that a model of words has no token for: "Łódź" is "Lodz" to it, and a bracket a pause or
nothing. Left as they are, such a model babbles at them.
"""

from __future__ import annotations

import re
import unicodedata

from gateway.text.rules import rule

_LETTERS = {
    "ß": "ss", "ẞ": "SS", "æ": "ae", "Æ": "Ae", "œ": "oe", "Œ": "Oe", "ø": "o", "Ø": "O", "ł": "l", "Ł": "L",
    "đ": "d", "Đ": "D", "ð": "d", "Ð": "D", "þ": "th", "Þ": "Th", "ı": "i", "ŋ": "ng", "ħ": "h", "Ħ": "H",
}  # fmt: skip
_SPECIAL = f"[{''.join(_LETTERS)}]"
_SAID = {"©": "copyright", "@": "at"}
_QUOTES = "«»„‟‹›"
_PAUSES = "|•·"
_READ = "'\",.?!;:%$&/()+=`‘’“”‐‑–−—…-"
"""Signs that have a token, or are made into such."""


def _plain(match: re.Match[str]) -> str:
    return match[0].translate(str.maketrans(_LETTERS))


def _sign(match: re.Match[str]) -> str | None:
    sign, text = match[0], match.string
    before, after = text[max(0, match.start() - 1) : match.start()], text[match.end() : match.end() + 1]
    if sign in _SAID:
        return f" {_SAID[sign]} "
    if sign in _QUOTES:
        return '"'
    if sign in "[{":
        return "("
    if sign in "]}":
        return ")"
    if sign in _PAUSES and before.isspace() and after.isspace():
        return ","
    if unicodedata.category(sign)[0] in "LMN":
        return None
    return " " if before.isalnum() and after.isalnum() else ""


RULES = (
    rule(rf"(?<!\w)\w{{0,60}}{_SPECIAL}\w{{0,60}}", _plain),
    rule(rf"[^\w\s{re.escape(_READ)}]|_", _sign),
)
