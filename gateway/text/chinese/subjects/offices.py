"""Chinese: parcels, rooms and floors, pages, ranks and marks, sections of a law."""

from __future__ import annotations

import re

from gateway.text.chinese.counting import say_digits
from gateway.text.chinese.numbers import cardinal, digits, number
from gateway.text.rules import Rule, rule


def _joined(match: re.Match[str]) -> str:
    """Numbers with hyphens between them: of a parcel, of a room."""
    return "杠".join(number(part) if len(part) < 3 else digits(part) for part in match["say"].split("-"))


RULES: tuple[Rule, ...] = (
    rule(
        r"第(\d{1,3})/(\d{1,4})(?P<of>[页集章步圈轮名关课题批])",
        lambda match: f"第{cardinal(int(match[1]))}{match['of']}，共{cardinal(int(match[2]))}{match['of']}",
    ),
    rule(
        r"(?<![\d./])(\d\.\d{1,2})/(5|10)(?:分|(?=[，。；、！？,）)\s]|$))",
        lambda match: f"{number(match[1])}分，满分{number(match[2])}分",
    ),
    rule(
        r"(?<![\d./])(\d{1,3}(?:\.5)?)/(50|60|80|100|110|120|150|200|300|400|500|600|750|900)分(?![之钟])",
        lambda match: f"{number(match[1])}分，满分{number(match[2])}分",
    ),
    rule(
        r"(?<=视力)[：:]?\s?(\d\.\d)/(\d\.\d)(?![\d/])",
        lambda match: f"{number(match[1])}、{number(match[2])}",
    ),
    rule(
        r"(?<![\dA-Za-z-])(\d{3,4})\s?[-–—~～]\s?(\d{2,4})(?=室|号?房(?![租价]))",
        lambda match: f"{digits(match[1])}到{digits(match[2])}",
    ),
    rule(r"(?<=[号座厦栋])\s?(\d{1,2})F(?![A-Za-z0-9])", lambda match: f"{cardinal(int(match[1]))}楼"),
    rule(
        r"(?:GPA|绩点)[是为：:]?\s?(?P<say>(\d\.\d{1,2})/(\d\.\d))",
        lambda match: f"{number(match[2])}，满分{number(match[3])}",
    ),
    rule(
        r"(?<=排名)\s?(\d{1,5})/(\d{1,5})(?![\d/])",
        lambda match: f"{cardinal(int(match[1]))}，共{cardinal(int(match[2]))}",
    ),
    rule(
        r"(?<![\d/.])(\d{1,2})/(\d{1,3})(?=层)",
        lambda match: f"{cardinal(int(match[1]))}层，共{cardinal(int(match[2]))}",
    ),
    rule(
        r"§\s?(?P<n>\d{1,3}(?:\.\d{1,3}){0,3})",
        lambda match: f"第{'点'.join(map(number, match['n'].split('.')))}节",
    ),
    rule(r"(?:订单号?|运单号?|单号)[：:是为]?\s?(?P<say>\d{2,12}(?:-\d{2,12}){1,3})(?![\d-])", _joined),
    rule(r"(?<=按)#(?=键|[，。]|[\u3400-\u9fff]|$)", "井号"),
    rule(r"(?:取件码|取货码|提货码|货架号?)[：:是为]?\s?(?P<say>\d{1,4}(?:-\d{1,5}){1,3})(?![\d-])", _joined),
    rule(r"(?<=[教楼栋座馆])(?P<say>\d{1,2}-\d{3,4})(?![\d-])", _joined),
    rule(r"(?<=\d[楼层])(?P<say>\d{3,4})(?=[，。；、\s室号房]|$)", say_digits),
)
