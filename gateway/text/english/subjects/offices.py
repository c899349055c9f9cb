"""What stands in mails, letters and notices: houses, titles, accounts, codes, when something is expected."""

from __future__ import annotations

import re

from gateway.text.english.numbers import digits, short_code, year
from gateway.text.rules import Rule, rule


def _digits(match: re.Match[str]) -> str:
    return digits(match["say"])


def _code(match: re.Match[str]) -> str:
    return short_code(match["say"])


def _grouped(match: re.Match[str]) -> str:
    return ", ".join(map(digits, re.split("[- ]", match["say"])))


def _ending(match: re.Match[str]) -> str:
    """Of an account whose other figures are hidden."""
    return f"ending in {digits(match['last'])}"


def _regulation(match: re.Match[str]) -> str:
    """ "Regulation (EU) 2016/679", "Directive 95/46/EC"."""
    union = f" {' '.join(match['union'])}" if match["union"] else ""
    return f"{short_code(match['first'])}, {short_code(match['second'])}{union}"


_STREETS = "St|Ave|Rd|Blvd|Dr|Ln|Street|Avenue|Road|Boulevard|Drive|Lane|Way|Place|Court"
_JOBS = (
    "[A-Z]{2,3}\\b|Engineer|Manager|Director|Developer|Analyst|Software|Product|Data|Account|Consultant|Editor|"
    "Vice|Research|Scientist|Designer|Project|Staff|Associate|Counsel"
)
RULES: tuple[Rule, ...] = (
    rule(
        rf"(?<![\w.,$€£/-])(?P<say>[1-9]\d{{3}}(?<!000))(?=\s(?:[NSEW]\.?\s)?(?:[A-Z][a-z]{{2,20}}\s){{1,2}}(?:{_STREETS})\b)",
        _code,
    ),
    rule(r"(?<![\w.,$€£-])(?P<say>[1-9]\d00)(?=\sblock\b)", _code),
    rule(rf"\b(?P<say>Sr\.)(?=\s(?:{_JOBS}))", "Senior"),
    rule(
        r"(?<![\w.])(?P<say>est\.)(?=\s(?:delivery|arrival|time|value|cost|completion|read|wait|at\b|to\b))",
        "estimated",
    ),
    rule(r"\b(?:OTP|[Cc]ode|PIN|[Pp]asscode)(?:\sis)?:?\s(?P<say>\d{3}[- ]\d{3})(?![\d-])", _grouped),
    rule(r"(?<![\w*])(?:\*{2,12}|[xX]{3,12}|[•●]{2,12})-?(?P<last>\d{4})(?![\w*-]|[.,]\d)", _ending),
    rule(
        r"\b(?:Directive|Regulation|Reg\.|Decision)\s(?:\((?:EU|EC|EEC)\)\s)?(?:No\.?\s)?"
        r"(?P<say>(?P<first>\d{2}|\d{4})/(?P<second>\d{1,4})(?:/(?P<union>E[CU]C?))?)(?![\w/])",
        _regulation,
    ),
    rule(r"\bPMID:?\s(?P<say>\d{4,9})\b", _digits),
    rule(
        r"\b(?:pre|post|circa)-(?P<say>1[5-9]\d\d|20\d\d)(?![\w-]|[.,]\d)",
        lambda match: year(int(match["say"])),
    ),
)
