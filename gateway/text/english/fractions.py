"""Fractions, "1 1/2", and what looks like one: "7/10" of a film, "step 2/5", "27/37"."""

from __future__ import annotations

import re

from gateway.text.english.numbers import cardinal, fraction, number
from gateway.text.rules import Rule, rule

_VULGAR = {
    "½": (1, 2), "⅓": (1, 3), "⅔": (2, 3), "¼": (1, 4), "¾": (3, 4), "⅕": (1, 5), "⅖": (2, 5), "⅗": (3, 5),
    "⅘": (4, 5), "⅙": (1, 6), "⅚": (5, 6), "⅛": (1, 8), "⅜": (3, 8), "⅝": (5, 8), "⅞": (7, 8), "⅒": (1, 10),
}  # fmt: skip
_ALL = 100
"""Shared out: "eighty twenty"."""
_FINEST = 16
_DIVISORS = (18, 20, 24, 25, 32, 36, 40, 48, 50, 60, 64, 80, 96, 100)
"""Beyond sixteenths the denominators of fractions; another one is of so many: "27/37"."""
_EVEN = (20, 50)
"""Said twice: "fifty fifty"."""


def _mixed(match: re.Match[str]) -> str:
    whole, top, bottom = int(match[1]), int(match[2]), int(match[3])
    return _whole_and(whole, top, bottom)


def _joined_mixed(match: re.Match[str]) -> str:
    """ "1-1/2"."""
    whole, top, bottom = (int(group) for group in match.groups() if group)
    return _whole_and(whole, top, bottom)


def _whole_and(whole: int, top: int, bottom: int) -> str:
    part = fraction(top, bottom)
    if top == 1:
        part = f"a {part.removeprefix('one ')}"
    return f"{cardinal(whole)} and {part}"


def _vulgar(match: re.Match[str]) -> str:
    top, bottom = _VULGAR[match["part"]]
    if not match["whole"]:
        return fraction(top, bottom)
    return _whole_and(int(match["whole"].replace(",", "")), top, bottom)


def _fraction(match: re.Match[str]) -> str | None:
    top, bottom = int(match[1]), int(match[2])
    if top == bottom:
        between = " " if top in _EVEN else " out of "
        return f"{cardinal(top)}{between}{cardinal(bottom)}"
    if top + bottom == _ALL and top % 5 == 0:
        return f"{cardinal(top)} {cardinal(bottom)}"
    if bottom == _ALL and 10 <= top < bottom:
        return f"{cardinal(top)} out of {cardinal(bottom)}"
    if 1 < top < bottom <= _ALL and bottom > _FINEST and bottom not in _DIVISORS:
        return f"{cardinal(top)} out of {cardinal(bottom)}"
    if 10 <= top < bottom and bottom > _ALL and bottom % 10 == 0:
        return f"{cardinal(top)} out of {cardinal(bottom)}"
    if bottom < 2 or bottom > 100 or top >= bottom:
        return f"{cardinal(top)} over {cardinal(bottom)}"
    before_unit = match.string[match.end() : match.end() + 1] == "-"
    spoken = fraction(top, bottom)
    return spoken.removesuffix("s") if before_unit and bottom != 2 else spoken


def _parts_of(match: re.Match[str]) -> str | None:
    """What ends as an ordinal: "2/3rds", "1/10th"."""
    top, bottom = int(match[1]), int(match[2])
    return fraction(top, bottom) if bottom > 1 else None


def _out_of(match: re.Match[str]) -> str:
    return f"{number(match[1])} out of {number(match[2])}"


_STEPS = (
    "step|slide|page|part|test|day|retry|attempt|try|round|stage|question|chapter|episode|lesson|item|batch|"
    "epoch|chunk"
)
"""Of which one is so many of so many."""
RULES: tuple[Rule, ...] = (
    rule(r"(?<![\w./])(?<!\d,)(\d{1,15})\s(\d{1,2})/(\d{1,3})(?![\w/]|\.\d)", _mixed),
    rule(
        r"(?<![\w./-])(\d{1,3})-(?:(1)/(2)|([13])/(4)|([12])/(3)|([1357])/(8))(?![\w/]|\.\d)", _joined_mixed
    ),
    rule(rf"(?<=[{''.join(_VULGAR)}])\s?[-–—]\s?(?=[\d{''.join(_VULGAR)}])", " to "),
    rule(
        r"\b(?:[Uu]nit|[Ff]lat|[Ll]ot|[Aa]partment|[Aa]pt\.?)\s(?P<say>(\d{1,4})/(\d{1,4}))(?=,?\s[A-Z]|,\s\d)",
        lambda match: f"{number(match[2])}, {number(match[3])}",
    ),
    rule(
        r"(?<![\w./])(\d{1,4})/(\d{1,4})(?=\s(?:[A-Z][a-z]{2,20}\s){1,2}(?:St|Ave|Rd|Blvd|Dr|Ln|Street|Avenue|Road)\b)",
        lambda match: f"{number(match[1])}, {number(match[2])}",
    ),
    rule(
        r"\A\((?P<say>(\d{1,2})/(\d{1,2}))\)(?=\s+[A-Z])",
        lambda match: f"{number(match[2])} of {number(match[3])}",
    ),
    rule(
        rf"(?:(?:(?<![\w.,/$€£¥])|(?<=[A-Za-z]/))(?P<whole>\d{{1,3}}(?:,\d{{3}}){{1,4}}|\d{{1,15}})\s?)?(?P<part>[{''.join(_VULGAR)}])",
        _vulgar,
    ),
    rule(
        r"\b(?:(?:[HMX]P):?|SAT|[Rr]ated|[Ss]core[ds]?:?|[Gg]ot|[Rr]ating(?: of)?:?|solid|"
        r"[Gg]rade|[Ss]trength|[Pp]ain:?|A(?:PGAR|pgar)|"
        r"[Gg](?:ives?|ave|iving) (?:it|this|them)(?: an?)?)"
        r"\s(?P<say>(\d+(?:\.\d+)?)/(\d+))(?![\w/]|\sof\b)",
        lambda match: f"{number(match[2])} out of {number(match[3])}",
    ),
    rule(
        rf"\b(?i:{_STEPS})\s(?P<say>(\d{{1,3}})/(\d{{1,3}}))(?![\w/]|\.\d)",
        lambda match: f"{number(match[2])} of {number(match[3])}",
    ),
    rule(
        r"(?<![\w./])(?P<say>(\d{1,2})/(10))(?=[.,!?;)]|\s*$|\s(?:stars?|would|and|but|for|people|[a-z]{3,}(?<!mile)(?<!meter)(?<!point)(?<!second)s)\b)(?!\.\d)",
        lambda match: f"{number(match[2])} out of {number(match[3])}",
    ),
    rule(
        r"(?<![\w./])(\d{1,2})/(2|4|8|16)(?=\stime\b)", lambda match: f"{number(match[1])} {number(match[2])}"
    ),
    rule(r"\b(?:Windows|Android|iOS|macOS|iPhone|Win)\s?\d{1,2}(?P<say>/)(?=\d{1,2}(?!\d))", ", "),
    rule(
        r"(?<![\w./])(\d{1,3})/(\d|10)(?=\s\(\d{1,3}(?:\.\d)?\s(?:ov|overs)\b"
        r"|\s(?:dec(?:lared|\.)?|at (?:stumps|lunch|tea)|(?:in|off|from|after) \d{1,3}(?:\.\d)? overs)\b)",
        lambda match: f"{number(match[1])} for {number(match[2])}",
    ),
    rule(r"(?<![\w./])(\d{1,2})/(\d{1,3})(?:st|nd|rd|th)s?\b", _parts_of),
    rule(
        r"\b(?:an?|easy)\s(?P<say>([2-9])/(10))(?![\w/-]|\.\d|\s(?:of|inch|mile|chance|scale|share|split)\b)",
        lambda match: f"{number(match[2])} out of {number(match[3])}",
    ),
    rule(
        r"(?<![\w./])(\d{1,3})/(\d{1,3}\.\d{1,3})(?![\w/]|\.\d)",
        lambda match: f"{number(match[1])} over {number(match[2])}",
    ),
    rule(r"(?<![\w./])(\d+\.\d+)/(\d+(?:\.\d+)?)(?![\w/]|\.\d)", _out_of),
    rule(r"(?<![\w./,])(\d{1,3}(?:,\d{3})+)/(\d{1,3}(?:,\d{3})+)(?![\w/]|[.,]\d)", _out_of),
    rule(r"(?<![\w./])(?<!\d,)(\d{1,3})\s?[/⁄]\s?(\d{1,3})(?![\w/]|\.\d|,\d{3}|\s?=)", _fraction),
)
