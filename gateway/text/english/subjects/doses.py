"""What doctors write: doses and how often, sight, counts of cells."""

from __future__ import annotations

import re

from gateway.text.english.measures.units import UNITS
from gateway.text.english.numbers import cardinal, number
from gateway.text.rules import Rule, rule

_PERIODS = r"(?:days?|weeks?|wks?|hours?|hrs?|months?)"
_SIGHT = re.compile(r"vision|visual|acuity|\beyes?\b|\bO[DSU]\b")
_SOMEBODY = r"(?:the|my|our|his|her|their|your|mr|mrs|ms|dr|reception|general)\b"
"""In whose care a letter is."""
_NEAR = 60
"""Characters in which it is told that somebody sees."""


def _every(match: re.Match[str]) -> str:
    """ "q8h", "q4-6h", "q30min"."""
    last = f" to {cardinal(int(match['last']))}" if match["last"] else ""
    unit = "minutes" if match["unit"] == "min" else "hours"
    return f"every {cardinal(int(match['first']))}{last} {unit}"


def _sight(match: re.Match[str]) -> str | None:
    around = match.string[max(0, match.start() - _NEAR) : match.end() + _NEAR]
    return f"twenty {cardinal(int(match[1]))}" if _SIGHT.search(around) else None


def _per(match: re.Match[str]) -> str:
    return f" per {UNITS[match['per']]}"


def _days(match: re.Match[str]) -> str:
    days = int(match["days"])
    return f" for {cardinal(days)} day{'' if days == 1 else 's'}"


RULES: tuple[Rule, ...] = (
    rule(
        r"(?<![\w.-])q(?P<first>[1-9]\d?)(?:\s?[-–]\s?(?P<last>[1-9]\d?))?\s?(?P<unit>h(?:rs?)?|min)\b",
        _every,
    ),
    rule(rf"\bc/o(?=\s(?:(?!{_SOMEBODY})[a-z]{{3,}}|SOB|CP|HA)\b)", "complaining of"),
    rule(r"(?:(?<=[A-Z]{2})|(?<=\bRh)|(?<=\b[A-Z]\d))\s?\(\+\)", " positive"),
    rule(r"(?:(?<=[A-Z]{2})|(?<=\bRh)|(?<=\b[A-Z]\d))\s?\([-−–]\)", " negative"),
    rule(r"\bCA[ -]?(\d{2})-(\d)\b", lambda match: f"CA {cardinal(int(match[1]))} {cardinal(int(match[2]))}"),
    rule(r"(?<=[A-Za-z.)])\sx\s?(?P<days>\d{1,2})d\b", _days),
    rule(rf"(?<=[A-Za-z.)])\sx\s?(?=\d{{1,3}}\s{_PERIODS}\b)", " for "),
    rule(
        r"(?<=[a-z])/(?P<per>24|12|48)\s?h(?:rs?)?\b",
        lambda match: f" per {cardinal(int(match['per']))} hours",
    ),
    rule(r"(?<![\w./])20/(1[05]|[2-9][05]|[1-4]00)(?![\w/%]|[.,]\d)", _sight),
    rule(
        r"\bINR\b(?: of| is| was)?:?\s(?P<say>\d\.\d)(?!\d|\s?(?:lakh|crore|[mb]illion|[kKmMbB]))",
        lambda match: number(match["say"]),
    ),
    rule(r"(?<=\d)\s?[x×]\s?(?=10(?:\^|[⁻⁰¹²³⁴-⁹]))", " times "),
    rule(
        r"(?:(?<=10\^\d)|(?<=10\^\d\d)|(?<=10[⁰¹²³⁴-⁹])|(?<=10[⁰¹²³⁴-⁹]{2}))/(?P<per>µL|μL|mL|dL|L)(?!\w)",
        _per,
    ),
)
