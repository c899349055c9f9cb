"""Years, decades, and from when to when something was."""

from __future__ import annotations

import re

from gateway.text.english.calendar import MONTHS
from gateway.text.english.numbers import cardinal, pair, plural, year
from gateway.text.rules import Rule, rule


def _decade(match: re.Match[str]) -> str:
    century, tens = match["century"], int(match["tens"])
    name = plural(cardinal(tens))
    name = f"{name[:-2]}ies" if name.endswith("ys") else name
    if not tens:
        name = "hundreds" if century and century != "20" else "two thousands"
    return f"{cardinal(int(century))} {name}" if century and name != "two thousands" else name


def _year(match: re.Match[str]) -> str:
    return year(int(match["say"]))


def _year_of_copyright(match: re.Match[str]) -> str | None:
    """ "(c) 1993, 1994"."""
    start = match.start("say")
    return _year(match) if _COPYRIGHT.search(match.string, max(0, start - _NEAR), start) else None


def _of_century(match: re.Match[str]) -> str | None:
    """Without its century, "'09"."""
    value = int(match["say"][-2:])
    return pair(value) if value else None


def _next_year(match: re.Match[str]) -> str | None:
    """ "2020/21"."""
    return _short_range(match) if int(match[2]) == (int(match[1]) + 1) % 100 else None


def _to_decade(match: re.Match[str]) -> str:
    return f" to {plural(cardinal(int(match['tens'])))[:-2]}ies"


def _short_range(match: re.Match[str]) -> str:
    first, last = int(match[1]), int(match[2])
    if "-" in match[0] and 0 < last <= len(MONTHS) and last < first % 100 and first >= _LATELY:
        return f"{MONTHS[last - 1]} {year(first)}"
    return f"{year(first)} to {pair(last) if last else year((first // 100 + 1) * 100)}"


def _year_range(match: re.Match[str]) -> str | None:
    first, last = int(match[1]), int(match[2])
    return f"{year(first)} to {year(last)}" if first < last else None


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
_AFTER_YEAR = "census|estimate|est|data|figures|edition|model|season|version|film|album|song|book|novel"
_OF_DECADE = (
    "music|hits?|style|fashion|movies?|films?|pop|rock|disco|kids?|vibes?|bands?|songs?|show|sitcom|synth|classics?|"
    "nostalgia|party|themed?"
)
_BEFORE_DECADE = "[Tt]he|[Ii]n|[Hh]is|[Hh]er|[Ee]arly|[Ll]ate|[Mm]id"
_NEAR = 200
"""Characters in which a list of years begins."""
_COPYRIGHT = re.compile(r"\([Cc]\)|©|\b[Cc]opyright\b")
_LATELY = 2000
"""Since then "2024-05" is a month."""
_CENTURIES = r"(?:1\d|20)\d\d"
RULES: tuple[Rule, ...] = (
    rule(r"(?<![\w.])(?P<century>1[1-9]|20)(?P<tens>\d0)['’]?s\b", _decade),
    rule(r"(?P<say>['’](?P<tens>[1-9]0)['’]?s(?P<century>))\b", _decade),
    rule(r"(?<![\w.,$€£-])(?P<say>(?P<tens>[2-9]0)['’]s(?P<century>))\b", _decade),
    rule(r"(?<=\d0s)\s?[-–—]\s?(?P<tens>[2-9]0)s\b", _to_decade),
    rule(r"(?<=\d0s)\s?[-–—]\s?(?=(?:1[1-9]|20)\d0s\b)", " to "),
    rule(r"(?<=['’]\d\d)\s?[-–]\s?(?=['’]\d\d\b)", " to "),
    rule(
        r"(?:(?<=\s)|(?<=\()|(?<=\b[QH]\d)|(?<=\d[-–])|^)(?P<say>['’]\d\d)(?![\w'’]|[.,]\d|\s?[\"”])",
        _of_century,
    ),
    rule(rf"(?<![\w.,$€£-])(?P<say>(?P<tens>[2-9]0)s(?P<century>))(?=\s(?:{_OF_DECADE})\b)", _decade),
    rule(r"\b(?:[Tt]he|[Ee]arly|[Mm]id|[Ll]ate)[ -](?P<say>['’]?00s)\b", "two thousands"),
    rule(r"(?<=\b[QH]\d)\s?[-–]\s?(?=[QH]\d\b)", " to "),
    rule(r"\b(?:Q[1-4]|H[12]|FY)\s(?P<say>(?:19|20)\d\d)\b(?!,\d|\.\d|%)", _year),
    rule(r"\bFY(?P<say>(?:19|20)\d\d)\b", _year),
    rule(r"\b[A-Z]{2,20}(?:\s\(|,\s)(?P<say>(?P<tens>[1-9]0)s(?P<century>))(?=[),])", _decade),
    rule(rf"\([Cc]\)\s(?P<say>{_CENTURIES})\b(?!\s?[-–—]\s?\d)", _year),
    rule(r"(?<=(?:19|20)\d\d,\s)(?P<say>(?:19|20)\d\d)\b(?!\s?[-–—]\s?\d|[.,]\d)", _year_of_copyright),
    rule(
        rf"\b(?:{_BEFORE_DECADE})[ -](?P<say>(?P<tens>[1-9]0)s(?P<century>))\b",
        _decade,
    ),
    rule(r"©\s?(?=(?:19|20)\d\d\b)", "copyright "),
    rule(r"©\s?(?P<say>(?:19|20)\d\d)\b(?!\s?[-–—])", _year),
    rule(
        rf"(?:(?<=\()|\b[Yy]ear (?:was|is) )(?P<say>{_CENTURIES})(?=\)|[.,;!?]?(?:\s|$))(?!\s\w+s\b)", _year
    ),
    rule(
        rf"(?<![\w.,$€£/-])({_CENTURIES})/(\d\d)(?=\s(?:season|academic|school|fiscal|financial|tax|winter)\b)",
        _short_range,
    ),
    rule(rf"(?<![\w.,$€£/-])({_CENTURIES})/(\d\d)(?![\w/]|[.,]\d)", _next_year),
    rule(rf"(?<=\()(?P<say>{_CENTURIES})(?=\s(?:{_AFTER_YEAR})\b)", _year),
    rule(r"\([^()\n]{0,80}\b[A-Z][a-zé]{2,20}\s(?P<say>19\d\d|20[0-4]\d(?<!2048))(?=\))", _year),
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
    rule(
        r"(?<=[A-Za-z.\"”],\s)(?P<say>19\d\d(?<!1920)|20[0-4]\d(?<!2048))(?=[;)]|,(?!\s?\d)|\.?\s?$|\.\s[A-Z])",
        _year,
    ),
    rule(r"\b[Vv]ol\.?\s\d{1,4},\s(?P<say>(?:19|20)\d\d)(?=,|\.?\s?$)", _year),
    rule(r"(?:^|(?<=[.!?:;] ))(?P<say>(?:19[5-9]|20[0-3])\d(?<!00))(?=\s[A-Z][a-z]+\s)", _year),
    rule(r"(?:^|(?<=[.!?] ))(?P<say>(?:19|20)\d\d)(?=\s(?:was|is|will|has|had|saw|brought)\b)", _year),
    rule(
        rf"\b(?:[Ee]st\.|[Ee]stablished|[Ff]ounded|[Bb]uilt|[Rr]eleased|[Pp]ublished)\s"
        rf"(?P<say>1[5-9]\d\d|20\d\d)\b{_COUNTED}",
        _year,
    ),
    rule(r"(?:(?<=\bBC)|(?<=\bBCE)|(?<=\bCE))\s?[-–—]\s?(?=(?:AD\s|c\.\s)?\d)", " to "),
    rule(rf"\b(?P<say>{_CENTURIES})(?=\s?(?:BCE?|AD|CE)\b)", _year),
    rule(rf"\b(?:AD|[Bb]orn|[dbm]\.|div\.|bapt\.|bur\.|fl\.)\s(?P<say>{_CENTURIES})\b", _year),
)
