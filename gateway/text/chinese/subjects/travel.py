"""Chinese: trains, aircraft, places on the globe, wind."""

from __future__ import annotations

import re

from gateway.text.chinese.counting import say_digits
from gateway.text.chinese.numbers import digits, number, phone
from gateway.text.rules import Rule, rule

_WAYS = {"N": "北纬", "S": "南纬", "E": "东经", "W": "西经"}


def _train(match: re.Match[str]) -> str:
    return phone(match["say"])


def _aircraft(match: re.Match[str]) -> str:
    return "杠".join(map(digits, match["say"].split("-")))


def _place(match: re.Match[str]) -> str:
    way = _WAYS[match[2]]
    said = match.string.endswith(way, max(0, match.start() - 2), match.start())
    return f"{'' if said else way}{number(match[1])}度"


def _runway(match: re.Match[str]) -> str:
    return digits(match["way"]) + _SIDES[match["side"]]


_SIDES = {"L": "左", "R": "右", "C": "中"}
_RUNWAY = r"(?P<say>(?P<way>0[1-9]|[12]\d|3[0-6])(?P<side>[LRC]))(?![A-Za-z0-9])"
_AIRLINES = "国航|东航|南航|海航|川航|厦航|深航|山航|春秋航空|吉祥航空"
RULES: tuple[Rule, ...] = (
    rule(rf"(?<![A-Za-z0-9.]){_RUNWAY}(?=号?跑道|盲降)", _runway),
    rule(rf"(?<=跑道)\s?{_RUNWAY}", _runway),
    rule(rf"(?:{_AIRLINES}|应答机)\s?(?P<say>\d{{3,4}})(?![\d年]|[.,]\d)", _train),
    rule(r"(?:(?<=高铁)|(?<=动车)|(?<=列车)|(?<=火车)|(?<=车次))\s?[GDCKTZ](?P<say>\d{1,3})(?!\d)", _train),
    rule(r"(?<=风速)\+(?=\d)", "正"),
    rule(r"(?<!\d)(?P<say>3[1-5]\d|7[0-8]7)(?=机型|客机)", say_digits),
    rule(r"(?<![\d.])(\d{1,3}(?:\.\d{1,6})?)°\s?([NSEW])(?![A-Za-z])", _place),
    rule(r"(?<![A-Za-z0-9])A(?P<say>3[1-58]\d)(?=[客飞机，。、）\s-]|neo|$)", say_digits),
    rule(r"(?<=波音)(?P<say>7[0-8]7-\d{1,3})(?![\d-])", _aircraft),
    rule(r"(?<![A-Za-z0-9])B(?P<say>7[0-8]7(?:-\d{1,3})?)(?![\dA-Za-z-])", _aircraft),
)
