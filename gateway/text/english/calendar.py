"""Dates, times and years. Of two readings of "3/4/2025" the American one is taken, unless it is none."""

from __future__ import annotations

import re

from gateway.text.english.numbers import cardinal, digits, ordinal, pair, plural, year
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


def _offset(match: re.Match[str]) -> str:
    """Of a time, from Greenwich."""
    minutes = int(match["minutes"])
    hours = f" {'plus' if match['sign'] == '+' else 'minus'} {cardinal(int(match['hours']))}"
    return f", U T C{hours}" + (f" {cardinal(minutes)}" if minutes else "")


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
    return f"{_SHORT[match['from']]} to {_SHORT[match['until']]}{years}"


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


def _decade(match: re.Match[str]) -> str:
    century, tens = match["century"], int(match["tens"])
    name = plural(cardinal(tens))
    name = f"{name[:-2]}ies" if name.endswith("ys") else name
    if not tens:
        name = "hundreds" if century and century != "20" else "two thousands"
    return f"{cardinal(int(century))} {name}" if century and name != "two thousands" else name


def _time(match: re.Match[str]) -> str | None:
    hour, minute, second = int(match["hour"]), int(match["minute"]), match["second"]
    half = f" {match['half'].lower()} m" if match["half"] else ""
    if second:
        return (
            f"{cardinal(hour)} {pair(minute) if minute else 'zero'} and {cardinal(int(second))} seconds{half}"
        )
    if minute:
        return f"{cardinal(hour)} {pair(minute)}{half}"
    if half:
        return cardinal(hour) + half
    return (
        f"{cardinal(hour)} o'clock" if 0 < hour <= 12 else f"{cardinal(hour)} hundred" if hour else "midnight"
    )


def _lap(match: re.Match[str]) -> str:
    seconds = pair(int(match[2])) if int(match[2]) else "zero"
    return f"{cardinal(int(match[1]))} {seconds} point {digits(match[3])}"


def _hour(match: re.Match[str]) -> str:
    return f"{cardinal(int(match['hour']))} {match['half'].lower()} m"


def _year(match: re.Match[str]) -> str:
    return year(int(match["say"]))


def _short_range(match: re.Match[str]) -> str:
    return f"{year(int(match[1]))} to {pair(int(match[2]))}"


def _year_range(match: re.Match[str]) -> str | None:
    first, last = int(match[1]), int(match[2])
    return f"{year(first)} to {year(last)}" if first < last else None


_HALF = r"(?:\s?(?P<half>[AaPp])\.?[Mm](?:\.(?=\s+[a-z]|\s*[,;:)–—-])|\b))"
_COUNTED = (
    r"(?!\s+(?:people|units|men|women|children|users|words|more|other|of|in)\b|\s+\w+s\b)"
    r"(?![,.]\d|%|-\d|\s?[$€£]|\s?k[mg]\b)"
)
"""What follows a number of things, and no year."""
_TIME_WORDS = (
    r"[Ii]n|[Ss]ince|[Dd]uring|[Uu]ntil|[Tt]ill|[Yy]ear|[Cc]irca|[Cc]a\.|\bc\.|©|\([Cc]\)|[Cc]opyright"
)
_PERHAPS_TIME = (
    "[Bb]y|[Oo]f|[Ff]rom|[Tt]o|[Bb]efore|[Aa]fter|[Bb]ack in|[Aa]nd|[Bb]etween|[Aa]round|[Ss]pring|[Ss]ummer|"
    "[Aa]utumn|[Ff]all|[Ww]inter"
)
_BEFORE_DECADE = "[Tt]he|[Ii]n|[Hh]is|[Hh]er|[Ee]arly|[Ll]ate|[Mm]id"
_WEEKDAY = "|".join(sorted(_WEEKDAYS, key=len, reverse=True))
_ABBREVIATED = "|".join(sorted(_SHORT, key=len, reverse=True))
"""Names of months."""
_CENTURIES = r"(?:1\d|20)\d\d"
_ZONES = {"EST": "E S T", "PST": "P S T", "UTC": "U T C", "GMT": "G M T", "CET": "C E T", "EDT": "E D T"}
RULES: tuple[Rule, ...] = (
    rule(r"(?<![\w-])(?P<y>[12]\d{3})-(?P<m>\d{2})-(?P<d>\d{2})(?![\w-])", _iso),
    rule(r"(?<![\w-])(?P<say>(?P<y>[12]\d{3})-(?P<m>\d{2})-(?P<d>\d{2}))(?=T\d\d:)", _iso),
    rule(r"(?<![\w/])(?P<y>[12]\d{3})/(?P<m>\d{1,2})/(?P<d>\d{1,2})(?![\w/])", _iso),
    rule(r"(?<=\d-\d\d-\d\d)T(?=\d\d:)", "at"),
    rule(r"(?<![\w/])(?P<m>\d{1,2})/(?P<d>\d{1,2})/(?P<y>[12]\d{3}|\d\d)(?![\w/])", _slashed),
    rule(r"(?<![\w/-])(?P<m>\d{1,2})-(?P<d>\d{1,2})-(?P<y>[12]\d{3})(?![\w/-])", _slashed),
    rule(rf"(?<![\w/-]){_DAY}-{_MONTH}-(?P<y>[12]\d{{3}}|\d\d)(?![\w/-])", _hyphened),
    rule(r"(?<![\w.])(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?P<y>[12]\d{3})(?![\w])", _dotted),
    rule(
        r"\b(?:[Oo]n|[Dd]ated|[Dd]ue(?: by| on)?|[Ss]ince|[Uu]ntil)\s"
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
        rf"\b{_MONTH}\s{_DAY}(?:st|nd|rd|th)?(?![\d:.]\d|\d|:)(?:,?\s{_YEAR}\b(?!\s?(?:people|units)))?",
        _month_first,
    ),
    rule(rf"\b(?P<the>[Tt]he\s)?{_DAY}(?:st|nd|rd|th)?\s(?:of\s)?{_MONTH}\b(?:,?\s{_YEAR}\b)?", _day_first),
    rule(
        rf"\b(?=[A-S])(?P<from>{_ABBREVIATED})\.?{_TO}(?P<until>{_ABBREVIATED})\b(?:\.(?=,|:|\s+[a-z\d]))?(?:,?\s{_YEAR}\b)?",
        _months,
    ),
    rule(rf"\b{_MONTH}(?P<comma>,?)\s{_YEAR}\b", _month_and_year),
    rule(r"(?<![\w.])(?P<century>1[1-9]|20)(?P<tens>\d0)['’]?s\b", _decade),
    rule(r"(?P<say>['’](?P<tens>[1-9]0)['’]?s(?P<century>))\b", _decade),
    rule(r"(?<![\w.,$€£-])(?P<say>(?P<tens>[2-9]0)['’]s(?P<century>))\b", _decade),
    rule(r"\b(?:Q[1-4]|H[12]|FY)\s(?P<say>(?:19|20)\d\d)\b(?!,\d|\.\d|%)", _year),
    rule(r"\bFY(?P<say>(?:19|20)\d\d)\b", _year),
    rule(
        rf"\b(?:{_BEFORE_DECADE})[ -](?P<say>(?P<tens>[1-9]0)s(?P<century>))\b",
        _decade,
    ),
    rule(rf"\b(?P<say>(?:{'|'.join(_SHORT)})\b\.?)(?=\s\d)", lambda match: _month_name(match["say"])),
    rule(rf"\b(?P<from>{_WEEKDAY})\.?{_TO}(?P<until>{_WEEKDAY})\b(?:\.(?=,|:|\s+[a-z\d]))?", _weekdays),
    rule(
        rf"\b(?P<say>(?:{_WEEKDAY})\b\.?)(?=,?\s(?:\d|{'|'.join(_SHORT)}))",
        lambda match: _WEEKDAYS[match["say"].rstrip(".")],
    ),
    rule(
        r"T\d\d:\d\d(?::\d\d)?(?P<say>(?P<sign>[+−-])(?P<hours>\d\d):?(?P<minutes>\d\d))(?!\d)",
        _offset,
    ),
    rule(
        r"(?<![\w:.])\d?\d:\d\d(?::\d\d)?(?P<say>(?P<sign>\+)(?P<hours>[01]\d):?(?P<minutes>[0-5]\d))(?![\d:])",
        _offset,
    ),
    rule(r"©\s?(?P<y>(?:19|20)\d\d)\b", lambda match: f"copyright {year(int(match['y']))}"),
    rule(r"(?<![\w:.])(\d{1,2}):(\d\d)\.(\d{1,3})(?![\w:])", _lap),
    rule(
        r"\b(?:GMT|UTC)\s?[+−-]\s?(?P<say>0?(?P<h>\d{1,2}):00)(?!\d)", lambda match: cardinal(int(match["h"]))
    ),
    rule(
        rf"(?:(?<![\w:.])|(?<=\dT))(?P<hour>[01]?\d|2[0-4]):(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d))?"
        rf"(?!\d|:\d){_HALF}?Z?",
        _time,
    ),
    rule(rf"(?<![\w:.,$€£])(?P<hour>0?[1-9]|1[0-2])\.(?P<minute>[0-5]\d)(?P<second>){_HALF}", _time),
    rule(rf"(?<![\w:.$€£])(?P<hour>0?[1-9]|1[0-2]){_HALF}", _hour),
    rule(r"(?<=\d )([AaPp])\.?[Mm]\b", lambda match: f"{match[1].lower()} m"),
    rule(rf"(?<=[\dmM.] )(?P<say>{'|'.join(_ZONES)})\b", lambda match: _ZONES[match["say"]]),
    rule(r"(?<![\w/])24/7/365(?![\w/])", "twenty-four seven, three sixty-five"),
    rule(r"(?<![\w/])24/7(?![\w/])", "twenty-four seven"),
    rule(r"(?<![\w/])9/11(?![\w/])", "nine eleven"),
    rule(r"(?<![\w.,/-])50[-–]50(?![\w/%-]|[.,]\d)", "fifty fifty"),
    rule(r"(?<=[apAP]\.[mM]\.)\s?[-–—]\s?(?=\d)", " to "),
    rule(
        rf"(?:(?<=\()|\b[Yy]ear (?:was|is) )(?P<say>{_CENTURIES})(?=\)|[.,;!?]?(?:\s|$))(?!\s\w+s\b)", _year
    ),
    rule(
        rf"(?<![\w.,$€£/-])({_CENTURIES})/(\d\d)(?=\s(?:season|academic|school|fiscal|financial|tax|winter)\b)",
        _short_range,
    ),
    rule(rf"(?<![\w.,$€£-])({_CENTURIES})\s?[-–—]\s?(\d\d)(?![\w.,-]\w|\w)", _short_range),
    rule(rf"(?<![\w.,$€£-])({_CENTURIES})\s?[-–—]\s?({_CENTURIES})\b(?!,\d|\.\d|\s?[%$€£])", _year_range),
    rule(
        rf"\b(?:{_TIME_WORDS})\s(?P<say>{_CENTURIES})\b(?!,\d|\.\d|%|-\d)",
        _year,
    ),
    rule(
        rf"\b(?:{_PERHAPS_TIME})\s(?P<say>1[5-9]\d\d|20\d\d)\b{_COUNTED}",
        _year,
    ),
    rule(
        r"(?:(?<=[Tt]he )|(?<=[Tt]his )|(?<='s ))(?P<say>(?:1[6-9]|20)\d\d)"
        r"(?=\s(?!people|men|women)[a-z]+[^s\W]\b)",
        _year,
    ),
    rule(r"(?<=[Tt]he )(?P<say>(?:19|20)\d\d)(?=\s[A-Z][a-z])", _year),
    rule(r"(?:^|(?<=[.!?] ))(?P<say>(?:19|20)\d\d)(?=\s(?:was|is|will|has|had|saw|brought)\b)", _year),
    rule(rf"\b(?P<say>{_CENTURIES})(?=\s?(?:BCE?|AD|CE)\b)", _year),
    rule(rf"\b(?:AD|[Bb]orn|d\.|b\.)\s(?P<say>{_CENTURIES})\b", _year),
)
