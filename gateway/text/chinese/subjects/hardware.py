"""Chinese: devices, their parts and standards, lines of a program."""

from __future__ import annotations

import re

from gateway.text.chinese.counting import say_digits
from gateway.text.chinese.numbers import cardinal, digits, number
from gateway.text.chinese.units import UNITS
from gateway.text.english.measures.quantities import ends_quotation
from gateway.text.rules import Rule, rule


def _inches(match: re.Match[str]) -> str | None:
    return None if ends_quotation(match) else "英寸"


def _changed(match: re.Match[str]) -> str:
    """Lines of a program, "+120/-35"."""
    return f"加{cardinal(int(match[1]))}、减{cardinal(int(match[2]))}"


def _address(match: re.Match[str]) -> str:
    """Of a device in its network."""
    return "，".join(
        "".join(digits(sign) if sign.isdecimal() else sign for sign in pair) for pair in match[0].split(":")
    )


def _colour(match: re.Match[str]) -> str:
    """ "#FF8800"."""
    return "井号" + "".join(digits(sign) if sign.isdecimal() else sign for sign in match["n"])


def _doi(match: re.Match[str]) -> str:
    return "".join(
        _DOI_SIGNS.get(sign) or (digits(sign) if sign.isdecimal() else sign) for sign in match["say"]
    )


_DOI_SIGNS = {".": "点", "/": "斜杠", "-": "杠", "_": "下划线", ":": "冒号"}


def _or(match: re.Match[str]) -> str:
    """ "50/60Hz"."""
    return f"{number(match[1])}或{number(match[2])}{UNITS.get(match['unit'], match['unit'])}"


RULES: tuple[Rule, ...] = (
    rule(r"(?<![A-Za-z\d/.])(\d{2,4})/(\d{2,4})\s?(?P<unit>k?Hz|k?[VW]|[MGT]B|mAh)(?![A-Za-z0-9/])", _or),
    rule(r"(?P<say>(?P<n>\d{2,3})V\s?~\s?)\d{2}(?:/\d{2})?\s?Hz", lambda match: f"{number(match['n'])}伏，"),
    rule(r"(?<![A-Za-z])IP(?P<say>[0-6]\d)(?![\d.])", say_digits),
    rule(r"(?<![A-Za-z0-9_:])[0-9A-Fa-f]{2}(?::[0-9A-Fa-f]{2}){5}(?![A-Za-z0-9_:])", _address),
    rule(r"#(?=[0-9A-Fa-f]{0,5}\d)(?=\d{0,5}[A-Fa-f])(?P<n>[0-9A-Fa-f]{6})(?![A-Za-z0-9_])", _colour),
    rule(r"(?:DOI|doi)[：:]?\s?(?P<say>10\.\d{4,9}/[A-Za-z0-9./:_-]{2,80}[A-Za-z0-9])", _doi),
    rule(r"(?<=\dV)\s?⎓\s?(?=\d)", "，"),
    rule(r"(?<![A-Za-z\d])[A-Z](?P<say>\d)(?=L(?![A-Za-z0-9]))", say_digits),
    rule(r"(?<![\d.A-Za-z])(\d{1,2}\.[1-9]\d?)\s?A(?![A-Za-z0-9])", lambda match: f"{number(match[1])}安"),
    rule(r"(?<![A-Za-z])f/(?=\d)", "f"),
    rule(r"(?<![\d/])1/\d{2,5}(?P<say>s)(?![A-Za-z0-9])", "秒"),
    rule(r"(?<=\d[Kp])\s?@\s?(?=\d)", "，"),
    rule(r"(?<![\d+])\+(\d{1,6})\s?/\s?[-−](\d{1,6})(?=\s?行|\s?[，。）)]|$)", _changed),
    rule(r"(?<=[RG]TX)\s?(?P<say>\d{4})(?!\d)", say_digits),
    rule(r"(?<![A-Za-z])i[3579]-(?P<say>\d{4,5})(?!\d)", say_digits),
    rule(r"(?<![A-Za-z\d])(?<!\d\s)GB(?:/T)?\s?(?P<say>\d{4,6})(?![\d.-])", say_digits),
    rule(
        r"(?:(?<=V/)|(?<=V⎓)|(?<=电流)|(?<=电流[为是约：:]))(\d{1,3}(?:\.\d{1,2})?)\s?A(?![A-Za-z])",
        lambda match: f"{number(match[1])}安",
    ),
    rule(
        r"(?<=\d)[\"”″](?=\s?的?(?:大|曲面|智能|液晶)?(?:电视|显示器|钻头|螺[丝栓母]|水管|管子|屏|平板|轮|蛋糕|披萨))",
        _inches,
    ),
    rule(r"[φΦ⌀∅]\s?(?=\d)", "直径"),
    rule(r"(?<=\dV)/(?=\d{1,3}(?:\.\d{1,2})?(?:A|mA|Hz|W)(?![A-Za-z]))", "，"),
)
