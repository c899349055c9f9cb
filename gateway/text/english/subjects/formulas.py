"""Formulas of chemistry and algebra, and hyphens and plus signs that are no ranges and no sums."""

from __future__ import annotations

import re

from gateway.text.english.numbers import number
from gateway.text.marks import FIGURES, RAISED
from gateway.text.rules import Rule, rule

_EQUATION = re.compile("[=<>≤≥]")
_NEAR = 200
"""Characters in which it is looked for."""
_SIGNS = {"+": " plus ", "-": " minus ", "⁺": " plus", "⁻": " minus"}
_BETWEEN = {
    "∈": "in", "∉": "not in", "⊂": "is a subset of", "⊆": "is a subset of", "∪": "union", "∩": "intersection",
    "⊥": "is perpendicular to", "∥": "is parallel to", "∝": "is proportional to", "≅": "is congruent to",
    "≡": "is identical to", "⇌": "in equilibrium with", "⇒": "implies", "⇔": "if and only if",
    "∧": "and", "∨": "or", "≪": "is much less than", "≫": "is much greater than",
}  # fmt: skip
_BEFORE = {
    "∀": "for all", "∃": "there is", "∑": "the sum of", "∏": "the product of", "∫": "the integral of",
    "¬": "not", "∂": "partial", "∴": "therefore", "∵": "because", "∠": "angle", "△": "triangle",
    "∛": "the cube root of",
}  # fmt: skip
"""Signs of mathematics between two terms, and before one."""
_RUNS = {"∑": "the sum", "∏": "the product", "∫": "the integral", "lim": "the limit"}
_KEYS = "Ctrl|Cmd|Command|Control|Alt|Option|Shift|Win|Fn|Meta"


def _charge(match: re.Match[str]) -> str:
    """Of an ion: "Fe³⁺"."""
    amount = f" {number(match['amount'].translate(FIGURES))}" if match["amount"] else ""
    return amount + _SIGNS[match["sign"]]


def _logarithm(match: re.Match[str]) -> str:
    return f"log base {number(match['base'].translate(_LOWERED))} of "


def _strand(match: re.Match[str]) -> str:
    """Of DNA, from one end to the other: "5'-3'"."""
    return f"{number(match[1])} prime to {number(match[3])} prime"


def _isotope(match: re.Match[str]) -> str:
    return f"{number(match['say'].translate(FIGURES))} "


def _in_equation(match: re.Match[str], said: str | None = None) -> str | None:
    around = max(0, match.start() - _NEAR), match.end() + _NEAR
    if not _EQUATION.search(match.string, *around):
        return None
    return said or _SIGNS[match["say"].strip()]


def _over(match: re.Match[str]) -> str | None:
    return _in_equation(match, " over ")


def _run(match: re.Match[str]) -> str:
    """Over what a sum runs: "∑(i = 1→n)", "lim(x → 0)"."""
    name = match["name"]
    return f"{_RUNS[name]} {'as' if name == 'lim' else 'from' if '→' in match['over'] else 'over'} "


def _integral(match: re.Match[str]) -> str:
    """From where to where it goes."""
    first = number(match["first"].translate(_LOWERED))
    last = "infinity" if match["last"] == "∞" else number(match["last"].translate(FIGURES))
    return f"the integral from {first} to {last} of "


_LOWERED = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
_ABSOLUTE = r"[\w−-](?:[\w\s+−*/^-]{0,30}\w)?"
_RELATED = r"(?=\s?[=<>≤≥]\s?[\w−-])"
_OVER = r"(?P<name>[∑∏∫]|\blim)\((?=(?P<over>[^()\n]{1,60})\))"
_TERM = rf"[\d(]|[a-z](?=\s?[-+*/=<>≤≥^{RAISED}),.;]|\s(?:and|or|is|where)\b|$)"
"""Of an equation: no article."""
RULES: tuple[Rule, ...] = (
    rule(rf"(?<=[A-Za-z0-9)])(?P<say>(?P<amount>[{RAISED}]?)(?P<sign>[⁺⁻]))(?![{RAISED}])", _charge),
    rule(rf"(?<![\w)])(?P<say>[{RAISED}]{{1,3}})(?=[A-Z])", _isotope),
    rule(
        r"(?<=[A-Za-z0-9)])\^(?P<amount>\d?)(?P<sign>[-+])(?![\w(])",
        _charge,
    ),
    rule(r"(?<=[\w)])\^\{(?=[^{}\n]{1,30}\})", " to the power of "),
    rule(r"(?<=[\w)])\^\{[^{}\n]{1,30}(?P<say>\})", ""),
    rule(r"\blog(?P<base>2|10)(?:\s(?=[\d(a-z])|(?=\())", _logarithm),
    rule(r"(?<![\w.])([35])['′’](?P<to>\s?[-–→]\s?)([35])['′’](?!\w)", _strand),
    rule(r"(?<=[\w)])\^(?P<power>[A-Za-z])(?![A-Za-z])", lambda match: f" to the power of {match['power']}"),
    rule(r"(?:(?<=[\d(+*/= -][a-z])|(?<=^[a-z]))(?<!\de)(?P<say>[-+])(?=[\d(]|[a-z](?![a-z]))", _in_equation),
    rule(r"(?<=\b[a-z][a-z])(?<!\d-[a-z][a-z])(?P<say>[-+])(?=[\d(]|[a-z](?![a-z]))", _in_equation),
    rule(rf"(?<=[{RAISED})])(?P<say>[-+])(?=[\w(])", _in_equation),
    rule(rf"(?:(?<=[\s(\d][a-z\d{RAISED})])|^[a-z])(?P<say>\s-\s)(?={_TERM})", _in_equation),
    rule(rf"(?<=[a-z\d)][{RAISED}])(?P<say>\s-\s)(?={_TERM})", _in_equation),
    rule(
        r"(?:(?<=[(=])|(?<== ))-(?=[a-z](?:\s?[-+*/^±),.;²³]|$))",
        lambda match: _in_equation(match, "minus "),
    ),
    rule(
        rf"(?<=[{RAISED})])/(?=[\w(])|(?:(?<=[=(+*-]\w)|(?<=[=+*-]\s\w))/(?=[a-z\d](?!\w))"
        r"|(?<=\b[a-z\d])(?<!\bm(?=/s))/(?=[a-z]\s?[=+*])",
        _over,
    ),
    rule(
        rf"(?:(?<=[\d){RAISED}])|(?<=(?<![A-Za-z'’])[A-Za-z]))(?P<say>\s−\s|−)(?=[\d(√π]|[A-Za-z](?![A-Za-z]{{2}}))",
        " minus ",
    ),
    rule(r"(?<![\w)\]])−(?=[(∞√π]|[A-Za-z](?![A-Za-z]))", "minus "),
    rule(r"(?<=\bd[a-z])/(?=d[a-z]\b)|(?<=d²[a-z])/(?=d[a-z]²)|(?<=[∂Δ][a-z])/(?=[∂Δ][a-z])", " over "),
    rule(r"\b([A-Z]{1,2})\d{1,3}(?P<say>\s?[-–]\s?)(?=\1\d{1,3}\b)", " to "),
    rule(r"(?:(?<=\d)|(?<=\b[nkmr])|(?<=\)))!(?=\s?[=+×/)]|\s-\s)(?!=\s?[a-z]\w)", " factorial"),
    rule(r"(?<=\b[nkmr])!(?=\()", " factorial "),
    rule(
        rf"(?<=[\w)}}\]|°])(?P<say>\s?[{''.join(_BETWEEN)}]\s?)(?=[\w({{\[√∅∠△-])",
        lambda match: f" {_BETWEEN[match['say'].strip()]} ",
    ),
    rule(rf"∫(?P<first>[₀-₉]{{1,3}})(?P<last>[{RAISED}]{{1,3}}|∞)\s?", _integral),
    rule(rf"(?<![\w|)])(?P<say>\|){_ABSOLUTE}\|{_RELATED}", "the absolute value of "),
    rule(rf"(?<![\w|)])\|{_ABSOLUTE}(?P<say>\|){_RELATED}", ""),
    rule(_OVER, _run),
    rule(r"(?:[∑∏∫]|\blim)\([^()\n]{1,60}(?P<say>\)\s?)", " of "),
    rule(r"(?<=\blim\(\w)\s?→\s?", " goes to "),
    rule(r"(?<=[\w)])\s?→\s?(?=∞)", " to "),
    rule(rf"(?<=[^\W\d])⁄|(?<=[{RAISED})])⁄|⁄(?=[^\W\d]|[√(π])", " over "),
    rule(r"(?<=[\w)])\^(?=\()", " to the power of "),
    rule(r"(?<=\()-(?=[a-z\d√(])(?<=\^\(-)", "minus "),
    rule(rf"[{''.join(_BEFORE)}]\s?(?=[\w({{√∠△-])", lambda match: f"{_BEFORE[match[0].strip()]} "),
    rule(r"³√\s?(?=[\d(a-z])", "the cube root of "),
    rule(r"∅", "the empty set"),
    rule(r"(?<=[\w)])ⁿ", " to the power of n"),
    rule(r"\bx86(?P<say>-)64\b", " "),
    rule(r"(?<=[A-Za-z]\d)-(?=\d{1,3}[A-Z]|\d{4})|(?<=\d\.\d)-(?=\d{1,3}[A-Z])", " "),
    rule(rf"\b(?:{_KEYS})(?P<say>\+)(?=\w)", " plus "),
)
