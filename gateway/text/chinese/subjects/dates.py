"""Chinese: days, years and what lies between two times, where a figure alone would be a number."""

from __future__ import annotations

import re

from gateway.text.chinese.counting import say_digits
from gateway.text.chinese.numbers import cardinal, digits
from gateway.text.rules import Rule, rule

_COUNTED = "[\\d.,%％万亿元块人个件次米吨]"
"""Behind a number of eight figures that is no day."""


def _day(match: re.Match[str]) -> str:
    return f"{digits(match['y'])}年{cardinal(int(match['m']))}月{cardinal(int(match['d']))}日"


def _slashed_day(match: re.Match[str]) -> str | None:
    """ "11/29/2024", by month, or by day where that cannot be one."""
    month, day = int(match["m"]), int(match["d"])
    if month > 12:
        month, day = day, month
    return None if month > 12 else f"{digits(match['y'])}年{cardinal(month)}月{cardinal(day)}日"


def _named_day(match: re.Match[str]) -> str:
    return f"{cardinal(int(match[1]))}月{cardinal(int(match[2]))}日"


def _from_to(match: re.Match[str]) -> str:
    month, day, month2, day2 = (cardinal(int(part)) for part in match.groups())
    return f"{month}月{day}日到{month2}月{day2}日"


def _slashed_from_to(match: re.Match[str]) -> str | None:
    """ "12/31-1/2", where one of them is no fraction."""
    return _from_to(match) if max(int(match[2]), int(match[4])) > 16 else None


def _years(match: re.Match[str]) -> str | None:
    """From when to when; of round numbers there may be so many of something."""
    first, last = match["first"], match["last"]
    if first >= last or first[-1] == last[-1] == "0":
        return None
    return f"{digits(first)}到{digits(last)}"


def _holiday(match: re.Match[str]) -> str:
    """ "假期5.1-5.5"."""
    days = [(match["m"], match["d"]), (match["m2"], match["d2"])]
    return "到".join(f"{cardinal(int(month))}月{cardinal(int(day))}日" for month, day in days if month)


_EVENTS = "奥运|冬奥|残奥|亚运|世界杯|欧洲杯|亚洲杯|锦标赛|公开赛|大师赛|博览会|峰会|春晚|赛季|高考"
_HOLIDAYS = "假期|放假|国庆|春节|元旦|五一|清明|端午|中秋|调休|补班"
RULES: tuple[Rule, ...] = (
    rule(
        r"(?<![\d/.-])(?P<m>0?[1-9]|[12]\d|3[01])/(?P<d>0?[1-9]|[12]\d|3[01])/(?P<y>(?:19|20)\d\d)(?![\d/元])",
        _slashed_day,
    ),
    rule(r"(?<![\d.:：/-])(1[0-2]|[1-9])\.([12]\d|3[01]|[1-9])日(?=[讯电晚起前后当]|$)", _named_day),
    rule(
        r"(?<=座[（(])(1[0-2]|[1-9])\.([12]?\d|3[01])\s?[-–—~～]\s?(1[0-2]|[1-9])\.([12]?\d|3[01])(?=[）)])",
        _from_to,
    ),
    rule(r"(?<!\d)(?P<say>3\.15)(?=打假)", say_digits),
    rule(
        rf"(?:^|(?<=[，。！？；：、\s“《]))(?P<say>(?:19|20)\d\d)(?=[\u3400-\u9fff]{{0,8}}(?:{_EVENTS}))",
        say_digits,
    ),
    rule(
        rf"(?:{_HOLIDAYS})[”\"]?(?:假期)?\s?(?P<say>(?P<m>1[0-2]|[1-9])\.(?P<d>[12]?\d|3[01])"
        r"(?:\s?[-–—~～至到]\s?(?P<m2>1[0-2]|[1-9])\.(?P<d2>[12]?\d|3[01]))?)(?![\d.%元个倍折])",
        _holiday,
    ),
    rule(r"©\s?(?P<say>(?P<first>(?:19|20)\d\d)\s?[-–—]\s?(?P<last>(?:19|20)\d\d))(?!\d)", _years),
    rule(r"©\s?(?P<say>(?:19|20)\d\d)(?![\d-])", say_digits),
    rule(
        r"(?<=[A-Za-z.\u3400-\u9fff][，,])\s?(?P<say>(?:19|20)\d\d)[a-z]?(?=[；;)）]|[，,]\s?(?:\d{1,4}\(|pp?\.|第\d))",
        say_digits,
    ),
    rule(
        r"(?:(?<=\d{3}年)|(?<=[月日]))\s?[-–—~～至到]\s?(?P<year>[1-9]\d{2,3})(?=年)",
        lambda match: f"到{digits(match['year'])}",
    ),
    rule(r"(?<=\d[AaPp][Mm])\s?[-–—~～]\s?(?=\d)", "到"),
    rule(r"(?<![\d-])(1[0-2]|0?[1-9])-(0[1-9]|[12]\d|3[01])(?=\s\d{1,2}[:：]\d\d(?!\d))", _named_day),
    rule(r"(?<=[:：]\d\d)/(?=\d{1,2}[:：]\d\d)", "，"),
    rule(r"(?<=《)(?P<say>(?:19|20)\d\d)(?=[\u3400-\u9fff])(?![个次种天夜人])", say_digits),
    rule(r"(?<=公元)\s?(?P<first>\d{3,4})\s?[-–—~～至]\s?(?P<last>\d{3,4})(?=年)", _years),
    rule(
        r"(?<![\d.])(?P<first>1[5-9]\d\d|20[0-3]\d)\s?[-–—~～]\s?(?P<last>1[5-9]\d\d|20[0-3]\d)(?=[，。、；）)年]|$)",
        _years,
    ),
    rule(
        r"(?<![\d.])(?P<first>(?:1[89]|20)\d\d)\s?[-–~～]\s?(?P<last>\d\d)(?=年(?!内))",
        lambda match: f"{digits(match['first'])}到{digits(match['last'])}",
    ),
    rule(r"(?<=年)\s?[-–—~～]\s?(?=公元|前\d)", "到"),
    rule(r"(?:^|(?<=[；，至到~～–—-]))前(?P<say>[1-9]\d{1,2}(?<!00))(?=年)", say_digits),
    rule(r"(?<!\d)(?P<say>\d\d)(?=[春秋]季?学期)", say_digits),
    rule(
        r"(?<![\d/.])(1[0-2]|[1-9])/([12]?\d|3[01])\s?[-–—~～]\s?(1[0-2]|[1-9])/([12]?\d|3[01])(?![\d/.])",
        _slashed_from_to,
    ),
    rule(r"(?<!\d)(?P<y>(?:19|20)\d0)s(?![A-Za-z])", lambda match: f"{digits(match['y'])}年代"),
    rule(
        r"(?<![\d.,:/A-Za-z-])(?P<y>19\d\d|20\d\d)(?P<m>0[1-9]|1[0-2])(?P<d>0[1-9]|[12]\d|3[01])"
        rf"(?!{_COUNTED}|-\d)",
        _day,
    ),
)
