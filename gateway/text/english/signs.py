"""Ranges, scores and mathematics, and after them every number that no other rule has taken."""

from __future__ import annotations

import re

from gateway.text.english.measures.quantities import MANY
from gateway.text.english.numbers import NUMBER, cardinal, digits, number, ordinal
from gateway.text.marks import FIGURES, NOTE, RAISED, STARS
from gateway.text.rules import Rule, rule

_POWERS = {"2": " squared", "3": " cubed"}
_COMPARISONS = {
    "==": " equals ", "===": " equals ", "!=": " is not equal to ", "!==": " is not equal to ",
    "+=": " plus equals ", "-=": " minus equals ",
    "<=": " is less than or equal to ", ">=": " is greater than or equal to ", "=": " equals ",
    "<": " is less than ", ">": " is greater than ", "≥": " is greater than or equal to ",
    "≤": " is less than or equal to ", "≠": " is not equal to ", "≈": " is approximately ", "->": " to ",
    "→": " to ", "=>": " to ", "&&": " and ", "||": " or ",
}  # fmt: skip
_OPERATORS = {
    "+": " plus ",
    "−": " minus ",
    "×": " times ",
    "÷": " divided by ",
    "*": " times ",
    "/": " divided by ",
}


def _compare(match: re.Match[str]) -> str:
    return _COMPARISONS[match["say"].strip()]


def _beside_number(match: re.Match[str]) -> str | None:
    """Not what closes a tag."""
    is_tag = match[0] == ">" and "<" in match.string[max(0, match.start() - 40) : match.start()]
    return None if is_tag else _COMPARISONS[match[0]]


def _operate(match: re.Match[str]) -> str | None:
    """Between two words "/" and "*" are no operators, unless an equation says so."""
    sign, text = match["say"].strip(), match.string
    if sign in "*/" and text.find("=", 0, match.start()) < 0 and not _EQUALS.match(text, match.end()):
        before, after = text[max(0, match.start() - 2) : match.start()], text[match.end() : match.end() + 2]
        if not (_OPERAND_ENDS.search(before) and _OPERAND_BEGINS.match(after)):
            return None
    return _OPERATORS[match["say"].strip()]


def _multiple(match: re.Match[str]) -> str | None:
    """ "rinse 2x", where x is no unknown."""
    around = match.string[max(0, match.start() - _NEAR) : match.end() + _NEAR]
    return None if _UNKNOWN.search(around) else " times"


def _spaced_dash(match: re.Match[str]) -> str:
    return " minus " if "=" in match.string else " to "


def _power(match: re.Match[str]) -> str:
    power = match["say"].lstrip("^*").translate(FIGURES)
    return _POWERS.get(power) or f" to the power of {number(power)}"


def _stars(match: re.Match[str]) -> str:
    count = match[0].count("★")
    return f"{cardinal(count)} star{'' if count == 1 else 's'}"


def _ordinal(match: re.Match[str]) -> str:
    return ordinal(int(match[1].replace(",", "")))


def _number(match: re.Match[str]) -> str:
    return number(match["say"])


def _scaled(match: re.Match[str]) -> str:
    return f"{number(match[1])} {_SCALES[match[2].upper()]}{' plus' if match[3] else ''}"


def _other_digits(match: re.Match[str]) -> str:
    return digits(match[0])


_PERIODS = {"d": "day", "wk": "week", "mo": "month", "yr": "year"}
_SCALES = {"K": "thousand", "M": "million", "B": "billion"}
"""Of what there are many; a 2B is a pencil."""
_TIMES = (
    "faster|slower|more|fewer|less|better|worse|larger|bigger|smaller|higher|lower|cheaper|longer|shorter|stronger|"
    "the|as|speed|growth|return|leverage|improvement|increase"
)
"""What is so many times as much."""
_NEAR = 60
"""Characters in which an unknown is named."""
_UNKNOWN = re.compile(r"[=²³^√∫∂+*(]\s?\d{0,4}[xyz]\b|\b[xyz]\b|=")
_EQUALS = re.compile(r"[\w.]{1,40}\s?=")
_OPERAND_ENDS = re.compile(r"(?:\d|[)²³]|(?<![A-Za-z])[A-Za-z])$")
_OPERAND_BEGINS = re.compile(r"[\d(√$-]|[A-Za-z](?!\w)")
_OPERAND = r"(?<=[\w)\]²³.°%!⁺⁻↑↓])"
_NUMBERED = "|".join(
    rf"(?<=\b{name}\.)" for name in ("[Pp]", "pp", "[Nn]o", "[Ff]ig", "[Vv]ol", "[Cc]h", "[Oo]p", "[Ll]v")
)
"""Right behind what numbers something, "p.12"."""
RULES: tuple[Rule, ...] = (
    rule(r"[▲↑]\s?(?=[$€£]?\d)", "up "),
    rule(r"[▼↓]\s?(?=[$€£]?\d)", "down "),
    rule(r"(?:(?<=[a-z]\s)|(?<=\s\())x(?=[1-9]\d?[\])])(?!32|64|86)", "times "),
    rule(r"\s\+\s(?=…)|(?<=…)\s\+\s", " plus "),
    rule(r"(?<=\d[Kp])\s?@\s?(?=\d)", " at "),
    rule(rf"{_OPERAND}(?P<say>\s(?:[+×÷*/])\s)(?=[\w(√$∑∏∫∂-])", _operate),
    rule(r"(?<=\d)(?P<say>\s?[×÷−]\s?)(?=\d)", _operate),
    rule(r"(?<=\d)(?P<say>[+*])(?=\d)", _operate),
    rule(r"(?<=\d)(?P<say>\+)(?!\w)", " plus"),
    rule(r"\bT\+(?=\d)", "T plus "),
    rule(r"(?<![\w)+])\+(?=[$€£]?\.?\d)", "plus "),
    rule(r"(?<![\w)+])×\s?(?=\d)", "times "),
    rule(r"(?<=\d)-(?=\d+(?:\.\d+)?\s?=)|(?<=\(\d)-(?=\d{0,3}[xyznp]\))", " minus "),
    rule(r"(?<=\d)/(?=\d+(?:\.\d+)?\s?=)", " divided by "),
    rule(
        r"\b(?:[A-Z][a-z]{2,15}\.?)\s(?P<say>(\d{1,3}):(\d{1,3})[-–](\d{1,3}))(?![\w:])",
        lambda match: f"{number(match[2])}, {number(match[3])} to {number(match[4])}",
    ),
    rule(r"(?<=\d)(?P<say>[x×])(?=\d)", "by"),
    rule(r"(?<=[\w)])(?P<say>\s(?:-)\s)(?=\d)(?<=\d\s-\s)", _spaced_dash),
    rule(
        rf"{_OPERAND}(?P<say>\s?(?:===|!==|==|!=|\+=|-=|<=|>=|&&|\|\||=>|->|[=≥≤≠≈→])\s?)(?=[\w(√+$€£¥₹−±-]|\.\d)",
        _compare,
    ),
    rule(r"(?<=[\w)\]}⌋|%'′\u0304\u0302])(?P<say>\s=\s)(?=[\w{\[\"'⌊|√+$€£¥₹−±(∑∏∫∂-]|\.\d)", _compare),
    rule(
        r"\b[Ii]s\s[\w.]{1,12}(?P<say>\s[<>]\s)(?=[\w(.-])",
        lambda match: f" {_COMPARISONS[match['say'].strip()][4:]}",
    ),
    rule(
        r"(?<=[\w)|])(?P<say>\s[<>]\s)(?=[\w(.-])",
        lambda match: _COMPARISONS[match[0].strip()],
    ),
    rule(r"(?<=[\w)])[<>](?=\.?\d)", _beside_number),
    rule(r"(?<=[\w)]\|)[<>≤≥](?=[\w(√-])", lambda match: _COMPARISONS[match[0]]),
    rule(r"(?<![\w)<>=-])(?P<say>[<>≤≥])\s?(?=[$€£]?\.?\d)", lambda match: _COMPARISONS[match["say"]][4:]),
    rule(r"(?<=\d)x\s(?=\d+(?:\.\d+)?\s?(?:mg|g|kg|ml|mL|l|L|oz|lb|[MGT]B)\b)", " times "),
    rule(r"(?<=\d)\sx\s(?=\d+(?:\.\d+)?\s?(?:mg|g|kg|ml|mL|l|L|[MGT]B|tablets?)\b)", " times "),
    rule(r"(?<=\d)\sx\s(?=\d+(?:\.\d+)?\s=)", " times "),
    rule(r"(?<=[\d½¼¾⅓⅔⅛⅜⅝⅞])\sx\s(?=\d)", " by "),
    rule(rf"(?<=\d)[xX×](?=\s(?:{_TIMES})\b)", " times"),
    rule(r"(?<=\d)x(?=[.,;:!?)](?!\w)|\s?$)", _multiple),
    rule(r"(?<=\s)@(?=\s)", "at"),
    rule(r"(?<![\w.])1(?P<say>x)(?=\s(?:daily|weekly|a|per)\b)", "time"),
    rule(r"(?<![\w.])\d{1,2}(?P<say>x)(?=\s(?:daily|weekly|nightly|monthly|a|per)\b)", "times"),
    rule(
        r"(?<![\w.])\d{1,2}(?P<say>\s?x\s?/\s?(?P<period>day|d|week|wk|month|mo|year|yr)\b)",
        lambda match: f"times a {_PERIODS.get(match['period'], match['period'])}",
    ),
    rule(r"±\s?", "plus or minus "),
    rule(r"√\s?", "the square root of "),
    rule(r"(?<!\w)[~≈](?=\s?(?:(?:US|HK|CA|AU|NZ|NT|C|A|S|R)\$|[$€£¥₹])?\d)", "about "),
    rule(r"\+/[-−]\s?(?=[$€£]?\d)", "plus or minus "),
    rule(r"(?<![\w)\]])[-−](?=\d{1,3}/\d{1,3}(?![\w/])|\.\d)", "minus "),
    rule(r"(?<=\w\|)\s[+−]\s(?=\|\w)", lambda match: _OPERATORS[match[0].strip()]),
    rule(NOTE, ""),
    rule(rf"(?<=[\w)])(?<![{RAISED}])(?P<say>[⁻⁺]?[{RAISED}]+|(?:\^|\*\*)-?\d+)", _power),
    rule(STARS, _stars),
    rule(r"(?<=\d)★", " star"),
    rule(r"∞", "infinity"),
    rule(r"π", "pi"),
    rule(r"(?<![\w.])(\d+(?:\.\d+)?)([kKM])(\+?)(?![\w'])(?=\s\w+s\b|\s+(?:people|followers|mi\b))", _scaled),
    rule(r"(?<=\d[kK] )mi\b(?:\.(?=[,;:)]|\s[a-z]))?", "miles"),
    rule(
        r"(?<![\w.,$€£])([1-9]\d{0,2}\.\d{1,3})([KMB])(\+?)(?=[,.;)](?!\w)|$|\s(?:in|by|from|last|was|were|to|and|or|of)\b)",
        _scaled,
    ),
    rule(rf"(?<![\w.])(\d+(?:\.\d+)?)(B)(\+?)(?=\s(?:{MANY})\b)", _scaled),
    rule(r"(?:(?<=\d%)|(?<=\d[mkMKB])|(?<=\dbn))\+(?![\w+])", " plus"),
    rule(r"(?<![\w.,])(\d{1,15}|\d{1,3}(?:,\d{3}){1,4})(?:st|nd|rd|th)\b", _ordinal, re.I),
    rule(r"(?<![\w.])(?P<say>(?:19|20)\d\d)(?=[-–](?:19|20)\d\d)", lambda match: None),
    rule(r"(?<=\s)–(?=[$€£]?\d[\d.,]{0,15}%)|(?<=\()–(?=[$€£]?\d)", "minus "),
    rule(r"(?<=\d)(?P<say>\s?–\s?|—|-)(?=[$€£]?\d|\.\d)", " to "),
    rule(
        r"(?:(?<=\([a-z0-9]\))|(?<=\([a-z0-9]{2}\))|(?<=\([a-z]{3}\)))\s?[-–]\s?(?=\([a-z0-9]{1,4}\))", " to "
    ),
    rule(r"(?<=\d[%‰°])(?P<say>\s?[-–]\s?|—)(?=[$€£]?\d)", " to "),
    rule(r"(?<=\d(?:st|nd|rd|th))\s?[-–—]\s?(?=\d)", " to "),
    rule(r"(?:(?<=\d[kKmMbB])|(?<=\d[bmt]n))\s?[-–—]\s?(?=[$€£]\d)", " to "),
    rule(r"(?<=\d[A-Z])\s?[-–]\s?(?=\d{1,3}[A-Z]\b)", " to "),
    rule(r"\b(?:[A-DFO]|AB)(?P<say>\+)(?![\w+])", " plus"),
    rule(r"\b(?:an?|got|[Gg]rade:?)\s[A-D](?P<say>[-−])(?=[\s,.;!?)]|$)", " minus"),
    rule(r"(?<=\d[apAP][mM])(?P<say>\s?[-–—]\s?)(?=\d)", " to "),
    rule(r"(?<=\d)(?P<say>\s:\s|:)(?=\d)", " to "),
    rule(r"(?<=[A-Za-z])-(?=\d)", " "),
    rule(rf"(?<![\w)\]])(?P<say>[-−](?:{NUMBER}))(?!\w*-\d)", _number),
    rule(rf"(?=\d)(?:(?<![\d.])|{_NUMBERED})(?<!\d,)(?P<say>(?:{NUMBER}))(?!\d)", _number),
    rule(r"(?<=\d,)(?P<say>[1-9]\d{0,8}(?:\.\d+)?|0)(?!\d)", _number),
    rule(r"(?<!\d)(?P<say>\.\d+)(?!\d)", lambda match: f"point {digits(match['say'])}"),
    rule(r"\d+", _other_digits),
)
