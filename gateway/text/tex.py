r"""Formulas of TeX as they are printed, in signs that rules read: "$\frac{a}{b} \leq x^2$" is "a⁄b ≤ x²".

A fraction stroke parts the halves of a fraction. What a sum runs over follows it in brackets: "∑(i = 1→n)".
"""

from __future__ import annotations

import re

from gateway.text.rules import rule

_SIGNS = {
    "leq": "≤", "le": "≤", "geq": "≥", "ge": "≥", "neq": "≠", "ne": "≠", "approx": "≈", "sim": "≈",
    "equiv": "≡", "cong": "≅", "ll": "≪", "gg": "≫", "times": "×", "cdot": "×", "ast": "×", "div": "÷",
    "pm": "±", "infty": "∞", "to": "→", "rightarrow": "→", "longrightarrow": "→", "Rightarrow": "⇒",
    "implies": "⇒", "iff": "⇔", "Leftrightarrow": "⇔", "in": "∈", "notin": "∉", "subset": "⊂",
    "subseteq": "⊆", "cup": "∪", "cap": "∩", "forall": "∀", "exists": "∃", "sum": "∑", "prod": "∏",
    "int": "∫", "partial": "∂", "angle": "∠", "triangle": "△", "perp": "⊥", "parallel": "∥", "propto": "∝",
    "therefore": "∴", "because": "∵", "pi": "π", "ldots": "…", "cdots": "…", "dots": "…", "circ": "°",
    "degree": "°", "prime": "′", "lt": "<", "gt": ">", "varepsilon": "epsilon", "vartheta": "theta",
    "varphi": "phi", "emptyset": "∅", "mid": "|", "mapsto": "→", "setminus": "−", "neg": "not", "lor": "or",
    "land": "and", "lfloor": "floor(", "rfloor": ")", "lceil": "ceiling(", "rceil": ")", "|": "|", "%": "%",
    "$": "$", "&": "&", "#": "#", "_": "_", "{": "{", "}": "}",
}  # fmt: skip
_UNSEEN = re.compile(
    r"\\(?:left|right|[bB]igg?[lr]?|displaystyle|limits|nolimits)(?![A-Za-z])\.?|\\!"
    r"|\\(?:begin|end)\{[a-z]{1,12}\*?\}|(?<!\\)&|\\(?:label|tag)\{[^{}]{0,60}\}"
)
_LINE_ENDS = re.compile(r"\s{0,9}\\\\\s{0,9}")
_SPACE = re.compile(r"(?:\\q?quad(?![A-Za-z])|\\[,;:>]|(?<!\\)\\(?=\s)|~|\s)+")
_WORDS = re.compile(
    r"\\(?:text|math[a-z]{2,4}|operatorname|boldsymbol|boxed|vec|hat|bar|overline|overrightarrow|underline)\s?\{([^{}]*)\}"
)
_CHOICE = re.compile(r"\\[dt]?binom\s?\{([^{}]*)\}\s?\{([^{}]*)\}")
_REST = re.compile(r"\\pmod\s?\{([^{}]*)\}")
_FRACTION = re.compile(r"\\[dtc]?frac\s?(?:\{([^{}]*)\}|(\d))\s?(?:\{([^{}]*)\}|(\d))")
_ROOT = re.compile(r"\\sqrt\s?(?:\[(\w)\])?\s?(?:\{([^{}]*)\}|(\w))")
_RUNS = re.compile(
    r"\\(sum|prod|int|lim)\s?(?:_(?:\{([^{}]*)\}|(\w)))(?:\s?\^(?:\{([^{}]*)\}|(\w|\\infty)))?\s?"
)
_POWER = re.compile(r"\s?\^\s?(?:\{([^{}]*)\}|([A-Za-z0-9]|\\[A-Za-z]+))")
_INDEX = re.compile(r"_\s?(?:\{([^{}]*)\}|([A-Za-z0-9]))")
_COMMAND = re.compile(r"\\([A-Za-z]+|[%$&#_{}|])[ ]?")
_OPERATOR = re.compile(r"(?<=[\w)\]⁰-⁹²³¹°′…])\s?([-+=<>≤≥≠≈×÷±])\s?(?=\S)")
_SIMPLE = re.compile(r"\w{1,12}")
_RAISED = str.maketrans("0123456789+-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻")
_LEFT_ALONE = ("floor(", "ceiling(", ")", *"∂∑∏∫∠△π∞°′…∅%$&#_{},|")
"""What needs no spaces around."""
_DEEPEST = 12
_FORMULA = re.compile(r"\\(?:[A-Za-z]{2}|[{}%])|[\w)}\]]\s?\^|_\{|(?<![A-Za-z])[A-Za-z]_\w(?!\w)")
_RELATION = re.compile(r"(?<![A-Za-z$])[A-Za-z]\s?[<>=]|[<>=]\s?[A-Za-z](?![A-Za-z])")
_PROGRAM = re.compile(r"[\"';]|\\\||\s-[A-Za-z]{2}")
_SUM = re.compile(r"\s?[\w)]\s?[-+=<>]\s?[\w(]|\s?[A-Za-z]\s?\Z")
"""What tells formulas from prices, regular expressions and lines of a shell."""
_BRACED = r"\{(?:[^{}\n]|\{[^{}\n]{0,80}\}){0,120}\}"
_NAMED = (
    r"\\(?:[dtc]?frac|sqrt|sum|prod|int|lim|infty|partial|nabla|left|right|text|math(?:bb|bf|cal|rm)|vec|d?binom|"
    r"leq?|geq?|neq?|approx|equiv|times|cdot|div|pm|in|to|(?:long)?rightarrow|Rightarrow|implies|"
    r"[Aa]lpha|[Bb]eta|[Gg]amma|[Dd]elta|(?:var)?epsilon|[Tt]heta|[Ll]ambda|[Ss]igma|[Oo]mega|[Pp]hi|[Pp]si|[Pp]i|mu|"
    r"sin|cos|tan|log|ln|exp|max|min)(?![A-Za-z])"
)
"""What formulas alone have, and no path and no regular expression."""
_SET = rf"(?:\s?{_BRACED}|\s?[_^](?:{_BRACED}|[A-Za-z0-9]|\\[A-Za-z]{{1,12}}))"
_BARE = rf"(?<![A-Za-z]{{2}})(?<![\\/:.\"']){_NAMED}(?:\[\w\])?{_SET}{{0,4}}(?!\\[a-z]{{1,20}}\.|/)"
_RAISED_BY = rf"(?<![A-Za-z0-9])[A-Za-z0-9]\^(?=\{{[^{{}}\n]{{0,40}}\\){_BRACED}"
_PROSE = re.compile(r"[A-Za-z]{3}|[^\x00-\x7f]|\A\s?[),.;]")
"""Words, and how they go on behind "($$": no formula, unless something else tells of one."""


def printed(tex: str) -> str:
    """A formula as it is printed, on one line."""
    tex = _SPACE.sub(" ", _UNSEEN.sub("", _LINE_ENDS.sub(", ", tex))).strip()
    for _ in range(_DEEPEST):
        before = tex
        tex = _WORDS.sub(r"\1", tex)
        tex = _REST.sub(r"\\mod \1", _CHOICE.sub(r"C(\1, \2)", tex))
        tex = _RUNS.sub(_run, tex)
        tex = _INDEX.sub(lambda match: f" {match[1] or match[2]}", tex)
        tex = _POWER.sub(_power, tex)
        tex = _ROOT.sub(_root, tex)
        tex = _FRACTION.sub(_fraction, tex)
        if tex == before:
            break
    tex = _COMMAND.sub(_sign, re.sub(r"(?<!\\)[{}]", "", tex))
    return re.sub(r" +(?=[ ²³¹⁰⁴-⁹⁻^])", "", _OPERATOR.sub(_apart, tex)).strip()


def _grouped(text: str) -> str:
    text = text.strip()
    return text if _SIMPLE.fullmatch(text) else f"({text})"


def _fraction(match: re.Match[str]) -> str:
    return f"{_grouped(match[1] or match[2])}⁄{_grouped(match[3] or match[4])}"


def _root(match: re.Match[str]) -> str:
    return f"{(match[1] or '').translate(_RAISED)}√{_grouped(match[2] or match[3])}"


def _power(match: re.Match[str]) -> str:
    power = (match[1] or match[2]).strip()
    if power in ("st", "nd", "rd", "th"):
        return power
    if power in (r"\circ", r"\prime"):
        return _SIGNS[power[1:]]
    if re.fullmatch(r"[-+]?\d{1,4}", power):
        return power.translate(_RAISED)
    return f"^{power if len(power) == 1 else f'({power})'}"


def _run(match: re.Match[str]) -> str:
    """ "∑(i = 1→n)"."""
    name = match[1] if match[1] == "lim" else _SIGNS[match[1]]
    first, last = match[2] or match[3], match[4] or match[5]
    return f"{name}({first}→{last}) " if last else f"{name}({first}) "


def _sign(match: re.Match[str]) -> str:
    """By name where it has no sign: Greek letters and functions."""
    sign = _SIGNS.get(match[1], match[1])
    return sign if sign in _LEFT_ALONE else f" {sign} "


def _apart(match: re.Match[str]) -> str:
    return f" {'−' if match[1] == '-' else match[1]} "


def _between(match: re.Match[str]) -> str | None:
    """Of two dollar signs, which may be of prices or of a shell."""
    tex = match["tex"]
    return printed(tex) if _FORMULA.search(tex) or _RELATION.search(tex) else None


def _bracketed(match: re.Match[str]) -> str | None:
    tex = match["tex"]
    return printed(tex) if (_FORMULA.search(tex) or _SUM.match(tex)) and not _PROGRAM.search(tex) else None


def _displayed(match: re.Match[str]) -> str | None:
    """Of two pairs of dollar signs, which may tell how dear two places are."""
    tex = match["tex"]
    is_formula = _FORMULA.search(tex) or _RELATION.search(tex) or not _PROSE.search(tex)
    return printed(tex) if is_formula else None


def _all(match: re.Match[str]) -> str:
    return printed(match[0])


TEX = (
    rule(r"(?<![A-Za-z0-9$\\])\$\$(?P<tex>[^$]{1,600})\$\$(?![A-Za-z0-9$])", _displayed),
    rule(r"(?<![A-Za-z0-9$\\])\$(?=\S)(?P<tex>[^$\n]{1,300})(?<=\S)\$(?![A-Za-z0-9$({])", _between),
    rule(r"(?<=[A-Za-z0-9)])\$(?P<tex>[_^](?:\{[^{}$\n]{1,20}\}|\w))\$", lambda match: printed(match["tex"])),
    rule(r"(?<![A-Za-z0-9\\*.\]])\\\((?P<tex>[^\n]{1,300}?)\\\)", _bracketed),
    rule(r"(?<!\\)\\\[(?P<tex>[^\]]{1,600}?)\\\]", _bracketed),
    rule(
        r"\\begin\{(?P<name>equation|align|gather|math)\*?\}(?P<tex>[^$]{1,600}?)\\end\{(?P=name)\*?\}", _all
    ),
    rule(_RAISED_BY, _all),
    rule(_BARE, _all),
)
