"""Chinese: pay, prices in a list, thousands of readers, shares and quarters."""

from __future__ import annotations

import re
from decimal import Decimal

from gateway.text.chinese.counting import say_digits
from gateway.text.chinese.numbers import large, number
from gateway.text.rules import Rule, rule

_MANY = "star|粉|人|元|块|次|条|用户|下载|阅读|播放|赞"
"""Of which there are thousands, while carats and bits of sound are so many k."""


def _thousands(match: re.Match[str]) -> str:
    """ "12.3k"."""
    return large(1000 * Decimal(match[1]))


def _pay(match: re.Match[str]) -> str:
    """ "15k", "10-15k", "10k-15k"."""
    return "到".join(large(1000 * Decimal(part)) for part in re.findall(r"\d+", match["say"]))


def _listed(match: re.Match[str]) -> str:
    """ "5000/3000/1000元"."""
    unit = "元" if match["coin"] else ""
    return "、".join(map(number, match["all"].split("/"))) + unit


RULES: tuple[Rule, ...] = (
    rule(r"(?<=[A-Z]\d)\s-(\d{1,3}(?:\.\d{1,2})?)[%％]", lambda match: f"，百分之负{number(match[1])}"),
    rule(
        rf"(?<![A-Za-z\d.,~～$€£¥￥-])(\d{{1,4}}\.\d{{1,2}}|\d{{2,4}}(?=k\s?(?:{_MANY})))k(?![A-Za-z0-9/跑马赛路])",
        _thousands,
    ),
    rule(r"(?:薪|工资|[TQ]PS)\D{0,4}(?P<say>(?:\d{1,4}[kK]?[-~～])?\d{1,4}[kK])(?![A-Za-z0-9/])", _pay),
    rule(
        r"(?<![\d/.])(?P<coin>[￥¥])?(?P<all>\d{1,6}(?:\.\d{1,2})?(?:/\d{1,6}(?:\.\d{1,2})?){2,9})(?![\d/年]|\.\d)(?<!/\d\d/\d\d)(?<!/(?:19|20)\d\d)",
        _listed,
    ),
    rule(r"(?<!\d)(?P<say>\d{2})(?=Q[1-4](?!\d)|H[12](?![\dA-Za-z]))", say_digits),
    rule(r"(?<=T\+)2(?=[日天个])", "二"),
    rule(r"(?<=M)2(?=余额|增速|同比|供应|规模|货币)", "二"),
    rule(r"(?<![\d.])(?P<say>\d{5})(?=\.HK(?![A-Za-z]))", say_digits),
)
