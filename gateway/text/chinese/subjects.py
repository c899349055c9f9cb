"""Chinese: what readers of one subject say for its signs: sport, medicine, hardware, parcels."""

from __future__ import annotations

import re
from decimal import Decimal

from gateway.text.chinese.numbers import cardinal, digits, large, number, phone
from gateway.text.chinese.units import UNIT, UNITS
from gateway.text.english.quantities import ends_quotation
from gateway.text.rules import Rule, rule

_WON = "横扫|完胜|大胜|险胜|小胜|取胜|轻取|力克|力擒|淘汰|不敌|逆转|完败|惜败|负于|逼平|领先|落后|告捷"
_PERIODS = {"d": "天", "日": "日", "天": "天", "h": "小时", "min": "分钟"}
_WAYS = {"N": "北纬", "S": "南纬", "E": "东经", "W": "西经"}
_TESTED = "ER|PR|Rh|HER2|Ig[GM]|HBsAg|抗原|抗体|试验|征|核酸"
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
_MANY = "star|粉|人|元|块|次|条|用户|下载|阅读|播放|赞"
"""Of which there are thousands, while carats and bits of sound are so many k."""
_COUNTED = "[\\d.,%％万亿元块人个件次米吨]"
"""Behind a number of eight figures that is no day."""


def _digits(match: re.Match[str]) -> str:
    return digits(match["say"])


def _train(match: re.Match[str]) -> str:
    return phone(match["say"])


def _score(match: re.Match[str]) -> str:
    return f"{cardinal(int(match[1]))}比{cardinal(int(match[2]))}"


def _scores(match: re.Match[str]) -> str:
    """ "2-6/6-4"."""
    return re.sub(r"(\d{1,3})-(\d{1,3})", _score, match[0]).replace("/", "、")


def _shares(match: re.Match[str]) -> str:
    return f"百分之{number(match[1])}比百分之{number(match[2])}"


def _thousands(match: re.Match[str]) -> str:
    """ "12.3k"."""
    return large(1000 * Decimal(match[1]))


def _pay(match: re.Match[str]) -> str:
    """ "15k", "10-15k", "10k-15k"."""
    return "到".join(large(1000 * Decimal(part)) for part in re.findall(r"\d+", match["say"]))


def _inches(match: re.Match[str]) -> str | None:
    return None if ends_quotation(match) else "英寸"


def _long(match: re.Match[str]) -> str:
    return number(match[1]) + _LENGTHS[match["unit"]]


def _joined(match: re.Match[str]) -> str:
    """Numbers with hyphens between them: of a parcel, of a room."""
    return "杠".join(number(part) if len(part) < 3 else digits(part) for part in match["say"].split("-"))


def _day(match: re.Match[str]) -> str:
    return f"{digits(match['y'])}年{cardinal(int(match['m']))}月{cardinal(int(match['d']))}日"


def _slashed_day(match: re.Match[str]) -> str | None:
    """ "11/29/2024", by month, or by day where that cannot be one."""
    month, day = int(match["m"]), int(match["d"])
    if month > 12:
        month, day = day, month
    return None if month > 12 else f"{digits(match['y'])}年{cardinal(month)}月{cardinal(day)}日"


def _vertebrae(match: re.Match[str]) -> str:
    """ "L4/5", "L5/S1"."""
    return f"{match[1]}{cardinal(int(match[2]))}{match[3]}{cardinal(int(match[4]))}"


def _changed(match: re.Match[str]) -> str:
    """Lines of a program, "+120/-35"."""
    return f"加{cardinal(int(match[1]))}、减{cardinal(int(match[2]))}"


def _aircraft(match: re.Match[str]) -> str:
    return "杠".join(map(digits, match["say"].split("-")))


def _listed(match: re.Match[str]) -> str:
    """ "5000/3000/1000元"."""
    unit = "元" if match["coin"] else ""
    return "、".join(map(number, match["all"].split("/"))) + unit


def _named_day(match: re.Match[str]) -> str:
    return f"{cardinal(int(match[1]))}月{cardinal(int(match[2]))}日"


def _years(match: re.Match[str]) -> str | None:
    """From when to when; of round numbers there may be so many of something."""
    first, last = match["first"], match["last"]
    if first >= last or first[-1] == last[-1] == "0":
        return None
    return f"{digits(first)}到{digits(last)}"


def _place(match: re.Match[str]) -> str:
    way = _WAYS[match[2]]
    said = match.string.endswith(way, max(0, match.start() - 2), match.start())
    return f"{'' if said else way}{number(match[1])}度"


def _over(match: re.Match[str]) -> str:
    """ "600+km"."""
    return f"{number(match[1])}多{UNITS.get(match['unit'], '公里')}"


def _tall(match: re.Match[str]) -> str:
    return f"{cardinal(int(match[1]))}米{digits(match[2])}"


RULES: tuple[Rule, ...] = (
    rule(
        r"(?<![\d/.-])(?P<m>0?[1-9]|[12]\d|3[01])/(?P<d>0?[1-9]|[12]\d|3[01])/(?P<y>(?:19|20)\d\d)(?![\d/元])",
        _slashed_day,
    ),
    rule(r"(?<=[（(])\d{1,3}-\d{1,3}(?:[、，,]\s?\d{1,3}-\d{1,3}){2,6}(?=[）)])", _scores),
    rule(r"(?<![\d/.-])\d-\d(?:/\d{1,2}-\d{1,2}){1,4}(?![\d/-])", _scores),
    rule(rf"(?<![\d.-])(\d{{1,3}})[-—](\d{{1,3}})(?={_WON})", _score),
    rule(
        r"(?:(?<=射门)|(?<=点球)|(?<=进球)|(?<=角球)|(?<=射正)|(?<=红牌)|(?<=黄牌)|(?<=分数))(\d{1,3})-(\d{1,3})(?![\d次个脚记粒-])",
        _score,
    ),
    rule(
        r"(?:(?<=控球率)|(?<=支持率)|(?<=得票率))(\d{1,2}(?:\.\d)?)[%％][-–:：](\d{1,2}(?:\.\d)?)[%％]",
        _shares,
    ),
    rule(r"(?<=[A-Z]\d)\s-(\d{1,3}(?:\.\d{1,2})?)[%％]", lambda match: f"，百分之负{number(match[1])}"),
    rule(r"(?<![\d.:：/-])(1[0-2]|[1-9])\.([12]\d|3[01]|[1-9])日(?=[讯电晚起前后当]|$)", _named_day),
    rule(r"(?<!\d)(?P<say>3\.15)(?=打假)", _digits),
    rule(r"(?<=\d[AaPp][Mm])\s?[-–—~～]\s?(?=\d)", "到"),
    rule(
        rf"(?<![A-Za-z\d.,~～-])(\d{{1,4}}\.\d{{1,2}}|\d{{2,4}}(?=k\s?(?:{_MANY})))k(?![A-Za-z0-9/跑马赛路])",
        _thousands,
    ),
    rule(r"(?:薪|工资|[TQ]PS)\D{0,4}(?P<say>(?:\d{1,4}k?[-~～])?\d{1,4}k)(?![A-Za-z0-9/])", _pay),
    rule(
        rf"(?<![\d.,])(\d{{1,3}}(?:,\d{{3}}){{1,3}})\s?(?P<unit>{'|'.join(_LENGTHS)})(?![A-Za-z0-9²³/])",
        _long,
    ),
    rule(
        r"第(\d{1,3})/(\d{1,4})(?P<of>[页集章步])",
        lambda match: f"第{cardinal(int(match[1]))}{match['of']}，共{cardinal(int(match[2]))}{match['of']}",
    ),
    rule(r"(?<=GPA)\s?(\d\.\d{1,2})/(\d\.\d)", lambda match: f"{number(match[1])}，满分{number(match[2])}"),
    rule(r"(?:(?<=高铁)|(?<=动车)|(?<=列车)|(?<=火车)|(?<=车次))\s?[GDCKTZ](?P<say>\d{1,3})(?!\d)", _train),
    rule(r"(?<=跳)(?P<say>\d{3,4})(?=[A-D](?![A-Za-z]))", _digits),
    rule(r"(?<=风速)\+(?=\d)", "正"),
    rule(r"(?<![\d-])(1[0-2]|0?[1-9])-(0[1-9]|[12]\d|3[01])(?=\s\d{1,2}[:：]\d\d(?!\d))", _named_day),
    rule(
        r"(?<![\d/.])(?P<coin>[￥¥])?(?P<all>\d{1,6}(?:\.\d{1,2})?(?:/\d{1,6}(?:\.\d{1,2})?){2,9})(?![\d/年]|\.\d)(?<!/\d\d/\d\d)(?<!/(?:19|20)\d\d)",
        _listed,
    ),
    rule(r"(?<=[:：]\d\d)/(?=\d{1,2}[:：]\d\d)", "，"),
    rule(r"(?<!\d)(?P<say>3[1-5]\d|7[0-8]7)(?=机型|客机)", _digits),
    rule(r"(?:(?<=千焦)|(?<=千卡)|(?<=毫克))/(?=\d{1,4}\s?(?:克|毫升|升|g|ml|mL))", "每"),
    rule(
        r"(?<=排名)\s?(\d{1,5})/(\d{1,5})(?![\d/])",
        lambda match: f"{cardinal(int(match[1]))}，共{cardinal(int(match[2]))}",
    ),
    rule(
        r"(?<![\d/.])(\d{1,2})/(\d{1,3})(?=层)",
        lambda match: f"{cardinal(int(match[1]))}层，共{cardinal(int(match[2]))}",
    ),
    rule(rf"(?:{_TESTED})\s?(?P<say>[（(]\+[）)])", "阳性"),
    rule(rf"(?:{_TESTED})\s?(?P<say>[（(][-−][）)])", "阴性"),
    rule(r"(?<=胰岛素)\s?(?P<n>\d{1,3})U(?![A-Za-z])", lambda match: f"{number(match['n'])}单位"),
    rule(r"(?<=《)(?P<say>(?:19|20)\d\d)(?=[\u3400-\u9fff])(?![个次种天夜人])", _digits),
    rule(r"(?<=公元)\s?(?P<first>\d{3,4})\s?[-–—~～至]\s?(?P<last>\d{3,4})(?=年)", _years),
    rule(
        r"(?<![\d.])(?P<first>1[5-9]\d\d|20[0-3]\d)\s?[-–—~～]\s?(?P<last>1[5-9]\d\d|20[0-3]\d)(?=[，。、；）)年]|$)",
        _years,
    ),
    rule(r"(?<!\d)(?P<y>(?:19|20)\d0)s(?![A-Za-z])", lambda match: f"{digits(match['y'])}年代"),
    rule(
        r"§\s?(?P<n>\d{1,3}(?:\.\d{1,3}){0,3})",
        lambda match: f"第{'点'.join(map(number, match['n'].split('.')))}节",
    ),
    rule(r"(?<![\d.])(\d{1,3}(?:\.\d{1,6})?)°\s?([NSEW])(?![A-Za-z])", _place),
    rule(r"(?<=\d秒)(?P<say>\d{2})(?![\d帧秒.])", _digits),
    rule(r"(?<![\d.])([12])m([5-9]\d)(?![\dA-Za-z.])", _tall),
    rule(r"(?:取件码|取货码|提货码|货架号?)[：:是为]?\s?(?P<say>\d{1,4}(?:-\d{1,5}){1,3})(?![\d-])", _joined),
    rule(r"(?<=[教楼栋座馆])(?P<say>\d{1,2}-\d{3,4})(?![\d-])", _joined),
    rule(r"(?<=\d[楼层])(?P<say>\d{3,4})(?=[，。；、\s室号房]|$)", _digits),
    rule(
        r"(?<![\d.,:/A-Za-z-])(?P<y>19\d\d|20\d\d)(?P<m>0[1-9]|1[0-2])(?P<d>0[1-9]|[12]\d|3[01])"
        rf"(?!{_COUNTED}|-\d)",
        _day,
    ),
    rule(r"(?<!\d)(?P<say>\d{2})(?=Q[1-4](?!\d)|H[12](?![\dA-Za-z]))", _digits),
    rule(r"(?<=M)2(?=余额|增速|同比|供应|规模|货币)", "二"),
    rule(r"(?<![A-Za-z0-9])([CTLS])(\d{1,2})/([CTLS]?)(\d{1,2})(?=[、，。椎间节段水平])", _vertebrae),
    rule(
        r"(?:(?<=\dg/kg)|(?<=\dmg/kg)|(?<=\d[uμ]g/kg))[·/](?P<per>d|h|min|日|天)(?![A-Za-z])",
        lambda match: f"每{_PERIODS[match['per']]}",
    ),
    rule(
        r"(?<=[A-Za-z\d%])\s?(?P<say>[↑↓])(?=[，。；、）)\s]|$)",
        lambda match: "偏高" if match["say"] == "↑" else "偏低",
    ),
    rule(r"(?<![\d+])\+(\d{1,6})\s?/\s?[-−](\d{1,6})(?=\s?行|\s?[，。）)]|$)", _changed),
    rule(r"(?<=[RG]TX)\s?(?P<say>\d{4})(?!\d)", _digits),
    rule(r"(?<![A-Za-z])i[3579]-(?P<say>\d{4,5})(?!\d)", _digits),
    rule(r"(?<![A-Za-z0-9])A(?P<say>3[1-58]\d)(?=[客飞机，。、）\s-]|neo|$)", _digits),
    rule(r"(?<![A-Za-z0-9])B(?P<say>7[0-8]7(?:-\d{1,3})?)(?![\dA-Za-z-])", _aircraft),
    rule(r"(?<![\d.])(?P<say>\d{5})(?=\.HK(?![A-Za-z]))", _digits),
    rule(r"(?<![A-Za-z\d])(?<!\d\s)GB(?:/T)?\s?(?P<say>\d{4,6})(?![\d.-])", _digits),
    rule(rf"(?<![\d.,])(\d{{1,6}})\+\s?(?P<unit>km|{UNIT})(?![A-Za-z0-9²³])", _over),
    rule(
        r"(?:(?<=V/)|(?<=电流)|(?<=电流[为是约：:]))(\d{1,3}(?:\.\d{1,2})?)\s?A(?![A-Za-z])",
        lambda match: f"{number(match[1])}安",
    ),
    rule(r"(?<=\d)[\"”″](?=\s?的?(?:大|曲面|智能|液晶)?(?:电视|显示器|屏|平板|轮|蛋糕|披萨))", _inches),
    rule(r"[φΦ⌀∅]\s?(?=\d)", "直径"),
    rule(r"(?<=\dV)/(?=\d{1,3}(?:\.\d{1,2})?(?:A|mA|Hz|W)(?![A-Za-z]))", "，"),
)
