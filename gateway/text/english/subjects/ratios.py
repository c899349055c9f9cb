"""Scales of maps, dilutions and odds, "1:50,000", "dilute 1:10"; elsewhere that is a time."""

from __future__ import annotations

import re

from gateway.text.english.numbers import number
from gateway.text.rules import Rule, rule

_TOLD = r"[Dd]ilut\w{1,5}|[Rr]atios?|[Ss]cale|[Oo]dds|[Mm]ix(?:ed|ing|ture)?|[Gg]eared"
_NAMED = "dilutions?|ratio|scale|mix|mixture|split|odds|solution|leverage|ripoff"


def _to(match: re.Match[str]) -> str:
    return f"{number(match['first'])} to {number(match['last'])}"


_RATIO = r"(?P<say>(?P<first>\d{1,3}):(?P<last>\d{1,4}))(?![\d:]|[.,]\d|\s?[AaPp]\.?[Mm])"
RULES: tuple[Rule, ...] = (
    rule(r"(?<![\w:.,])1:1s\b", "one to ones"),
    rule(r"(?<![\w:.,])(?P<first>\d):(?P<last>\d{1,3}(?:,\d{3}){1,3}|\d{3,9})(?![\d:]|[.,]\d)", _to),
    rule(rf"\b(?:{_TOLD})(?:\s(?:of|is|was|at|to|in))?:?\s{_RATIO}", _to),
    rule(rf"(?<![\w:.,]){_RATIO}(?=[-\s](?:{_NAMED})\b)", _to),
)
