"""What the grammars get wrong: commas are pauses to them, hyphens minus signs, and addresses nothing."""

from __future__ import annotations

import re

from gateway.text.addresses import address_rules
from gateway.text.chinese import counting, days, money, names, notation, subjects, two
from gateway.text.chinese.counting import NUMBER, say_digits, say_number
from gateway.text.chinese.numbers import cardinal, digits, number, phone
from gateway.text.chinese.units import POWERED, UNIT, UNITS
from gateway.text.english.numbers import roman
from gateway.text.marks import FIGURES, NOTE, RAISED, STARS
from gateway.text.rules import Rule, rule

_SIGNS = {
    ".": "点", "/": "斜杠", "-": "杠", "_": "下划线", "?": "问号", "=": "等于", "&": "和", ":": "冒号",
    "@": "艾特", "#": "井号", "%": "百分号", "+": "加", "~": "波浪号", ",": "逗号", "*": "星号",
    "\\": "反斜杠",
    "(": "", ")": "", "[": "", "]": "", "!": "", "'": "", "$": "", ";": "",
}  # fmt: skip
_VULGAR = {
    "½": "二分之一", "⅓": "三分之一", "⅔": "三分之二", "¼": "四分之一", "¾": "四分之三", "⅕": "五分之一",
    "⅛": "八分之一", "⅜": "八分之三", "⅝": "八分之五", "⅞": "八分之七",
}  # fmt: skip
_ROMAN_SIGNS = {sign: number for number, sign in enumerate("ⅠⅡⅢⅣⅤⅥⅦⅧⅨⅩⅪⅫ", start=1)}


def _date(match: re.Match[str]) -> str | None:
    month, day = int(match["m"]), int(match["d"])
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return None
    return f"{digits(match['y'])}年{cardinal(month)}月{cardinal(day)}日"


def _time(match: re.Match[str]) -> str:
    hour, minute, second, half = (match[name] for name in ("hour", "minute", "second", "half"))
    value = int(hour)
    part = _part_of_day(value, half) if half else ""
    spoken = f"{part}{'两' if value == 2 else cardinal(value)}点"
    if minute and int(minute):
        spoken += ("零" if int(minute) < 10 else "") + cardinal(int(minute)) + "分"
    elif minute:
        spoken += "整"
    return spoken + (f"{cardinal(int(second))}秒" if second else "")


def _part_of_day(hour: int, half: str) -> str:
    if half[0] in "aA":
        return "上午"
    return "下午" if hour == 12 or hour < 6 else "晚上"


def _length(match: re.Match[str]) -> str:
    hours, minutes, seconds = (int(match[group]) for group in (1, 2, 3))
    return f"{'两' if hours == 2 else cardinal(hours)}小时{cardinal(minutes)}分{cardinal(seconds)}秒"


def _ratio(match: re.Match[str]) -> str:
    return f"{number(match[1])}比{number(match[2])}"


def _scale(match: re.Match[str]) -> str:
    """Of a map."""
    return f"{number(match['first'])}比{number(match['last'])}"


def _version(match: re.Match[str]) -> str:
    return "点".join(digits(group) if len(group) > 2 else number(group) for group in match["say"].split("."))


def _roman(match: re.Match[str]) -> str | None:
    value = roman(match["say"])
    return None if value is None else cardinal(value)


def _ruler(match: re.Match[str]) -> str | None:
    value = roman(match["say"])
    return None if value is None else f"{cardinal(value)}世"


def _fraction(match: re.Match[str]) -> str | None:
    top, bottom = int(match[1]), int(match[2])
    if not 1 < bottom <= 1000 or top >= bottom:
        return f"{cardinal(top)}斜杠{cardinal(bottom)}"
    return f"{cardinal(bottom)}分之{cardinal(top)}"


def _vulgar(match: re.Match[str]) -> str:
    whole = f"{cardinal(int(match['whole']))}又" if match["whole"] else ""
    return whole + _VULGAR[match["part"]]


def _unit(match: re.Match[str]) -> str:
    minus = "负" if match["minus"] else ""
    return f"{minus}{number(match['amount'])}{UNITS[match['unit']]}"


def _joined(match: re.Match[str]) -> str:
    """The number of a figure or table, "3-1"."""
    return "杠".join(map(number, match["say"].split("-")))


def _say_phone(match: re.Match[str]) -> str:
    plus = "加" if match["say"].startswith("+") else ""
    return plus + phone(match["say"])


_OPERATORS = {
    "+": "加", "-": "减", "−": "减", "×": "乘以", "*": "乘以", "÷": "除以", "=": "等于",
    ">": "大于", "<": "小于",
    "≥": "大于等于", "≤": "小于等于", ">=": "大于等于", "<=": "小于等于", "≠": "不等于", "≈": "约等于",
    "==": "等于",
    "!=": "不等于",
}  # fmt: skip


def _operator(match: re.Match[str]) -> str:
    return _OPERATORS[match["say"].strip()]


def _power(match: re.Match[str]) -> str:
    power = match["power"].lstrip("^").translate(FIGURES).lstrip("+")
    minus = "负" if power.startswith("-") else ""
    return {"2": "的平方", "3": "的立方"}.get(power) or f"的{minus}{number(power.lstrip('-'))}次方"


_RULERS = "亨利|路易|查理|查尔斯|威廉|爱德华|乔治|腓特烈|菲利普|伊丽莎白|拿破仑|保罗|庇护|本笃|若望|约翰"
_TAKES = re.compile(r"(?:用时|耗时|历时|时长|成绩)\D{0,3}$")
_HAN = "\u3400-\u9fff"
_OPERAND = r"(?<=[0-9A-Za-zα-ωΔ²³⁰¹⁴-⁹ⁿ)}\]|°%％℃])"
_NUMBERED = "案骤题图表注"
"""What a figure before a colon is the number of: 方案1：3个月."""
_NOT_IN_WORD = r"(?<![A-Za-z0-9.])"
_MINUS = rf"(?:(?<![\w)\]%])(?P<minus>[-−])|(?<=[{_HAN}])(?P<after>[-−]))?"
RULES: tuple[Rule, ...] = (
    *address_rules(_SIGNS, digits),
    rule(
        rf"{_NOT_IN_WORD}(?P<y>[12]\d{{3}})([-/.])(?P<m>\d{{1,2}})\2(?P<d>\d{{1,2}})(?=T\d\d:|(?![A-Za-z0-9_.-][A-Za-z0-9_]|\d))",
        _date,
    ),
    *subjects.RULES,
    *names.RULES,
    *notation.RULES,
    *two.RULES,
    *counting.RULES,
    rule(r"(?<=\d)T(?=\d\d:)", ""),
    rule(r"(?<!\d)9[/·]11(?!\d)", "九一一"),
    *money.RULES,
    rule(r"(?P<say>\+\d{1,3}[ -]?\d{2,4}(?:[ -]?\d{3,4}){1,3})(?!\d)", _say_phone),
    rule(r"(?<![\d.-])(?P<say>1[3-9]\d(?:[ -]?\d{4}){2})(?!\d)", _say_phone),
    rule(r"(?<![\d.-])(?P<say>(?:0\d{2,3}|[48]00)-\d{3,4}-?\d{4}|[48]00-\d{3}-\d{4})(?!\d)", _say_phone),
    rule(
        r"(?:拨打|电话|热线|致电|请拨|分机|打)[：:是为]?\s?(?P<say>\d{3,12})(?=\D|$)(?![个只次折分元块人年月日天])",
        _say_phone,
    ),
    rule(
        r"(?:邮编|邮递区号|统一编号|验证码|密码|尾号|端口|房间号|账号|卡号|QQ[号群]?号?|身份证号?码?|编号|学号|工号|代码)[：:是为【]?\s?#?"
        r"(?P<say>\d{3,20}(?: \d{3,4}){0,5})(?!\d)",
        lambda match: "，".join(map(digits, match["say"].split())),
    ),
    rule(r"(?:密码|验证码|账号|微信号?)[：:是为]{0,2}\s?[A-Za-z]{1,12}(?P<say>\d{3,12})(?!\d)", say_digits),
    rule(r"(?<![A-Za-z0-9_.])@[A-Za-z_\u3400-\u9fff]{1,20}(?P<say>\d{2,12})(?!\d)", say_digits),
    rule(r"(?P<say>\d{3,4})(?=[A-D]?(?:会议室|教室|室|房间))", say_digits),
    rule(
        rf"(?<![A-Za-z\d.,])({NUMBER})\s?g(?![A-Za-z0-9]|/[A-Za-z]|网|手机|信号|时代|技术|基站|芯片|流量)",
        lambda match: f"{number(match[1])}克",
    ),
    rule(r"(?<=\d转)\s?(?P<say>\d{3,6})(?!\d)", _say_phone),
    rule(r"(?<![A-Za-z\d])[A-Z]{1,4}(?P<say>\d{8,20})(?![A-Za-z\d])", say_digits),
    rule(r"(?<=_)(?P<say>\d+)(?!\d)", say_digits),
    rule(r"(?<=[图表])\s?(?P<say>\d{1,3}-\d{1,3})(?![\d-])", _joined),
    rule(r"(?<!\d)(?P<say>\d{3})(?=晚会|大促|购物节)", say_digits),
    rule(r"(?<=航班)\s?[A-Z]{2}(?P<say>\d{3,4})(?!\d)", _say_phone),
    rule(r"(?P<say>\d{3})(?=错误|报错|页面)", say_digits),
    rule(r"(?<=[A-Z])(?P<say>\d{3,4})(?=航班|次列车|次|号列车)", _say_phone),
    rule(r"(?<=波音|空客)(?P<say>\d{3})", say_digits),
    rule(
        r"(?<![\d.])(?P<say>\d{1,3}(?:\.\d{1,3}){3}(?P<port>:\d{1,5})?)(?![\d.])",
        lambda match: "".join({".": "点", ":": "冒号"}.get(sign) or digits(sign) for sign in match["say"]),
    ),
    rule(r"(?<![A-Za-z\d.-])(?P<say>\d+(?:-\d+){2,})(?![A-Za-z\d.-])", say_digits),
    rule(r"(?<![A-Za-z\d.,-])(?P<say>\d{13,}(?<!000))(?![\d.,-])", say_digits),
    rule(r"(?<![\d.])(?P<say>\d+(?:\.\d+){2,})(?![\d.]\d)", _version),
    rule(
        r"(?<![\d:])(\d{1,2}):([0-5]\d):([0-5]\d)(?![\d:])(?<=\d\d)",
        lambda match: (
            _length(match) if _TAKES.search(match.string, max(0, match.start() - 5), match.start()) else None
        ),
    ),
    rule(
        r"(?<![\d:.])(?P<hour>[01]?\d|2[0-4]):(?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d))?Z?(?![\d:])(?:\s?(?P<half>[AaPp][Mm]))?(?![A-Za-z])",
        _time,
    ),
    rule(
        r"(?<![\d:.A-Za-z])(?P<hour>1[0-2]|[1-9])\s?(?P<half>[AaPp][Mm])(?![A-Za-z])(?P<minute>)(?P<second>)",
        _time,
    ),
    rule(r"(?<![\d.:：])(1)\s?[:：]\s?(\d{3,9})(?=\s?的?(?:比例尺?|地[形]?图|模型))", _ratio),
    rule(r"比例尺?[为是：:]?\s?(?P<say>(?P<first>1)\s?[:：]\s?(?P<last>\d{3,9}))(?!\d)", _scale),
    rule(rf"(?<![\d.:{_NUMBERED}])(\d+(?:\.\d+)?)\s?[:：]\s?(?!\d{{5}})(\d+(?:\.\d+)?)(?![\d:])", _ratio),
    rule(
        r"(?<![\d.])(\d{1,3})-(\d{1,3})(?=获胜|战胜|战平|击败|领先|落后|惨败|告负|胜|负|平|的比分|的比)",
        _ratio,
    ),
    rule(r"(?<=[比局]分)(\d{1,3})-(\d{1,3})(?!\d)", _ratio),
    rule(
        rf"{_MINUS}(?<![\d.^])(?P<amount>{NUMBER})\s?(?P<unit>{UNIT})(?![A-Za-z0-9²³])(?!\s?[-–—~～]\d)",
        lambda match: ("负" if match["after"] else "") + _unit(match),
    ),
    rule(rf"(?<=\d[eE][+-]\d\d)\s?(?P<unit>{UNIT})(?![A-Za-z0-9²³])", lambda match: UNITS[match["unit"]]),
    rule(
        r"(?<![\d./])(\d{1,3}(?:\.\d+)?)/(\d{1,4})(?![\d/.])",
        lambda match: f"{number(match[1])}斜杠{number(match[2])}" if "." in match[1] else _fraction(match),
    ),
    rule(rf"(?:(?<![\d.,/])(?P<whole>\d{{1,15}})\s?)?(?P<part>[{''.join(_VULGAR)}])", _vulgar),
    rule(rf"(?<!\d)({NUMBER})\s?‰", lambda match: f"千分之{number(match[1])}"),
    rule(r"[①-⑳]", lambda match: cardinal(ord(match[0]) - ord("①") + 1)),
    rule(r"(?<=[楼栋幢座])\s?(?P<say>\d{1,2})(?=单元)", say_number),
    rule(rf"[{''.join(_ROMAN_SIGNS)}]", lambda match: cardinal(_ROMAN_SIGNS[match[0]])),
    rule(rf"(?:{_RULERS})(?P<say>[IVX]{{1,5}})(?![A-Za-z0-9世])", _ruler),
    rule(r"(?<=第)(?P<say>[IVXLC]+)(?![A-Za-z])", _roman),
    rule(
        rf"(?<=[{_HAN}])(?P<say>II|III|IV|VI{{1,3}}|IX|XI{{1,3}}|XI?V|XVI{{0,3}}|XIX|XX|VII)(?![A-Za-z0-9])",
        _roman,
    ),
    rule(r"(?:War|Chapter|Part)\s(?P<say>[IVX]+)\b", _roman),
    rule(r"(?<![A-Za-z0-9])(?P<say>I|[IVX]{2,5})(?=[型期级类](?!号)|世纪)", _roman),
    rule(r"±\s?(?=[\d√Δ]|[a-zA-Z](?![A-Za-z]))", "正负"),
    rule(r"√\s?(?=[\d(Δ]|[a-zA-Z](?![A-Za-z]))", "根号"),
    rule(r"(?<![A-Za-z])(?P<note>[A-Ga-g])♭", lambda match: f"降{match['note']}"),
    rule(r"(?<![A-Za-z])(?P<note>[A-Ga-g])♯", lambda match: f"升{match['note']}"),
    rule(STARS, lambda match: f"{cardinal(match[0].count('★'))}星"),
    rule(r"(?<=\d)★", "星"),
    rule(r"∞", "无穷大"),
    rule(r"π", "派"),
    rule(rf"{NOTE}|(?<=[{_HAN}，。！？；：”』」》）])(?<!米)[{RAISED}]{{1,3}}(?![\w⁻⁺])", ""),
    rule(rf"(?<![^\s，。：；、！？“「])[{RAISED}]{{1,3}}\s?(?=[{_HAN}“「])", ""),
    rule(
        rf"(?<!\d10)(?<=10)(?P<say>(?P<power>[⁻⁺]?[{RAISED}]+|\^-?\d{{1,4}})\s?(?P<unit>{UNIT}|[ckm]?m|k?g|s))"
        r"(?![A-Za-z0-9²³])",
        lambda match: _power(match) + POWERED[match["unit"]],
    ),
    rule(rf"(?<=[\w)])(?<![{RAISED}])(?P<say>(?P<power>[⁻⁺]?[{RAISED}]+|\^-?\d+))", _power),
    rule(rf"(?<![\d\w%％℃])[~～](?=\d)|(?<=[{_HAN}])[~～](?=\d)", "大约"),
    rule(rf"{_OPERAND}(?P<say>\s?(?:>=|<=|==|!=|[+×÷=>≥≤≠≈])\s?)(?=[-\w√($€£¥￥∠△])", _operator),
    rule(r"(?<![A-Za-z\d)<>=-])(?P<say>[<>])\s?(?=\d)", _operator),
    rule(r"(?<=[0-9A-Za-z])(?P<say>\s?<\s?)(?=[0-9A-Za-z])", "小于"),
    rule(r"(?<=\d)(?P<say>\s?[-−]\s?)(?=\d+(?:\.\d+)?\s?=)", "减"),
    rule(r"(?<=\d)[-−](?=\d{1,6}(?:[×÷](?!10[\^⁰-⁹])[\da-z]|\+\d)[^，。]{0,40}=)", "减"),
    rule(r"(?<=\d[kKmMbB])\s?[-–~～]\s?(?=[$€£¥￥]\d)", "到"),
    rule(r"(?:(?<=\d[%％℃])|(?<=\d°C))(?P<say>\s?[-–—~～]+\s?)(?=\d)", "到"),
    rule(r"(?<=\d)(?P<say>\s?[-–—~～]+\s?)(?=[$€£¥￥]?\d)", "到"),
    rule(rf"(?<=[A-Za-z{_HAN}])(?P<say>-)(?=\d+(?:架|型|战|号|机|[A-Za-z]))(?<![零为是到降值于达温]-)", ""),
    rule(r"(?<=[A-Za-z])-(?=\d)", ""),
    rule(r"(?<=[A-Za-z])\s?&\s?(?=[A-Za-z])", "和"),
    rule(r"(?<![A-Za-z0-9])C\+\+", "C加加"),
    rule(r"(?<![A-Za-z0-9])(?P<say>C#)", "C井"),
    rule(rf"(?<=[A-Za-z])\+(?=[A-Za-z])|(?<=[{_HAN}])\+(?=[{_HAN}])", "加"),
    rule(r"(?<=\w)(?P<say>_+)(?=\w)", " "),
    rule(r"(?<!\S)--(?=[A-Za-z])|(?<=[\u3400-\u9fff])--(?=[A-Za-z])", "杠杠"),
    rule(
        r"0[xX](?P<rest>[0-9A-Fa-f]+)",
        lambda match: "零x" + "".join(digits(c) if c.isdecimal() else c for c in match["rest"]),
    ),
    rule(r"#(?=\d)", "井号"),
    rule(r"#", ""),
    rule(r"(?<![A-Za-z0-9_.])@", "艾特"),
    rule(
        r"(?<!\d)(?P<say>\d{2})(?=年[代出生级后以前届初底末]|年奥运)",
        lambda match: (
            cardinal(int(match["say"]))
            if match.string[match.end() : match.end() + 2] == "年代"
            else digits(match["say"])
        ),
    ),
    rule(r"(?<=双)(?P<say>11|12)(?!\d)", say_number),
    rule(r"(?<!\d)(?P<say>\d{1,3}(?:,\d{3}){1,20}(?:\.\d+)?)(?![\d,])", say_number),
    rule(r"(?<![\d.A-Za-z])(?P<say>0\d+)(?![\d.])", say_digits),
    *days.RULES,
)
