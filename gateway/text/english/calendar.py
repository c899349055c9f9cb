"""Dates. Of two readings of "3/4/2025" the American one is taken, unless it is none."""

from __future__ import annotations

import re

from gateway.text.english.numbers import ordinal, pair, year
from gateway.text.rules import Rule, rule

MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September"),
    *("October", "November", "December"),
)
_SHORT = {month[:3]: month for month in MONTHS} | {"Sept": "September"}
_WEEKDAYS = {
    "Mon": "Monday", "Tue": "Tuesday", "Tues": "Tuesday", "Wed": "Wednesday", "Thu": "Thursday",
    "Thur": "Thursday", "Thurs": "Thursday", "Fri": "Friday", "Sat": "Saturday", "Sun": "Sunday",
}  # fmt: skip
_MONTH = rf"(?P<month>{'|'.join(MONTHS)}|(?:{'|'.join(sorted(_SHORT, key=len, reverse=True))})\b\.?)"
_MONTH_ENDS = r"(?:\b|(?<=\.)(?=[,;:)]|\s+[a-z\d]))"
_DAY = r"(?P<day>[12]\d|3[01]|0?[1-9])"
_TO = r"\s?[-–—]\s?"
_YEAR = r"(?P<year>[12]\d{3})"


def _month_name(written: str) -> str:
    return _SHORT.get(written.rstrip("."), written)


def _spoken_date(month: int, day: int, years: str) -> str | None:
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return None
    spoken = f"{MONTHS[month - 1]} {ordinal(day)}"
    if not years:
        return spoken
    return f"{spoken}, {year(int(years)) if len(years) == 4 else pair(int(years))}"


def _iso(match: re.Match[str]) -> str | None:
    return _spoken_date(int(match["m"]), int(match["d"]), match["y"])


def _slashed(match: re.Match[str]) -> str | None:
    month, day = int(match["m"]), int(match["d"])
    if month > 12:
        month, day = day, month
    return _spoken_date(month, day, match["y"] or "")


def _dotted(match: re.Match[str]) -> str | None:
    return _spoken_date(int(match["m"]), int(match["d"]), match["y"])


def _month_first(match: re.Match[str]) -> str:
    day = ordinal(int(match["day"]))
    years = f", {year(int(match['year']))}" if match["year"] else ""
    return f"{_month_name(match['month'])} {day}{years}"


def _hyphened(match: re.Match[str]) -> str | None:
    return _spoken_date(MONTHS.index(_month_name(match["month"])) + 1, int(match["day"]), match["y"])


def _days_of_month(match: re.Match[str]) -> str | None:
    first, last = int(match["first"]), int(match["day"])
    years = f"{',' if match['comma'] else ''} {year(int(match['year']))}" if match["year"] else ""
    month = _month_name(match["month"])
    if first >= last:
        return None
    if match.start("month") < match.start("first"):
        return f"{month} {ordinal(first)} to {ordinal(last)}{years}"
    return f"the {ordinal(first)} to the {ordinal(last)} of {month}{years}"


def _weekdays(match: re.Match[str]) -> str:
    return f"{_WEEKDAYS[match['from']]} to {_WEEKDAYS[match['until']]}"


def _months(match: re.Match[str]) -> str:
    years = f" {year(int(match['year']))}" if match["year"] else ""
    return f"{_month_name(match['from'])} to {_month_name(match['until'])}{years}"


def _month_of_century(match: re.Match[str]) -> str:
    return f"{_month_name(match['month'])} {pair(int(match['years']))}"


def _days_slashed(match: re.Match[str]) -> str | None:
    """ "10/28–31"."""
    if int(match["d"]) >= int(match["last"]):
        return None
    return f"{_spoken_date(int(match['m']), int(match['d']), '')} to {ordinal(int(match['last']))}"


def _from_to(match: re.Match[str]) -> str:
    """ "12/24–1/2"."""
    first = _spoken_date(int(match["m"]), int(match["d"]), "")
    return f"{first} to {_spoken_date(int(match['m2']), int(match['d2']), '')}"


def _from_to_later(match: re.Match[str]) -> str | None:
    """ "9/9–10/2", where the first is no fraction of one and the second comes later."""
    month, day, month2, day2 = (int(match[name]) for name in ("m", "d", "m2", "d2"))
    return _from_to(match) if month >= day and (month, day) < (month2, day2) else None


def _day_first(match: re.Match[str]) -> str:
    years = f" {year(int(match['year']))}" if match["year"] else ""
    of = (
        f"the {ordinal(int(match['day']))} of"
        if not match["the"]
        else f"{match['the']}{ordinal(int(match['day']))} of"
    )
    return f"{of} {_month_name(match['month'])}{years}"


def _month_and_year(match: re.Match[str]) -> str:
    return f"{_month_name(match['month'])}{match['comma']} {year(int(match['year']))}"


_WEEKDAY = "|".join(sorted(_WEEKDAYS, key=len, reverse=True))
_SHOUTED = _WEEKDAY.upper()
_NAMED = "|".join((*MONTHS, *sorted(_SHORT, key=len, reverse=True)))
"""Months."""
RULES: tuple[Rule, ...] = (
    rule(r"(?<![\w-])(?P<y>[12]\d{3})-(?P<m>\d{2})-(?P<d>\d{2})(?![\w-])", _iso),
    rule(r"(?<![\w-])(?P<say>(?P<y>[12]\d{3})-(?P<m>\d{2})-(?P<d>\d{2}))(?=T\d\d:)", _iso),
    rule(r"(?<![\w/])(?P<y>[12]\d{3})/(?P<m>\d{1,2})/(?P<d>\d{1,2})(?![\w/])", _iso),
    rule(r"(?<=\d-\d\d-\d\d)T(?=\d\d:)", "at"),
    rule(r"(?<![\w/])(?P<m>\d{1,2})/(?P<d>\d{1,2})/(?P<y>[12]\d{3}|\d\d)(?![\w/])", _slashed),
    rule(r"(?<![\w/-])(?P<m>\d{1,2})-(?P<d>\d{1,2})-(?P<y>[12]\d{3})(?![\w/-])", _slashed),
    rule(rf"(?<![\w/-]){_DAY}-{_MONTH}-(?P<y>[12]\d{{3}}|\d\d)(?![\w/-])", _hyphened),
    rule(
        rf"(?<!\w){_DAY}/{_MONTH}/(?P<y>[12]\d{{3}}):(?=\d\d:\d\d:\d\d)",
        lambda match: f"{_hyphened(match)} at ",
    ),
    rule(r"(?<![\w.])(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?P<y>[12]\d{3})(?![\w])", _dotted),
    rule(
        r"\b(?:[Oo]n|[Dd]ated|[Dd]ue(?: by| on)?|EO[DW]|COB|RSVP(?: by)?|[Ss]ince|[Uu]ntil|[Ee]nd(?:s|ing)|"
        r"[Ss]hip(?:s|ped|ping)|[Ss]tart(?:s|ing)|[Bb]eg(?:ins|inning)|[Oo]pens|[Ee]ffective|[Dd]eadline:?|[Tt]hru|[Aa]vail(?:able|\.))\s"
        r"(?P<say>(?P<m>1[0-2]|0?[1-9])/(?P<d>[12]\d|3[01]|0?[1-9])(?P<y>))(?![\w/])",
        _slashed,
    ),
    rule(
        rf"\b(?:{_WEEKDAY})(?:\b\.?|[a-z]{{0,4}}day),?\s"
        r"(?P<say>(?P<m>1[0-2]|0?[1-9])/(?P<d>[12]\d|3[01]|0?[1-9])(?P<y>))(?![\w/]|\.\d)",
        _slashed,
    ),
    rule(
        r"\b(?:[Bb]y|[Bb]efore|[Aa]fter|[Ff]rom|[Tt]hrough|[Tt]hru|[Tt]ill|[Uu]ntil)\s"
        r"(?P<say>(?P<m>1[0-2])/(?P<d>1[3-57-9]|2\d|3[01])(?P<y>))(?![\w/]|\.\d|\s?[\"”])",
        _slashed,
    ),
    rule(
        r"(?<!ed )(?<!es )\b(?:[Bb]y|[Bb]efore|[Tt]hrough|[Tt]ill|[Uu]ntil)\s"
        r"(?P<say>(?P<m>[2-9])/(?P<d>1[3-57-9]|2\d|3[01])(?P<y>))(?![\w/]|\.\d|\s?[\"”]|\sof\b)",
        _slashed,
    ),
    rule(
        rf"\b{_MONTH}\s(?P<first>\d{{1,2}})(?:st|nd|rd|th)?{_TO}{_DAY}(?:st|nd|rd|th)?"
        rf"(?!\d|[-/.:]\d|\s?[ap]\.?m)(?:(?P<comma>,?)\s{_YEAR}\b)?",
        _days_of_month,
    ),
    rule(
        rf"(?<![\w.,:/-])(?P<first>\d{{1,2}})(?:st|nd|rd|th)?{_TO}{_DAY}(?:st|nd|rd|th)?\s(?:of\s)?{_MONTH}\b"
        rf"(?:(?P<comma>,?)\s{_YEAR}\b)?",
        _days_of_month,
    ),
    rule(
        rf"\b{_MONTH}\s{{1,2}}{_DAY}(?:st|nd|rd|th)?(?![\d:.]\d|\d|:|\s(?:sts?|dc|sc)\b)(?:,?\s{_YEAR}\b(?!\s?(?:people|units)))?",
        _month_first,
    ),
    rule(
        rf"\b(?P<the>[Tt]he\s)?{_DAY}(?:st|nd|rd|th)?\s(?:of\s)?{_MONTH}{_MONTH_ENDS}(?:,?\s{_YEAR}\b)?",
        _day_first,
    ),
    rule(
        rf"\b(?=[A-S])(?P<from>{_NAMED})\.?{_TO}(?P<until>{_NAMED})\b(?:\.(?=[,;:]|\s+[a-z\d]))?(?:,?\s{_YEAR}\b)?",
        _months,
    ),
    rule(rf"\b{_MONTH}(?P<comma>,?)\s{_YEAR}\b", _month_and_year),
    rule(rf"\b{_MONTH}\s['’](?P<years>[0-4]\d|[6-9]\d)(?![\w'’])", _month_of_century),
    rule(r"(?<=\()(?P<m>1[0-2]|0?[1-9])/(?P<d>1[3-57-9]|2\d|3[01])(?P<y>)(?=\))", _slashed),
    rule(
        r"(?<![\w./-])(?P<m>0?[1-9]|1[0-2])/(?P<y>(?:19|20)\d\d)(?![\w/]|[.,]\d)",
        lambda match: f"{MONTHS[int(match['m']) - 1]} {year(int(match['y']))}",
    ),
    rule(
        r"(?<=\()(?P<m>1[0-2]|0?[1-9])/(?P<d>[12]\d|3[01]|0?[1-9])\s?[-–—]\s?"
        r"(?P<m2>1[0-2]|0?[1-9])/(?P<d2>[12]\d|3[01]|0?[1-9])(?=\))",
        _from_to,
    ),
    rule(
        r"(?<![\w./-])(?P<m>1[0-2]|0?[1-9])/(?P<d>[12]\d|3[01]|0?[1-9])(?P<y>)(?=\s@\s\d{1,2}(?::\d\d|\s?[ap]\.?m))",
        _slashed,
    ),
    rule(
        r"(?<![\w./-])(?P<m>1[0-2]|0?[1-9])/(?P<d>1[3-9]|2\d|3[01])(?<!\b[3579]/16)\s?[-–]\s?(?P<last>1[4-9]|2\d|3[01])"
        r"(?![\w/%\"”]|\.\d|\s?(?:in|inch|inches|oz|lbs?|cups?|mm)\b)",
        _days_slashed,
    ),
    rule(r"\bM[-–]F\b(?=,?\s\d)", "Monday to Friday"),
    rule(
        r"(?<![\w./-])(?P<m>1[0-2]|0?[1-9])/(?P<d>1[3-57-9]|2\d|3[01])\s?[-–—]\s?"
        r"(?P<m2>1[0-2]|0?[1-9])/(?P<d2>[12]\d|3[01]|0?[1-9])(?![\w/]|\.\d|\s?[\"”]|\s?(?:in|inch|lb|cups?|miles?)\b)",
        _from_to,
    ),
    rule(
        r"(?<![\w./-])(?P<m>1[0-2]|[1-9])/(?P<d>1[0-2]|[1-9])[-–—](?P<m2>1[0-2]|[1-9])/(?P<d2>[12]\d|3[01]|[1-9])"
        r"(?![\w/]|\.\d|\s?[\"”]|\s?(?:in|inch|lb|cups?|miles?)\b)",
        _from_to_later,
    ),
    rule(rf"\b{_MONTH}\s\d{{1,2}}(?:st|nd|rd|th)?(?:,\s\d{{4}})?(?P<say>{_TO})(?=(?:{_NAMED})\b)", " to "),
    rule(rf"\b\d{{1,2}}\s{_MONTH}(?:\s\d{{4}})?(?P<say>{_TO})(?=\d{{1,2}}\s(?:{_NAMED})\b)", " to "),
    rule(
        r"(?<!\b[Tt]he )(?<![-–—])\b(?P<say>(?:Mon|Tues?|Wed|Thu|Thurs?|Fri|Sat|Sun)\.)"
        r"(?=[,;:/)]|\s(?:[&~]|[a-z]))",
        lambda match: _WEEKDAYS[match["say"].rstrip(".")],
    ),
    rule(
        r"\b(?:on|[Cc]losed|[Oo]pen|[Ee]very|until|till|through|next|[Ll]ast|this)\s(?P<say>(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)s?)"
        r"(?=[.,;:!?)]|$|\s(?:at|and|&|from|to|only|night|morning|afternoon|evening|\d))",
        lambda match: _WEEKDAYS[match["say"].rstrip("s")] + ("s" if match["say"].endswith("s") else ""),
    ),
    rule(rf"\b(?P<say>(?:{'|'.join(_SHORT)})\b\.?)(?=\s\d)", lambda match: _month_name(match["say"])),
    rule(
        rf"\b(?P<from>{_SHOUTED})(?P<to>{_TO}|/)(?P<until>{_SHOUTED})\b",
        lambda match: (
            f"{_WEEKDAYS[match['from'].capitalize()]} {'and' if match['to'] == '/' else 'to'}"
            f" {_WEEKDAYS[match['until'].capitalize()]}"
        ),
    ),
    rule(rf"\b(?P<from>{_WEEKDAY})\.?{_TO}(?P<until>{_WEEKDAY})\b(?:\.(?=[,:;)]|\s+[a-z\d]))?", _weekdays),
    rule(
        rf"\b(?P<say>(?:{_WEEKDAY})\b\.?)(?=,?\s(?:\d|{'|'.join(_SHORT)}))",
        lambda match: _WEEKDAYS[match["say"].rstrip(".")],
    ),
)
