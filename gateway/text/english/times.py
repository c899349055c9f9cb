"""Times of the day, with their zones, and laps."""

from __future__ import annotations

import re
from functools import lru_cache

from gateway.text.english.numbers import cardinal, digits, pair
from gateway.text.rules import Rule, rule


def _offset(match: re.Match[str]) -> str:
    """Of a time, from Greenwich."""
    minutes = int(match["minutes"])
    hours = f" {'plus' if match['sign'] == '+' else 'minus'} {cardinal(int(match['hours']))}"
    if not minutes and not int(match["hours"]):
        return ", U T C"
    return f", U T C{hours}" + (f" {cardinal(minutes)}" if minutes else "")


def _time(match: re.Match[str]) -> str | None:
    hour, minute, second = int(match["hour"]), int(match["minute"]), match["second"]
    half = f" {match['half'].lower()} m" if match["half"] else ""
    if second:
        part = match.groupdict().get("part")
        seconds = cardinal(int(second)) + (f" point {digits(part)}" if part else "")
        seconds += " second" if second == "01" and not part else " seconds"
        said = pair(minute) if minute else "hour" if hour == 1 else "hours"
        return f"{cardinal(hour)} {said} and {seconds}{half}"
    if minute:
        return f"{cardinal(hour)} {pair(minute)}{half}"
    if half:
        return cardinal(hour) + half
    return (
        f"{cardinal(hour)} o'clock" if 0 < hour <= 12 else f"{cardinal(hour)} hundred" if hour else "midnight"
    )


def _clock(match: re.Match[str]) -> str:
    """Of a day of twenty-four hours without a colon, "0930 hrs"."""
    return f"{_clock_of(match['clock'])} hours"


def _clock_of(figures: str) -> str:
    hour, minute = figures[:2], int(figures[2:])
    hours = pair(int(hour)) if hour != "00" else "zero"
    return f"{hours} {pair(minute) if minute else 'hundred'}"


def _opening(match: re.Match[str]) -> str | None:
    """From when to when, "0800-1730"."""
    first, last = match["first"], match["last"]
    if last == "0000":
        return f"{_clock_of(first)} to midnight"
    return f"{_clock_of(first)} to {_clock_of(last)}" if first < last else None


def _ago(match: re.Match[str]) -> str:
    return (
        f"{cardinal(int(match['amount']))} {_PERIODS[match['unit']]}{'' if match['amount'] == '1' else 's'}"
    )


def _lap(match: re.Match[str]) -> str:
    seconds = pair(int(match[2])) if int(match[2]) else "zero"
    return f"{cardinal(int(match[1]))} {seconds} point {digits(match[3])}"


def _race(match: re.Match[str]) -> str | None:
    """Minutes and seconds, more than a day has hours: "in 31:42". "60:40" is a ratio."""
    minutes, seconds = int(match["m"]), int(match["s"])
    if minutes + seconds == _ALL:
        return None
    return f"{cardinal(minutes)} {pair(seconds) if seconds else 'minutes'}"


def _minute(match: re.Match[str]) -> str:
    """Of a match, in time added on: "45+2'"."""
    return f"{cardinal(int(match[1]))} plus {cardinal(int(match[2]))} minutes"


@lru_cache(maxsize=8)
def _tells_a_game(sentence: str) -> bool:
    return _GAME.search(sentence) is not None


def _open(match: re.Match[str]) -> str:
    """ "8:30a–6p"."""
    first, last = (
        cardinal(int(match[hour])) + (f" {pair(int(match[minute]))}" if match[minute] else "")
        for hour, minute in (("h1", "m1"), ("h2", "m2"))
    )
    return f"{first} a m to {last} p m"


def _hour(match: re.Match[str]) -> str:
    return f"{cardinal(int(match['hour']))} {match['half'].lower()} m"


_ZONE_NAMES = "EST EDT CST CDT MST MDT PST PDT UTC GMT BST CET CEST IST JST AEST AEDT HKT SGT"
_ZONES = {name: " ".join(name) for name in _ZONE_NAMES.split()}
_SHORT_ZONES = {name: " ".join(name) for name in ("ET", "CT", "MT", "PT")}
"""Which mean other things as well, and follow a time alone."""
_ZONE = "|".join((*_ZONES, *_SHORT_ZONES))
_HALF = rf"(?:\s?(?P<half>[AaPp])\.?[Mm](?:\.(?=\s+[a-z@&+]|\s*[,;:)–—-]|\s(?:{_ZONE})\b)|\b))"
_PERIODS = {"m": "minute", "h": "hour", "d": "day", "w": "week", "mo": "month", "y": "year"}
_ALL = 100
_HOURS = r"(?P<h{0}>1[0-2]|[1-9])(?::(?P<m{0}>[0-5]\d))?"
_DOTTED = r"(?P<say>(?P<hour>[01]?\d|2[0-4])\.(?P<minute>[0-5]\d)(?P<second>)(?P<half>))"
""" "17.32", where something tells that it is no decimal."""
_GOES = (
    r"\b(?:dep\.|arr\.|[Dd]epart(?:s|ed|ing)?|(?:[Aa]rriv|[Ll]eav)(?:es?|ed|ing)(?=:| at)|[Kk]ick-?off"
    r"|[Dd]oors(?: open)?|[Oo]pen)(?::| daily)?(?: at| from)?\s"
)
_GOES_ON = r"(?=\s?(?:[,.;:)!?–-]|$)|\s(?:and|from|to|in|on|until|till|via|daily|sharp|every)\b)(?![.,]\d)"
"""Behind a time, and not behind an amount."""
_GAME = re.compile(
    r"\d\+\d{1,2}['’′]|['’′]\s\(?(?:pen|og)\b|\b(?:scor(?:ed|ers?)|hat-?trick|booked|sent off)\b"
)
"""A match, in which goals are scored at so many minutes."""
_RUN = "[Ii]n|[Aa]t|[Oo]f|[Rr]an|[Rr]un|[Cc]locked|[Tt]imes?:?|PB:?|[Ff]inish(?:ed|ing|es)?|[Rr]ecord:?"
_AT = "[Aa]t|[Bb]y|[Ff]rom|[Uu]ntil|[Tt]ill|[Bb]efore|[Aa]fter|[Tt]o|[Aa]round"
RULES: tuple[Rule, ...] = (
    rule(
        r"T\d\d:\d\d(?::\d\d)?(?P<say>(?P<sign>[+−-])(?P<hours>\d\d):?(?P<minutes>\d\d))(?!\d)",
        _offset,
    ),
    rule(
        r"(?<![\w:.])\d?\d:\d\d(?::\d\d)?(?P<say>(?P<sign>\+)(?P<hours>[01]\d):?(?P<minutes>[0-5]\d))(?![\d:])",
        _offset,
    ),
    rule(
        r"\d\d:\d\d:\d\d(?P<say>\s(?P<sign>[+−-])(?P<hours>[01]\d)(?P<minutes>[0-5]\d))(?![\d:])",
        _offset,
    ),
    rule(r"\b(?P<say>dep\.?)(?=\s\d{1,2}[:.]?\d\d\b)", "departs"),
    rule(r"\b(?P<say>arr\.?)(?=\s\d{1,2}[:.]?\d\d\b)", "arrives"),
    rule(
        r"\b(?:dep|arr)\.?\s(?P<clock>(?P<say>(?:[01]\d|2[0-3])[0-5]\d))(?![\w-]|[.,]\d)",
        lambda match: _clock_of(match["clock"]),
    ),
    rule(rf"(?<![\w.:/-]){_HOURS.format(1)}a\s?[-–]\s?{_HOURS.format(2)}p\b", _open),
    rule(r"(?<![\w.])(\d{1,3})\+(\d{1,2})['’′](?!\w)", _minute),
    rule(
        r"(?<![\w.'’])(\d{1,3})['’′](?=[,;)]|\s(?:pen|og)\b|\s\((?:pen|og)\b)",
        lambda match: f"{cardinal(int(match[1]))} minutes" if _tells_a_game(match.string) else None,
    ),
    rule(rf"\b(?:{_RUN})\s(?P<say>(?P<m>2[5-9]|[3-9]\d):(?P<s>[0-5]\d))(?![\d:]|\.\d)", _race),
    rule(r"\b(?:[Nn]oon|[Mm]idnight)(?P<say>\s?[-–—]\s?)(?=\d)", " to "),
    rule(
        r"(?<![\w.,:/-])(?<!ISSN )(?<!ISSN: )(?P<first>0\d[0-5]\d)\s?[-–—]\s?"
        r"(?P<last>(?:[01]\d|2[0-3])[0-5]\d|2400)(?![\w-]|[.,]\d)",
        _opening,
    ),
    rule(r"(?<![\w.,$€£])(?P<say>(?P<amount>\d{1,3})(?P<unit>mo|[mhdwy])) ago\b", _ago),
    rule(r"(?<![\w:.])(\d{1,2}):(\d\d)\.(\d{1,3})(?![\w:])", _lap),
    rule(
        r"\b(?:GMT|UTC)\s?[+−-]\s?(?P<say>0?(?P<h>\d{1,2}):00)(?!\d)", lambda match: cardinal(int(match["h"]))
    ),
    rule(
        r"(?:(?<![\w:.])|(?<=\dT)|(?<=/\d{4}:))(?P<hour>[01]?\d|2[0-4]):(?P<minute>[0-5]\d)"
        r"(?::(?P<second>[0-5]\d)(?:[.,](?P<part>\d{3,6})(?!\d))?)?"
        rf"(?!\d|:\d){_HALF}?(?:Z(?!\w))?",
        _time,
    ),
    rule(rf"(?<![\w:.,$€£])(?P<hour>0?[1-9]|1[0-2])\.(?P<minute>[0-5]\d)(?P<second>){_HALF}", _time),
    rule(rf"(?<![\w.,:$€£]){_DOTTED}(?=\s?(?:(?:[-–]|bis\s|und\s)\s?\d{{1,2}}[.:]\d\d\s?)?Uhr\b)", _time),
    rule(
        r"(?<=\d:\d\d)\s?(?P<half>[ap])(?=[\s,;)]|\.?$|\.\s[A-Z])(?!\sm\b)(?!(?<=\sa)\s[^-–])",
        lambda match: f" {match['half']} m",
    ),
    rule(
        r"(?<![\w.,:/-])(?P<clock>(?:[01]\d|2[0-3])[0-5]\d)Z\b",
        lambda match: f"{_clock_of(match['clock'])} Zulu",
    ),
    rule(rf"{_GOES}{_DOTTED}{_GOES_ON}", _time),
    rule(rf"{_GOES}\d{{1,2}}\.\d\d\s?(?:to\s|until\s|till\s|[-–])\s?{_DOTTED}{_GOES_ON}", _time),
    rule(rf"(?<![\w:.$€£])(?P<hour>0?[1-9]|1[0-2]){_HALF}", _hour),
    rule(r"(?<=\d )([AaPp])\.?[Mm]\b", lambda match: f"{match[1].lower()} m"),
    rule(rf"(?<=[\dmM.] )(?P<say>{'|'.join(_ZONES)})\b", lambda match: _ZONES[match["say"]]),
    rule(
        r"(?:(?<=\d[apAP][mM] )|(?<=[apAP]\.[mM]\. )|(?<=\d [apAP][mM] )|(?<=:\d\d )|(?<=\d[ap] ))"
        rf"(?P<say>{'|'.join(_SHORT_ZONES)})\b",
        lambda match: _SHORT_ZONES[match["say"]],
    ),
    rule(r"(?:(?<=\b[A-Z][SD]T)|(?<=[mM.] [ECMP]T))\s?/\s?(?=\d)", ", "),
    rule(r"(?<![\w.,:/-])(?P<say>(?P<clock>0\d[0-5]\d)\s?(?:hrs|hours)\b)", _clock),
    rule(
        r"(?<![\w.,:/$€£-])(?P<clock>(?:[01]\d|2[0-3])[0-5]\d)(?=\s(?:local time|GMT|UTC|Zulu)\b)",
        lambda match: _clock_of(match["clock"]),
    ),
    rule(rf"\b(?:{_AT})\s(?P<say>(?P<clock>(?:1\d|2[0-3])[0-5]\d)\s?(?:hrs|hours)\b)", _clock),
    rule(r"(?<![\w/])24/7/365(?![\w/])", "twenty-four seven, three sixty-five"),
    rule(r"(?<![\w/])24/7(?![\w/])", "twenty-four seven"),
    rule(r"(?<![\w/])9/11(?![\w/])", "nine eleven"),
    rule(r"(?<![\w.,/-])50[-–]50(?![\w/%-]|[.,]\d)", "fifty fifty"),
    rule(r"(?<![\w.,/-])20[-–/]20(?=\s(?:vision|hindsight)\b)", "twenty twenty"),
    rule(r"(?<![\w.,/-])1[-–]2(?=\spunch\b)", "one two"),
    rule(r"(?<=[apAP]\.[mM]\.)\s?[-–—]\s?(?=\d)", " to "),
)
