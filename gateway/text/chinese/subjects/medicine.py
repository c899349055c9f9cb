"""Chinese: what laboratories and doctors write."""

from __future__ import annotations

import re

from gateway.text.chinese.numbers import cardinal, number
from gateway.text.rules import Rule, rule

_PERIODS = {"d": "天", "日": "日", "天": "天", "h": "小时", "min": "分钟"}
_TESTED = "ER|PR|Rh|HER2|Ig[GM]|HB[sec]A[gb]|HIV|TPPA|RPR|ANA|抗原|抗体|试验|征|核酸"


def _vertebrae(match: re.Match[str]) -> str:
    """ "L4/5", "L5/S1"."""
    return f"{match[1]}{cardinal(int(match[2]))}{match[3]}{cardinal(int(match[4]))}"


RULES: tuple[Rule, ...] = (
    rule(
        r"(?<=[嗽热痛泻吐晕共后程服用重×])\s?(?P<n>\d{1,3})d(?=[，。、；,）)]|$)",
        lambda match: f"{'两' if match['n'] == '2' else number(match['n'])}天",
    ),
    rule(rf"(?:{_TESTED})\s?(?P<say>[（(]\+[）)])", "阳性"),
    rule(rf"(?:{_TESTED})\s?(?P<say>[（(][-−][）)])", "阴性"),
    rule(r"(?<=胰岛素)\s?(?P<n>\d{1,3})U(?![A-Za-z])", lambda match: f"{number(match['n'])}单位"),
    rule(r"(?<![A-Za-z0-9])([CTLS])(\d{1,2})/([CTLS]?)(\d{1,2})(?=[、，。椎间节段水平])", _vertebrae),
    rule(
        r"(?:(?<=\dg/kg)|(?<=\dmg/kg)|(?<=\d[uμ]g/kg))[·/](?P<per>d|h|min|日|天)(?![A-Za-z])",
        lambda match: f"每{_PERIODS[match['per']]}",
    ),
    rule(r"[→=+]\s?\d{0,2}[A-Z][A-Za-z0-9()]{0,14}(?P<say>[↑↓])", ""),
    rule(
        r"(?<=[A-Za-z\d%])\s?(?P<say>[↑↓])(?=[，。；、）)\s]|$)",
        lambda match: "偏高" if match["say"] == "↑" else "偏低",
    ),
)
