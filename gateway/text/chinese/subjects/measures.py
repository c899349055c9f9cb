"""Chinese: lengths and weights with commas, "600+km", "1m80", "per 100 g"."""

from __future__ import annotations

import re

from gateway.text.chinese.numbers import cardinal, digits, number
from gateway.text.chinese.units import PER_UNIT, UNIT, UNITS
from gateway.text.rules import Rule, rule

_LENGTHS = {
    "mm": "毫米",
    "cm": "厘米",
    "km": "公里",
    "m": "米",
    "kg": "千克",
    "g": "克",
    "ml": "毫升",
    "L": "升",
}


def _long(match: re.Match[str]) -> str:
    return number(match[1]) + _LENGTHS[match["unit"]]


def _over(match: re.Match[str]) -> str:
    """ "600+km"."""
    return f"{number(match[1])}多{UNITS.get(match['unit'], '公里')}"


def _by(match: re.Match[str]) -> str:
    """ "3mx4m"."""
    unit = _LENGTHS[match["unit"]]
    return f"{number(match['one'])}{unit}乘{number(match['other'])}{unit}"


def _tall(match: re.Match[str]) -> str:
    return f"{cardinal(int(match[1]))}米{digits(match[2])}"


def _ratio(match: re.Match[str]) -> str:
    return f"{number(match['first'])}比{number(match['last'])}"


_RATIO = r"(?P<say>(?P<first>\d{1,3})[:：](?P<last>\d{1,5}))(?![\d:：])"
RULES: tuple[Rule, ...] = (
    rule(rf"(?<![\d:：]){_RATIO}(?=的?(?:比例|浓度|稀释|配比|混合|兑水|缩放|等比))", _ratio),
    rule(
        r"(?<![\d'’′])([3-7])['’′](\d)[\"”″]",
        lambda match: f"{cardinal(int(match[1]))}英尺{cardinal(int(match[2]))}英寸",
    ),
    rule(r"(?<=[里米])/(?=秒|小时|分)", "每"),
    rule(r"(?<=\dcm)\s?/\s?(?=\d{2,3}(?:\.\d)?kg)|(?<=\dkg)\s?/\s?(?=\d{3}cm)", "，"),
    rule(
        r"(?<![\d.A-Za-z])(?P<one>\d+(?:\.\d+)?)(?P<unit>[cm]?m)[xX×*](?P<other>\d+(?:\.\d+)?)(?P=unit)(?![A-Za-z0-9²³])",
        _by,
    ),
    rule(
        rf"(?<=[万亿余多])\s?(?P<unit>{'|'.join((*_LENGTHS, *PER_UNIT))})(?![A-Za-z0-9²³/])",
        lambda match: PER_UNIT.get(match["unit"]) or _LENGTHS[match["unit"]],
    ),
    rule(
        rf"(?<![\d.,])(\d{{1,3}}(?:,\d{{3}}){{1,3}})\s?(?P<unit>{'|'.join(_LENGTHS)})(?![A-Za-z0-9²³/])",
        _long,
    ),
    rule(r"(?:(?<=千焦)|(?<=千卡)|(?<=毫克))/(?=\d{1,4}\s?(?:克|毫升|升|g|ml|mL))", "每"),
    rule(r"(?<![\d.])([12])m([5-9]\d)(?![\dA-Za-z.])", _tall),
    rule(rf"(?<![\d.,])(\d{{1,6}})\+\s?(?P<unit>km|{UNIT})(?![A-Za-z0-9²³])", _over),
)
