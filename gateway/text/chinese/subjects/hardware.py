"""Chinese: devices, their parts and standards, lines of a program."""

from __future__ import annotations

import re

from gateway.text.chinese.counting import say_digits
from gateway.text.chinese.numbers import cardinal, number
from gateway.text.english.quantities import ends_quotation
from gateway.text.rules import Rule, rule


def _inches(match: re.Match[str]) -> str | None:
    return None if ends_quotation(match) else "英寸"


def _changed(match: re.Match[str]) -> str:
    """Lines of a program, "+120/-35"."""
    return f"加{cardinal(int(match[1]))}、减{cardinal(int(match[2]))}"


RULES: tuple[Rule, ...] = (
    rule(r"(?<![\d+])\+(\d{1,6})\s?/\s?[-−](\d{1,6})(?=\s?行|\s?[，。）)]|$)", _changed),
    rule(r"(?<=[RG]TX)\s?(?P<say>\d{4})(?!\d)", say_digits),
    rule(r"(?<![A-Za-z])i[3579]-(?P<say>\d{4,5})(?!\d)", say_digits),
    rule(r"(?<![A-Za-z\d])(?<!\d\s)GB(?:/T)?\s?(?P<say>\d{4,6})(?![\d.-])", say_digits),
    rule(
        r"(?:(?<=V/)|(?<=电流)|(?<=电流[为是约：:]))(\d{1,3}(?:\.\d{1,2})?)\s?A(?![A-Za-z])",
        lambda match: f"{number(match[1])}安",
    ),
    rule(r"(?<=\d)[\"”″](?=\s?的?(?:大|曲面|智能|液晶)?(?:电视|显示器|屏|平板|轮|蛋糕|披萨))", _inches),
    rule(r"[φΦ⌀∅]\s?(?=\d)", "直径"),
    rule(r"(?<=\dV)/(?=\d{1,3}(?:\.\d{1,2})?(?:A|mA|Hz|W)(?![A-Za-z]))", "，"),
)
