"""Chinese: 二 and 两 where the grammars choose the wrong one, years, ranges of percentages, powers of ten."""

from __future__ import annotations

import re

from gateway.text.chinese.numbers import cardinal, digits, number
from gateway.text.chinese.units import PER_UNIT
from gateway.text.marks import FIGURES, RAISED
from gateway.text.rules import Rule, rule

NUMBER = r"\d{1,3}(?:,\d{3}){1,20}(?:\.\d+)?|\d+(?:\.\d+)?"
_TWO_OF = (
    "种|台|份|倍|星期|句|亩|局|轮|批|桌|朵|幅|节课|滴|副|项|类|样|遍|顿|番|昼夜|国|省|市|间|所|部|款|床|包|串|束|枚|扇|"
    r"次(?=/)|件(?=/)|助(?![理手力教])|处|起|笔|则|公斤|声|步|侧|端|岸|男|女|股|味|株|列|点\d{1,2}分|点(?![\d一二三四五六七八九])"
)
"""Measure words before which 2 is 两, and the grammars say 二."""


def _offset(match: re.Match[str]) -> str:
    """Of a time, from Greenwich."""
    minutes = int(match["minutes"])
    hours = f"{'加' if match['sign'] == '+' else '减'}{cardinal(int(match['hours']))}"
    return f"，UTC{hours}" + (f"点{cardinal(minutes)}" if minutes else "")


def _exponent(match: re.Match[str]) -> str:
    minus = "负" if match[2].startswith("-") else ""
    return f"{number(match[1])}乘以十的{minus}{cardinal(int(match[2].lstrip('+-')))}次方"


def _years(match: re.Match[str]) -> str:
    """Figure by figure: of a year, or of the two that a school year lies in."""
    return "到".join(map(digits, re.split("[-/]", match[0])))


def _percents(match: re.Match[str]) -> str:
    return f"百分之{number(match[2])}到百分之{number(match[3])}"


def _charge(match: re.Match[str]) -> str:
    """Of an ion: "Fe³⁺"."""
    amount = number(match["amount"].translate(FIGURES)) if match["amount"] else ""
    return amount + ("正" if match["sign"] == "⁺" else "负")


def _in_equation(match: re.Match[str]) -> str | None:
    return {"+": "加", "-": "减"}[match["say"]] if "=" in match.string else None


def say_digits(match: re.Match[str]) -> str:
    """One by one."""
    return digits(match["say"])


def say_number(match: re.Match[str]) -> str:
    return number(match["say"])


def _proportion(match: re.Match[str]) -> str:
    return "比".join(map(number, match[0].split(":")))


_HAN = "\u3400-\u9fff"
_RELATIONS = {"=": "等于", "≈": "约等于", "×": "乘以", "÷": "除以"}
_WHOLE = r"\d{1,3}(?:,\d{3}){1,5}|\d{1,15}"
_MONEY = r"\s?(?:元|块|美元|欧元|英镑|港元|日元|万元|亿元)"
_PER = (
    "平方米|平方公里|平方千米|立方米|公顷|亩|平米|公里|千米|千瓦时|度|件|个|月|年|天|日|斤|次|分|秒|小时|人|台|张|公斤|千克|吨|米|升|股|盒|瓶|位|晚|份|"
    "场|平|桶|盎司|包|箱|袋|学期|学年|季"
)
RULES: tuple[Rule, ...] = (
    rule(
        r"T\d\d:\d\d(?::\d\d)?(?P<say>(?P<sign>[+-])(?P<hours>\d\d):?(?P<minutes>\d\d))(?!\d)",
        _offset,
    ),
    rule(r"(?<![A-Za-z\d.])(\d+(?:\.\d+)?)[eE]([+-]?\d{1,3})(?![A-Za-z0-9-])", _exponent),
    rule(rf"第\s?(?P<say>{NUMBER})(?!\d|\.\d)", say_number),
    rule(r"(?<=月)\s?(?P<say>\d{1,2})(?=[日号])", say_number),
    rule(rf"(?<![\dA-Za-z.,第])2(?={_TWO_OF})", "两"),
    rule(r"(?<=[了近约满过每这那后有花用需要足达])2(?=年(?![级生制]))", "两"),
    rule(r"(?<=[A-Z])2(?=[口门])", "二"),
    rule(r"(?<!\d)2(?=分之|单元\d)", "二"),
    rule(r"(?<=[QH]\d)-(?=[QH]\d)", "到"),
    rule(r"(?<![\d:.])\d{1,3}(?:\.\d{1,3})?(?::\d(?:\.\d)?){2,4}(?![\d:.])", _proportion),
    rule(
        rf"(?<=\d)(?P<unit>[{_HAN}]{{1,2}}|[kcm]?m|[km]?g|mL|ml|L|[KMGT]B)(?P<say>\s?/\s?)(?=\d[\d.]{{0,12}}(?P=unit)(?![A-Za-z]))",
        "、",
    ),
    rule(r"(?<=\d)(?:ml|mL|g|kg|L)(?P<say>/)(?=\d+[杯勺汤茶大小两斤碗])", "或"),
    rule(r"(?<=\d年)/(?=\d{1,3}万公里)", "或"),
    rule(r"(?<!\d)7\s?[×xX*]\s?24(?=小时)", "七乘二十四"),
    rule(rf"(?<=\d0)\+(?=[{_HAN}])", "多"),
    rule(rf"(?:(?<=[\d万亿])|(?<=\d[wWkK]))\+(?=[{_HAN}，。、！？；：）)]|\s|$)", "加"),
    rule(rf"(?<![\d.,])(?P<say>({_WHOLE})\.00)(?={_MONEY})", lambda match: number(match[2])),
    rule(rf"(?<=[元块次片粒滴])/(?=\d{{1,4}}[{_HAN}])", "每"),
    rule(
        rf"(?<=[\d元万亿块分人个株吨次{RAISED}])/(?P<unit>{'|'.join(PER_UNIT)})(?![A-Za-z0-9²³])",
        lambda match: f"每{PER_UNIT[match['unit']]}",
    ),
    rule(
        rf"(?<!千克)(?:(?<=[\d元块次个克升万亿片粒滴人吨件张包箱袋瓶周%])|(?<=\d[gLh])|(?<=\d[mk]g)|(?<=\dm[lL]))/(?={_PER})",
        "每",
    ),
    rule(rf"\d[A-Za-z{_HAN}]{{1,5}}(?<![比率幅差球])(?P<say>\+)(?=\d)", "加"),
    rule(r"(?<=\d)[wW](?=\+?\s?(?:粉丝|粉|播放|阅读|点赞|浏览|用户|人|元|块|字|条|赞))", "万"),
    rule(
        r"(?:粉丝|播放|阅读|点赞|浏览|弹幕|收藏|销量|报价|售价|流水|均价|薪|预算|存款|首付|总价|收入|奖金)\D{0,4}\d{1,6}(?:\.\d+)?(?:[-~～]\d{1,6}(?:\.\d+)?)?"
        r"(?P<say>[wW])(?![A-Za-z])",
        "万",
    ),
    rule(r"(?<![\dA-Za-z.,])2(?=季度|世纪|手[车房货]|线城)", "二"),
    rule(r"(?<![\d-])(?P<say>\d{4}[-/](?:\d{4}|\d\d))(?=学年|年度|赛季)", _years),
    rule(r"(?<![\d-])(?P<say>(?:19|20)\d\d)(?=[QH]\d(?!\d))", _years),
    rule(r"(?<=FY)(?P<say>(?:19|20)\d\d)(?!\d)", _years),
    rule(rf"(?<![A-Za-z\d.-])(?P<say>({NUMBER})\s?[-–—~～]\s?({NUMBER})\s?[%％])", _percents),
    rule(
        rf"(?<=\d)(?P<unit>[{_HAN}%％])(?P<say>\s?[-–—~～]\s?)"
        r"(?=[$€£¥￥]?\d[\d.,]{0,20}(?P=unit)|\d{1,2}月\d{1,2}[日号]|上午|中午|下午|晚上|凌晨)",
        "到",
    ),
    rule(r"(?<=\d)-(?=\d{1,3}大?胜|\d{1,3}(?:完胜|险胜|取胜|落败))", "比"),
    rule(rf"(?<=[A-Za-z0-9)])(?P<say>(?P<amount>[{RAISED}]?)(?P<sign>[⁺⁻]))(?![{RAISED}])", _charge),
    rule(rf"(?<=[{RAISED})])(?P<say>[-+])(?=[\w(])", _in_equation),
    rule(
        rf"(?<=[{_HAN}])(?P<say>\s?[=≈×÷]\s?)(?=[-\d¥￥$€£{_HAN}])",
        lambda match: _RELATIONS[match["say"].strip()],
    ),
    rule(r"(?:(?<=周[一二三四五六日])|(?<=星期[一二三四五六日天]))\s?[-–—~～]+\s?(?=周|星期)", "到"),
    rule(r"(?<=\d)[wW](?=\+)", "万"),
    rule(r"(?<=[%％])/(?=\d{1,3}(?:\.\d{1,4})?[%％])", "、"),
    rule(r"(?<=\d)[kK](?=\+?(?:评论|点赞|赞|粉|人|元|用户|条|播放))", "千"),
    rule(r"(?<=[\d(+*/= -][a-z])(?P<say>[-+])(?=[\d(]|[a-z](?![a-z]))", _in_equation),
    rule(r"(?<![A-Za-z0-9])([A-Z]{1,2})\d{1,3}(?P<say>\s?[-–~～]\s?)(?=\1\d{1,3}(?![\dA-Za-z]))", "到"),
    rule(r"(?<=[A-Za-z]\d)-(?=\d{1,3}[A-Z]|\d{4})|(?<=\d\.\d)-(?=\d{1,3}[A-Z])", " "),
    rule(r"(?<=[\w)])\^(?P<power>[A-Za-z])(?![A-Za-z])", lambda match: f"的{match['power']}次方"),
    rule(r"(?<![A-Za-z0-9_)\]%％])\+(?=\d+(?:\.\d+)?\s?(?:°|℃|度|%))", "正"),
)
