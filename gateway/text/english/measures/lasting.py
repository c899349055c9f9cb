"""How long something lasts: "1h 20m", "3d 4h", "38w4d", "Prep: 15m"."""

from __future__ import annotations

import re

from gateway.text.english.measures.units import plural_unit
from gateway.text.english.numbers import number
from gateway.text.rules import Rule, rule

_UNITS = {"w": "week", "d": "day", "h": "hour", "m": "minute", "s": "second"}
_COOKS = "Prep|Cook|Bake|Chill|Rest|Duration|Runtime|Timeout|Time"


def _lasting(match: re.Match[str], least: int = 2) -> str | None:
    """Of so many units at least: "m" alone is a meter."""
    found = match.groupdict()
    parts = [(found[name], unit) for name, unit in _UNITS.items() if found.get(name)]
    if len(parts) < least:
        return None
    return " ".join(
        f"{number(amount)} {unit if int(amount) == 1 else plural_unit(unit)}" for amount, unit in parts
    )


RULES: tuple[Rule, ...] = (
    rule(
        r"(?<![\w./-])(?=\d{1,3}[wd]\s?\d{1,3}[dhm](?![a-z]))(?:(?P<w>\d{1,3})w\s?)?(?:(?P<d>\d{1,3})d\s?)?"
        r"(?:(?P<h>\d{1,2})h\s?)?(?:(?P<m>\d{1,2})m)?(?![\w'’²³/])",
        _lasting,
    ),
    rule(
        rf"\b(?i:{_COOKS})(?: [Tt]ime)?:\s(?P<say>(?P<m>\d{{1,3}})\s?m)\b",
        lambda match: _lasting(match, 1),
    ),
    rule(
        r"(?<![\w./-])(?P<d>\d{1,3})d(?=\s(?:apart|later|after|before|course|supply)\b|/(?:yr|year|mo|month|wk|week)\b)",
        lambda match: _lasting(match, 1),
    ),
    rule(
        r"(?<![\w./])(?:(?P<h>\d{1,3})\s?h(?:rs?)?\s?)?(?P<m>\d{1,3})\s?m(?:in)?(?:\s?(?P<s>[0-5]?\d)\s?s(?:ec)?)?"
        r"(?![\w'’²³/])",
        _lasting,
    ),
)
