"""Chinese: a day with a point in it, 12.5放假, and a decimal that looks the same, 涨到12.5: the grammars take
every one of them in October, November and December for a day.
"""

from __future__ import annotations

import re

from gateway.text.chinese.numbers import cardinal, number
from gateway.text.rules import Rule, rule

_NEAR = 16
"""Characters in which it is told."""
_DAY = re.compile(
    r"(?:\s?[-–—~～至到]\s?\d{1,2}\.\d{1,2})?\s?(?:前(?!景)|后|之[前后]|以[前后]|当[天日晚]|起|截止|开[售始业抢播]|上[线市映架]|"
    r"发[售布车]|首[发映播]|举[行办]|放假|假期|国庆|元旦|圣诞|活动|开学|[\u3400-\u9fff]{1,4}节(?![省约目课拍奏点])|[上下]午|晚|中午|凌晨|早|[（(]?(?:周|星期)[一二三四五六日天]|"
    r"是.{0,3}节|\d{1,2}[:：]\d\d)"
)
"""What follows a day."""
_SURE = re.compile(r"\s?(?:活动|放假|假期|当[天日晚]|大促|[上下]午|晚上|[（(]?(?:周|星期)[一二三四五六日天])")
"""What follows a day in a month of one figure, too, of which most are decimals."""
_DATED = re.compile(r"(?:日期|时间|生日|截[止至]|[定将]于|仅限|限时|自)[：:是为]?\s?$")
_MEASURED = re.compile(r"(?:[涨跌升降达破超过约为到至了]|得?分|[值价率量比]|倍)\s?$")
"""What a decimal follows."""
_SALES = ("11.11", "12.12")


def _day(match: re.Match[str]) -> str:
    return f"{cardinal(int(match['m']))}月{cardinal(int(match['d']))}日"


def _sure_day(match: re.Match[str]) -> str | None:
    return _day(match) if _SURE.match(match.string, match.end(), match.end() + _NEAR) else None


def _day_or_decimal(match: re.Match[str]) -> str:
    text, start = match.string, match.start()
    before = text[max(0, start - _NEAR) : start]
    told = _DATED.search(before) or _DAY.match(text, match.end(), match.end() + _NEAR)
    if (told or match[0] in _SALES) and not _MEASURED.search(before):
        return _day(match)
    return number(match[0].removeprefix("0"))


RULES: tuple[Rule, ...] = (
    rule(r"(?<![\d.A-Za-z:：/-])(?P<m>[1-9])\.(?P<d>[12]?\d|3[01])(?![\d.])", _sure_day),
    rule(
        r"(?<![\d.:：/-])(?P<m>1[0-2]|0[1-9])\.(?P<d>0?[1-9]|[12]\d|3[01])(?![\d.%％‰A-Za-z°℃µμΩ㎡])",
        _day_or_decimal,
    ),
    rule(
        r"(?<=\d[-–—~～至到])(?P<m>1[0-2])\.(?P<d>0?[1-9]|[12]\d|3[01])(?![\d.%％‰A-Za-z°℃µμΩ㎡])",
        _day_or_decimal,
    ),
)
