"""Chinese: signs of mathematics and music, and the grammar's number of the ambulance where it is none."""

from __future__ import annotations

import re

from gateway.text.chinese.numbers import cardinal, number
from gateway.text.marks import FIGURES, RAISED
from gateway.text.rules import Rule, rule

_BEFORE = {"∵": "因为", "∴": "所以", "∠": "角", "△": "三角形", "∀": "对任意", "∃": "存在"}
_BETWEEN = {
    "∈": "属于", "∉": "不属于", "⊂": "包含于", "⊆": "包含于", "∪": "并", "∩": "交", "⊥": "垂直于",
    "≡": "恒等于", "∥": "平行于", "≌": "全等于", "∽": "相似于", "∝": "正比于", "⇌": "可逆生成",
}  # fmt: skip
_SHORT_NUMBERS = "1(?:1[01249]|2[02])"
"""Which the grammars read as of a telephone, whatever is measured."""
_FORMULA = re.compile(r"[A-Z][A-Za-z0-9)]*\s?$")
_MENU = re.compile("设置|菜单|点击|选择|打开|进入|文件|工具|选项|我的")
_NEAR = 16
"""Characters in which it is told that menus are meant."""
_MEASURED = "=于度压速重高宽厚温率量价费值分数约近达过超"


def _cardinal(match: re.Match[str]) -> str:
    return number(match["say"])


def _factorial(match: re.Match[str]) -> str:
    return f"{number(match['n'])}的阶乘{'等于' if match['equals'] else ''}"


def _logarithm(match: re.Match[str]) -> str:
    of = number(match[2]) if match[2].isdecimal() else match[2]
    return f"以{number(match[1])}为底{of}的对数"


def _over(match: re.Match[str]) -> str | None:
    return "除以" if "=" in match.string else None


def _arrow(match: re.Match[str]) -> str:
    """From a place to another, on to the next menu, or of a reaction."""
    before = match.string[max(0, match.start() - _NEAR) : match.start()]
    after = match.string[match.end() : match.end() + _NEAR]
    if _FORMULA.search(before) and "+" in before + after:
        return "生成"
    return "，" if _MENU.search(before) else "到"


def _metre(match: re.Match[str]) -> str:
    return f"{cardinal(int(match['note']))}分之{cardinal(int(match['beats']))}"


def _time(match: re.Match[str]) -> str:
    """ "5h35m", which is no length."""
    hours, minutes = int(match["h"]), int(match["m"])
    seconds = f"{cardinal(int(match['s']))}秒" if match["s"] else ""
    return f"{'两' if hours == 2 else cardinal(hours)}小时{cardinal(minutes)}分{seconds}"


def _share(match: re.Match[str]) -> str:
    """ "a⁄b", from below."""
    top, bottom = (number(part) if part.isdecimal() else part for part in (match[1], match[2]))
    return f"{bottom}分之{top}"


def _integral(match: re.Match[str]) -> str:
    """From where to where it goes."""
    first, last = number(match["first"].translate(_LOWERED)), match["last"]
    return f"从{first}到{'无穷大' if last == '∞' else number(last.translate(FIGURES))}的积分，"


ABSOLUTE = r"\|(?P<term>[A-Za-z0-9−-][A-Za-z0-9\s+−*/^-]{0,30})\|(?=\s?[=<>≤≥]\s?[\w−-])"
_LOWERED = str.maketrans("₀₁₂₃₄₅₆₇₈₉", "0123456789")
_RUNS = {"∑": "求和", "∏": "求积", "∫": "积分"}
RULES: tuple[Rule, ...] = (
    rule(r"(?<![A-Za-z\d)²³])([A-Za-z\d]{1,12})⁄([A-Za-z\d]{1,12})(?![A-Za-z\d(²³^])", _share),
    rule("⁄", "除以"),
    rule(r"∅(?!\s?\d)", "空集"),
    rule(r"(?<=[\w)])\s−\s(?=[\w(√])", "减"),
    rule(r"[∑∏∫]\((?=[^()→]{1,30}→[^()]{1,30}\))", "从"),
    rule(
        r"(?P<name>[∑∏∫])\([^()→]{1,30}→[^()]{1,30}(?P<say>\)\s?)", lambda match: f"{_RUNS[match['name']]}，"
    ),
    rule(r"(?<![A-Za-z])lim\((?=[^()]{1,30}→)", "极限，当"),
    rule(r"(?<![A-Za-z])lim\([^()]{1,30}→[^()]{1,30}(?P<say>\)\s?)", "时，"),
    rule(rf"(?<![\w|)]){ABSOLUTE}", lambda match: f"{match['term']}的绝对值"),
    rule(rf"∫(?P<first>[₀-₉]{{1,3}})(?P<last>[{RAISED}]{{1,3}}|∞)\s?", _integral),
    rule(r"(?<![A-Za-z])log(\d{1,2})\s(\d{1,6}|[a-z])(?![\w.])", _logarithm),
    rule(r"≡(?=[^，。]{1,12}\(mod)", "同余于"),
    rule(r"(?<=\([a-z])-(?=[a-z\d]\))|(?<=\(\d)-(?=[a-z]\))", "减"),
    rule(r"[∑∏∫]\s?", lambda match: _RUNS[match[0].strip()]),
    rule(r"(?<=[\w)])\^(?=\([^()]{1,40}\))", "的"),
    rule(r"(?<=[\w)])\^\([^()]{1,40}(?P<say>\))", ")次方"),
    rule(rf"[{''.join(_BEFORE)}]\s?(?=[-\w(∠△√])", lambda match: _BEFORE[match[0].strip()]),
    rule(
        rf"(?<=[\w)])(?P<say>\s?[{''.join(_BETWEEN)}]\s?)(?=[\w(\[∠△])",
        lambda match: _BETWEEN[match["say"].strip()],
    ),
    rule(r"(?<![\d.])(?P<n>\d{1,3})!(?P<equals>\s?=\s?(?=\d))?(?=[\d+×/÷])", _factorial),
    rule(r"(?<=[…!])\+(?=\d)|(?<=\d)\+(?=…)", "加"),
    rule(
        r"(?P<note>[♩♪])\s?=\s?(?P<n>\d{2,3})",
        lambda match: f"{'四' if match['note'] == '♩' else '八'}分音符等于{number(match['n'])}",
    ),
    rule(
        rf"(?<=[{_MEASURED}])\s?(?P<say>{_SHORT_NUMBERS})(?![A-Za-z\d.%℃°㎡/]|\s[A-Za-z]|急救|救护|电话|报警|指挥|调度)",
        _cardinal,
    ),
    rule(rf"(?<![\d.-])(?P<say>{_SHORT_NUMBERS})(?=\s?[KMGTP]B(?![A-Za-z]))", _cardinal),
    rule(rf"(?<![\d.-])(?P<say>{_SHORT_NUMBERS})(?=\s?[-–—~～到至]\s?\d)", _cardinal),
    rule(r"(?<![\d/])(?P<beats>\d{1,2})/(?P<note>[248]|16)(?=拍)", _metre),
    rule(r"#(?=[A-Ga-g][大小]调)", "升"),
    rule(r"(?<![A-Za-z])(?P<note>[A-G])#(?=m|maj|dim|sus|[5-9](?!\d))", lambda match: f"升{match['note']}"),
    rule(r"(?<=[A-Za-z])\s?→\s?(?=∞|0)", "趋于"),
    rule(r"(?:(?<=[\w)）》”℃%])|(?<=[\w)）》”℃%]\s))(?P<say>→\s?)(?=[^\W_]|[(（《“√-])", _arrow),
    rule(r"[▲↑]\s?(?=\d)", "涨"),
    rule(r"[▼↓]\s?(?=\d)", "跌"),
    rule(r"(?:³√|∛)\s?(?=[\d(a-z])", "三次根号"),
    rule(r"(?<=[\w)])ⁿ", "的n次方"),
    rule(r"(?<![\w)\]%|])−\s?(?=\d)|(?<=\|)−(?=\d)", "负"),
    rule(r"(?<==)\s?-(?=\d{1,3}/\d)", "负"),
    rule(rf"(?<=[A-Z]{{2}}\s)(?P<say>{_SHORT_NUMBERS})(?![A-Za-z\d.%℃°㎡/-])", _cardinal),
    rule(
        r"(?<![A-Za-z\d.])(\d{1,2})m\s?([0-5]?\d)s(?![A-Za-z\d])",
        lambda match: f"{'两' if match[1] == '2' else cardinal(int(match[1]))}分{cardinal(int(match[2]))}秒",
    ),
    rule(r"(?<=[(=])-(?=[a-zA-Z](?![A-Za-z]))", "负"),
    rule(r"(?<=\))/(?=[\da-z])|(?<=[=(+-][A-Za-z])/(?=[A-Za-z\d])|(?<=[(+]\d)/(?=[a-z](?![A-Za-z]))", _over),
    rule(r"(?<=(?<![A-Za-z])[a-z])[:：∶](?=[a-z]=\d)|(?<=[A-Za-z])∶(?=[A-Za-z])", "比"),
    rule(r"(?<=\d)\s?bps?(?![A-Za-z])", "个基点"),
    rule(r"(?<![A-Za-z])b(?=[A-G][大小]调)", "降"),
    rule(
        r"(?<![A-Za-z\d.])(?P<h>\d{1,3})h\s?(?P<m>[0-5]?\d)m(?:\s?(?P<s>[0-5]?\d)s)?(?![A-Za-z])",
        _time,
    ),
    rule(r"[⑴-⒇]", lambda match: cardinal(ord(match[0]) - ord("⑴") + 1)),
    rule(r"[㈠-㈩]", lambda match: cardinal(ord(match[0]) - ord("㈠") + 1)),
    rule(r"(?<=\d)\s?pct(?![A-Za-z])", "个百分点"),
    rule(r"(?<=[\d℃%])(?P<say>\s?[~～]\s?)(?=[-−+]\d)", "到"),
)
