"""What a slash or "per" says between measures: how much in which time, or the same in another unit."""

from __future__ import annotations

import re

from gateway.text.english.measures.units import UNIT, UNIT_END, UNITS, are_alike, plural_unit
from gateway.text.rules import Rule, rule

_PERIODS = {name: UNITS[name] for name in ("yr", "hr", "min", "sec", "mo", "wk", "kg", "lb", "oz", "gal")}
_PERIODS |= {"d": "day", "h": "hour", "bbl": "barrel", "kWh": "kilowatt hour", "GB": "gigabyte"}


def _per(match: re.Match[str]) -> str:
    return f" per {_PERIODS.get(match['per']) or UNITS.get(match['per'], match['per'])}"


def _between(match: re.Match[str]) -> str:
    """Measures of different kinds with spaces between them are a list."""
    if are_alike(match["first"], match["second"]):
        return " or "
    apart = match["say"].startswith(" ") or match["first"] == match["second"]
    return ", " if apart or ("." in match["amount"] and match["amount"] != _SKIN) else " per "


def _unit(match: re.Match[str]) -> str:
    return UNITS[match["unit"]]


_SKIN = "1.73"
"""Square meters, to which a flow of blood is referred; of no other fraction there is so much."""
_TIME = "day|week|wk|month|mo|year|yr|hour|hr|minute|min|second|sec"
_LOADS = "side|batch|portion|cycle|wash|load|tablet|capsule|cup|bottle|lap|use|trip|page|bed|head"
_EACH = f"{_TIME}|person|serving|kg|lb|oz|gal|bbl|night|kWh|GB|user|seat|share|mile|barrel|ounce|piece"
RULES: tuple[Rule, ...] = (
    rule(r"(?<=\d)/mi\b", " per mile"),
    rule(
        r"(?<=\d)\s?/\s?sq\.?\s?(?P<unit>mi|km|ft|m)\b", lambda match: f" per square {UNITS[match['unit']]}"
    ),
    rule(r"(?<=[a-z]\s\d)/s\b|(?<=[a-z]\s\d\d)/s\b", " per second"),
    rule(r"(?<=\d)\s?/\s?ea\b(?:\.(?=[,;:)]|\s+[a-z]))?", " each"),
    rule(r"(?<=\d)\s?y/o\b", " year old"),
    rule(rf"\b[Pp]er\s(?P<say>(?P<unit>(?=[a-zA-Z]{{2}}|[gmL]\b)(?:{UNIT})){UNIT_END})", _unit),
    rule(
        rf"\d\s?(?P<first>{UNIT})(?P<say>\s?/\s?)(?=[-−]?(?P<amount>\d[\d.,]{{0,12}})[½⅓⅔¼¾⅛⅜⅝⅞]?\s?(?P<second>{UNIT})(?![A-Za-z²³]))",
        _between,
    ),
    rule(
        rf"\d\s?(?:{UNIT})\.?(?P<say>\s?/\s?(?P<per>{_TIME}|person|serving|dose|{_LOADS}|[dhsLg]|kg|km|m[lL]|d[lL]|mol|c?m[²³]|mile))(?![\w²³])",
        _per,
    ),
    rule(r"\d\s?m[lL]/min(?P<say>/)(?=1\.73)", " per "),
    rule(rf"\d\s[a-z]{{3,12}}(?P<say>/(?P<per>{_TIME}|person|kg|lb|mL|L|dose))\b", _per),
    rule(r"(?<=\dd)/(?P<per>yr|year|mo|month|wk|week)\b", _per),
    rule(r"[$€£]\d[\d.,]{0,9}(?P<say>\sea\b(?:\.(?=[,;:)]|\s+[a-z]))?)", " each"),
    rule(
        r"(?<=\d)\+\s(?P<unit>yrs?|hrs?|mins?|wks?|lbs)\b", lambda match: f" plus {plural_unit(_unit(match))}"
    ),
    rule(
        r"(?<=\d)\s?(?P<unit>yrs|hrs|mins|wks|mos)(?P<of>['’])(?=\s[a-z])",
        lambda match: f" {plural_unit(_unit(match))}{match['of']}",
    ),
    rule(r"(?<=[a-z]/kg)/(?P<per>hr?|min|d|day|dose)\b", _per),
    rule(r"(?<=\d)/(?=1[MKk]\s\w+s\b)", " per "),
    rule(
        rf"(?:(?<=[\d¢€])|(?<=\d[kKmM])|(?<=\d/user)|(?<=\d/seat))\s?/\s?(?P<per>{_EACH})\b"
        r"(?:(?<=/(?:mo|yr|wk|hr|lb|oz))\.(?=\s[a-z+&]|[,;:)]))?",
        _per,
    ),
)
