"""Ranges, scores, fractions and mathematics, and after them every number that no other rule has taken."""

from __future__ import annotations

import re

from gateway.text.english.numbers import NUMBER, cardinal, digits, fraction, number, ordinal
from gateway.text.english.quantities import MANY
from gateway.text.marks import FIGURES, NOTE, RAISED, STARS
from gateway.text.rules import Rule, rule

_VULGAR = {
    "½": (1, 2), "⅓": (1, 3), "⅔": (2, 3), "¼": (1, 4), "¾": (3, 4), "⅕": (1, 5), "⅖": (2, 5), "⅗": (3, 5),
    "⅘": (4, 5), "⅙": (1, 6), "⅚": (5, 6), "⅛": (1, 8), "⅜": (3, 8), "⅝": (5, 8), "⅞": (7, 8), "⅒": (1, 10),
}  # fmt: skip
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


_ALL = 100
"""Shared out: "eighty twenty"."""
_FINEST = 16
_DIVISORS = (18, 20, 24, 25, 32, 36, 40, 48, 50, 60, 64, 80, 96, 100)
"""Beyond sixteenths the denominators of fractions; another one is of so many: "27/37"."""
_EVEN = (20, 50)
"""Said twice: "fifty fifty"."""


def _mixed(match: re.Match[str]) -> str:
    whole, top, bottom = int(match[1]), int(match[2]), int(match[3])
    return _whole_and(whole, top, bottom)


def _joined_mixed(match: re.Match[str]) -> str:
    """ "1-1/2"."""
    whole, top, bottom = (int(group) for group in match.groups() if group)
    return _whole_and(whole, top, bottom)


def _whole_and(whole: int, top: int, bottom: int) -> str:
    part = fraction(top, bottom)
    if top == 1:
        part = f"a {part.removeprefix('one ')}"
    return f"{cardinal(whole)} and {part}"


def _vulgar(match: re.Match[str]) -> str:
    top, bottom = _VULGAR[match["part"]]
    if not match["whole"]:
        return fraction(top, bottom)
    return _whole_and(int(match["whole"].replace(",", "")), top, bottom)


def _fraction(match: re.Match[str]) -> str | None:
    top, bottom = int(match[1]), int(match[2])
    if top == bottom:
        between = " " if top in _EVEN else " out of "
        return f"{cardinal(top)}{between}{cardinal(bottom)}"
    if top + bottom == _ALL and top % 5 == 0:
        return f"{cardinal(top)} {cardinal(bottom)}"
    if bottom == _ALL and 10 <= top < bottom:
        return f"{cardinal(top)} out of {cardinal(bottom)}"
    if 1 < top < bottom <= _ALL and bottom > _FINEST and bottom not in _DIVISORS:
        return f"{cardinal(top)} out of {cardinal(bottom)}"
    if bottom < 2 or bottom > 100 or top >= bottom:
        return f"{cardinal(top)} over {cardinal(bottom)}"
    before_unit = match.string[match.end() : match.end() + 1] == "-"
    spoken = fraction(top, bottom)
    return spoken.removesuffix("s") if before_unit and bottom != 2 else spoken


def _parts_of(match: re.Match[str]) -> str | None:
    """What ends as an ordinal: "2/3rds", "1/10th"."""
    top, bottom = int(match[1]), int(match[2])
    return fraction(top, bottom) if bottom > 1 else None


def _out_of(match: re.Match[str]) -> str:
    return f"{number(match[1])} out of {number(match[2])}"


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
_EQUALS = re.compile(r"[\w.]{1,40}\s?=")
_OPERAND_ENDS = re.compile(r"(?:\d|[)²³]|(?<![A-Za-z])[A-Za-z])$")
_OPERAND_BEGINS = re.compile(r"[\d(√$-]|[A-Za-z](?!\w)")
_OPERAND = r"(?<=[\w)\]²³.°%!])"
_NUMBERED = "|".join(
    rf"(?<=\b{name}\.)" for name in ("[Pp]", "pp", "[Nn]o", "[Ff]ig", "[Vv]ol", "[Cc]h", "[Oo]p", "[Ll]v")
)
"""Right behind what numbers something, "p.12"."""
RULES: tuple[Rule, ...] = (
    rule(r"(?<![\w./])(\d{1,15})\s(\d{1,2})/(\d{1,3})(?![\w/]|\.\d)", _mixed),
    rule(
        r"(?<![\w./-])(\d{1,3})-(?:(1)/(2)|([13])/(4)|([12])/(3)|([1357])/(8))(?![\w/]|\.\d)", _joined_mixed
    ),
    rule(rf"(?<=[{''.join(_VULGAR)}])\s?[-–—]\s?(?=[\d{''.join(_VULGAR)}])", " to "),
    rule(
        r"\b(?:[Uu]nit|[Ff]lat|[Ll]ot|[Aa]partment|[Aa]pt\.?)\s(?P<say>(\d{1,4})/(\d{1,4}))(?=,?\s[A-Z]|,\s\d)",
        lambda match: f"{number(match[2])}, {number(match[3])}",
    ),
    rule(
        r"\A\((?P<say>(\d{1,2})/(\d{1,2}))\)(?=\s+[A-Z])",
        lambda match: f"{number(match[2])} of {number(match[3])}",
    ),
    rule(r"[▲↑]\s?(?=[$€£]?\d)", "up "),
    rule(r"[▼↓]\s?(?=[$€£]?\d)", "down "),
    rule(r"(?:(?<=[a-z]\s)|(?<=\s\())x(?=[1-9]\d?[\])])(?!32|64|86)", "times "),
    rule(
        rf"(?:(?:(?<![\w.,/$€£¥])|(?<=[A-Za-z]/))(?P<whole>\d{{1,3}}(?:,\d{{3}}){{1,4}}|\d{{1,15}})\s?)?(?P<part>[{''.join(_VULGAR)}])",
        _vulgar,
    ),
    rule(
        r"\b(?:(?:[HMX]P):?|SAT|[Rr]ated|[Ss]core[ds]?:?|[Gg]ot|[Rr]ating(?: of)?:?|solid|"
        r"[Gg]rade|[Ss]trength|[Pp]ain:?|A(?:PGAR|pgar)|"
        r"[Gg](?:ives?|ave|iving) (?:it|this|them)(?: an?)?)"
        r"\s(?P<say>(\d+(?:\.\d+)?)/(\d+))(?![\w/])",
        lambda match: f"{number(match[2])} out of {number(match[3])}",
    ),
    rule(
        r"\b(?:[Ss]tep|[Ss]lide|[Pp]age|[Pp]art|[Tt]est|[Dd]ay)\s(?P<say>(\d{1,3})/(\d{1,3}))(?![\w/]|\.\d)",
        lambda match: f"{number(match[2])} of {number(match[3])}",
    ),
    rule(
        r"(?<![\w./])(?P<say>(\d{1,2})/(10))(?=[.,!?;)]|\s*$|\s(?:stars?|would|and|but|for|people|[a-z]{3,}(?<!mile)(?<!meter)(?<!point)(?<!second)s)\b)(?!\.\d)",
        lambda match: f"{number(match[2])} out of {number(match[3])}",
    ),
    rule(
        r"(?<![\w./])(\d{1,2})/(2|4|8|16)(?=\stime\b)", lambda match: f"{number(match[1])} {number(match[2])}"
    ),
    rule(r"\b(?:Windows|Android|iOS|macOS|iPhone|Win)\s?\d{1,2}(?P<say>/)(?=\d{1,2}(?!\d))", ", "),
    rule(r"(?<![\w./])(\d{1,2})/(\d{1,3})(?:st|nd|rd|th)s?\b", _parts_of),
    rule(
        r"\b(?:an?|easy)\s(?P<say>([2-9])/(10))(?![\w/-]|\.\d|\s(?:of|inch|mile|chance|scale|share|split)\b)",
        lambda match: f"{number(match[2])} out of {number(match[3])}",
    ),
    rule(
        r"(?<![\w./])(\d{1,3})/(\d{1,3}\.\d{1,3})(?![\w/]|\.\d)",
        lambda match: f"{number(match[1])} over {number(match[2])}",
    ),
    rule(r"(?<![\w./])(\d+\.\d+)/(\d+(?:\.\d+)?)(?![\w/]|\.\d)", _out_of),
    rule(r"(?<![\w./,])(\d{1,3}(?:,\d{3})+)/(\d{1,3}(?:,\d{3})+)(?![\w/]|[.,]\d)", _out_of),
    rule(r"(?<![\w./])(?<!\d,)(\d{1,3})\s?[/⁄]\s?(\d{1,3})(?![\w/]|\.\d|,\d{3}|\s?=)", _fraction),
    rule(r"\s\+\s(?=…)|(?<=…)\s\+\s", " plus "),
    rule(r"(?<=\d[Kp])\s?@\s?(?=\d)", " at "),
    rule(rf"{_OPERAND}(?P<say>\s(?:[+×÷*/])\s)(?=[\w(√$∑∏∫∂-])", _operate),
    rule(r"(?<=\d)(?P<say>\s?[×÷−]\s?)(?=\d)", _operate),
    rule(r"(?<=\d)(?P<say>[+*])(?=\d)", _operate),
    rule(r"(?<=\d)(?P<say>\+)(?!\w)", " plus"),
    rule(r"\bT\+(?=\d)", "T plus "),
    rule(r"(?<![\w)+])\+(?=[$€£]?\.?\d)", "plus "),
    rule(r"(?<![\w)+])×\s?(?=\d)", "times "),
    rule(r"(?<=\d)-(?=\d+(?:\.\d+)?\s?=)", " minus "),
    rule(r"(?<=\d)/(?=\d+(?:\.\d+)?\s?=)", " divided by "),
    rule(
        r"\b(?:[A-Z][a-z]{2,15}\.?)\s(?P<say>(\d{1,3}):(\d{1,3})[-–](\d{1,3}))(?![\w:])",
        lambda match: f"{number(match[2])}, {number(match[3])} to {number(match[4])}",
    ),
    rule(r"(?<=\d)(?P<say>[x×])(?=\d)", "by"),
    rule(r"(?<=[\w)])(?P<say>\s(?:-)\s)(?=\d)(?<=\d\s-\s)", _spaced_dash),
    rule(
        rf"{_OPERAND}(?P<say>\s?(?:===|!==|==|!=|\+=|-=|<=|>=|&&|\|\||=>|->|[=≥≤≠≈→])\s?)(?=[\w(√+$−±-]|\.\d)",
        _compare,
    ),
    rule(r"(?<=[\w)\]}⌋|%'′\u0304\u0302])(?P<say>\s=\s)(?=[\w{\[\"'⌊|√+$−±(∑∏∫∂-]|\.\d)", _compare),
    rule(
        r"\b[Ii]s\s[\w.]{1,12}(?P<say>\s[<>]\s)(?=[\w(.-])",
        lambda match: f" {_COMPARISONS[match['say'].strip()][4:]}",
    ),
    rule(
        r"(?<=[\w)|])(?P<say>\s[<>]\s)(?=[\w(.-])",
        lambda match: _COMPARISONS[match[0].strip()],
    ),
    rule(r"(?<=[\w)])[<>](?=\.?\d)", _beside_number),
    rule(r"(?<![\w)<>=-])(?P<say>[<>≤≥])\s?(?=[$€£]?\.?\d)", lambda match: _COMPARISONS[match["say"]][4:]),
    rule(r"(?<=\d)\sx\s(?=\d+(?:\.\d+)?\s?(?:mg|g|kg|ml|mL|l|L|[MGT]B|tablets?)\b)", " times "),
    rule(r"(?<=[\d½¼¾⅓⅔⅛⅜⅝⅞])\sx\s(?=\d)", " by "),
    rule(rf"(?<=\d)[xX×](?=\s(?:{_TIMES})\b)", " times"),
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
    rule(r"(?<![\w)\]])[-−](?=\d{1,3}/\d{1,3}(?![\w/]))", "minus "),
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
    rule(r"(?<=\d)(?P<say>\s?–\s?|—|-)(?=[$€£]?\d)", " to "),
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
