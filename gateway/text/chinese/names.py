"""Chinese: figures that name something, most of which are read one by one: plates, aircraft, verses."""

from __future__ import annotations

import re

from gateway.text.chinese.counting import say_digits
from gateway.text.chinese.numbers import cardinal, digits, phone
from gateway.text.chinese.subjects.sport import score
from gateway.text.rules import Rule, rule

_BOOKS = (
    "创世[记纪]|出埃及记|利未记|民数记|申命记|约书亚记|士师记|路得记|撒母耳记[上下]|列王[记纪][上下]|历代志[上下]|以斯拉记|尼希米记|以斯帖记|约伯记|诗篇|"
    "箴言|传道书|雅歌|以赛亚书|耶利米书|耶利米哀歌|以西结书|但以理书|何西阿书|约珥书|阿摩司书|约拿书|弥迦书|撒迦利亚书|玛拉基书|"
    "马太福音|马可福音|路加福音|约翰福音|使徒行传|罗马书|哥林多[前后]书|加拉太书|以弗所书|腓立比书|歌罗西书|帖撒罗尼迦[前后]书|提摩太[前后]书|"
    "提多书|希伯来书|雅各书|彼得[前后]书|约翰[一二三壹贰叁]书|犹大书|启示录|古兰经"
)
_SHORT_BOOKS = (
    "林[前后]|帖[前后]|提[前后]|彼[前后]|约[一二三壹贰叁]|撒[上下]|王[上下]|代[上下]|(?<=[（(；;])(?:创|出|利|民|申|书|士|得|拉|尼|斯|伯|诗|箴|传|"
    "歌|赛|耶|哀|结|但|何|珥|摩|俄|拿|弥|鸿|哈|番|该|亚|玛|太|可|路|约|徒|罗|加|弗|腓|西|多|门|来|雅|犹|启)"
)
"""As they are cited; one character alone is a book at the beginning of a note."""
_PROVINCES = "京津沪渝冀豫云辽黑湘皖鲁新苏浙赣鄂桂甘晋蒙陕吉闽贵粤青藏川宁琼"
_MODELS = "歼轰运直苏图风格征舟娥"
"""Where the names of aircraft and rockets end: 苏-35, 东风-41, 长征-5."""


def _verse(match: re.Match[str]) -> str:
    last = f"到{cardinal(int(match['last']))}" if match["last"] else ""
    chapter = "篇" if match["book"] in ("诗篇", "诗") else "章"
    first = f"{cardinal(int(match['chapter']))}{chapter}{cardinal(int(match['verse']))}"
    if match["chapter2"]:
        return f"{first}节到{cardinal(int(match['chapter2']))}{chapter}{cardinal(int(match['last']))}节"
    return f"{first}{last}节"


def _phone(match: re.Match[str]) -> str:
    return phone(match["say"])


def _plate(match: re.Match[str]) -> str:
    return "".join(phone(sign) if sign.isdecimal() else sign for sign in match["say"].strip("·• "))


def _lived(match: re.Match[str]) -> str | None:
    """From when to when somebody lived, in the first centuries."""
    first, last = int(match["first"]), int(match["last"])
    if not 9 < last - first < 110 or first % 10 == last % 10 == 0:
        return None
    return f"{digits(match['first'])}到{digits(match['last'])}"


def _versus(match: re.Match[str]) -> str:
    """ "5v5"."""
    return f"{cardinal(int(match[1]))}V{cardinal(int(match[2]))}"


def _standard(match: re.Match[str]) -> str:
    """ "GB 5009.3-2016"."""
    return f"{'点'.join(map(digits, match[2].split('.')))}杠{digits(match[3])}"


def _episode(match: re.Match[str]) -> str:
    """ "S01E05"."""
    return f"第{cardinal(int(match['season']))}季第{cardinal(int(match['episode']))}集"


def _listed(match: re.Match[str]) -> str:
    """ "20/3/15", of a game."""
    return "、".join(cardinal(int(each)) for each in match[0].split("/"))


def _pressure(match: re.Match[str]) -> str:
    """Of blood."""
    return f"{cardinal(int(match[1]))}斜杠{cardinal(int(match[2]))}毫米汞柱"


def _years(match: re.Match[str]) -> str | None:
    """From when to when something was; hundreds are how long it takes."""
    years = re.findall(r"\d+", match["say"])
    return None if all(year.endswith("00") for year in years) else "到".join(map(digits, years))


def _numbered(match: re.Match[str]) -> str:
    """The groups of a code such as "A-2024-001"."""
    return "杠".join(map(digits, match["say"][1:].split("-")))


def _day(match: re.Match[str]) -> str | None:
    month, day = int(match[1]), int(match[2])
    return f"{cardinal(month)}月{cardinal(day)}日" if 1 <= month <= 12 and 1 <= day <= 31 else None


def _named_day(match: re.Match[str]) -> str:
    """ "9·18", "5·1"; of "11·11" both are numbers."""
    parts = match.groups()
    return "".join(cardinal(int(part)) if min(map(len, parts)) == 2 else digits(part) for part in parts)


def _scores(match: re.Match[str]) -> str:
    """Of one set after the other."""
    return re.sub(r"(\d{1,3})[-:：](\d{1,3})", score, match["say"])


def _arc(match: re.Match[str]) -> str:
    seconds = f"{cardinal(int(match[3]))}秒" if match[3] else ""
    return f"{cardinal(int(match[1]))}度{cardinal(int(match[2]))}分{seconds}"


_SET = r"\d{1,2}[-:：]\d{1,2}(?:[（(]\d{1,2}[）)])?"
RULES: tuple[Rule, ...] = (
    rule(
        rf"(?P<book>{_BOOKS}|{_SHORT_BOOKS})》?\s?(?P<say>(?P<chapter>\d{{1,3}})[:：](?P<verse>\d{{1,3}})"
        r"(?:[-–—~～](?:(?P<chapter2>\d{1,3})[:：])?(?P<last>\d{1,3}))?)(?![\d:])",
        _verse,
    ),
    rule(rf"(?<=[{_PROVINCES}][A-Z])(?P<say>[·•]?\d{{5}})(?!\d)", _phone),
    rule(rf"(?<=[{_PROVINCES}][A-Z])[·•]?[A-Z]{{1,2}}(?P<say>\d{{3,5}})(?!\d)", _phone),
    rule(rf"(?<=[{_PROVINCES}][A-Z])(?P<say>[·• ]?(?=[A-Z]{{0,5}}\d)[A-Z0-9]{{5,6}})(?![A-Za-z0-9])", _plate),
    rule(r"(?<!\d)(?P<say>\d{5,6})(?=客服|热线|官方|专线)", _phone),
    rule(r"(?<![\d/])(\d{2,3})/(\d{2,3})\s?mmHg", _pressure),
    rule(r"(?<!\d)985[/、]211(?!\d)", "九八五、二一一"),
    rule(r"(?:^|(?<=[，。！？～\s]))(?P<say>886)(?=[，。！？～~]|\s?$)", say_digits),
    rule(r"(?<!\d)(?P<say>985|211)(?=高校|大学|院校|工程|名校|毕业|本科|硕士|学校)", say_digits),
    rule(r"(?<!\d)(?P<say>996|007)(?=工作|上班|加班|制)", say_digits),
    rule(r"(?<![A-Za-z])C(?P<say>9[12]9)(?!\d)", say_digits),
    rule(rf"(?<=[{_MODELS}])-(?=\d)", ""),
    rule(r"(?<=[国省县]道)\s?[GSX]?(?P<say>\d{3})(?!\d)", _phone),
    rule(r"(?<!\d)(?P<say>\d[1-9]\d|\d\d[1-9])(?=路(?:公交|电?车|[，。、；和到]|$))", say_digits),
    rule(r"(?<=单元)(?P<say>\d{3,4})(?!\d)", say_digits),
    rule(
        r"(?P<phone>[（(]0\d{1,3}[）)]\s?\d{3,4}[- ]?\d{4})(?:[-#](?P<extension>\d{2,5}))?(?![\d-])",
        lambda match: (
            phone(match["phone"]) + (f"转{phone(match['extension'])}" if match["extension"] else "")
        ),
    ),
    rule(r"(?<=第)(?P<say>\d{5,9})(?=期)", say_digits),
    rule(r"(?:ICP[备证]|公网安备)\s?(?P<say>\d{6,14})(?!\d)", say_digits),
    rule(r"(?<=\d号)-(?=\d{1,2}(?!\d))", "杠"),
    rule(r"(?<!\d)(?P<say>480|720|1080|1440|2160)(?=[Pp](?![A-Za-z]))", say_digits),
    rule(r"(?<=[A-Za-z])(?P<say>(?:-\d{1,8}){2,5})(?![\w-])", _numbered),
    rule(r"(?<![\d.])(\d{1,2})/(\d{1,2})(?=\s?[（(](?:周|星期))", _day),
    rule(r"(?<=《)(?P<say>\d{3,4})(?=》)", say_digits),
    rule(r"满\d{1,5}(?P<say>-)(?=\d)", "减"),
    rule(
        r"(?:[宽高]比|比例|比率|屏幕|画面|赔率)[为是：:]?\s?(?P<say>(\d{1,3})[:：](\d{1,3}))(?![\d:]|\.\d)",
        lambda match: f"{cardinal(int(match[2]))}比{cardinal(int(match[3]))}",
    ),
    rule(
        r"(?<!\d)(?P<say>1[3-9]\d\*{4}(?P<last>\d{4}))(?!\d)",
        lambda match: f"{phone(match['say'][:3])}，{phone(match['last'])}",
    ),
    rule(
        r"(?<![\d.-])(0\d{2,3}-\d{3,4}[- ]?\d{4})(?:-(\d{2,5}))?(?![\d-])",
        lambda match: phone(match[1]) + (f"转{phone(match[2])}" if match[2] else ""),
    ),
    rule(r"(?:^|(?<=[，。！？~～\s哈呜波太真]))(?P<say>6{3,}|23{3,}|5{3,})(?=[，。！？~～\s]|$)", say_digits),
    rule(r"(?:Windows|Win|Android|iOS|macOS|iPhone)\s?\d{1,2}(?P<say>/)(?=\d{1,2}(?!\d))", "、"),
    rule(r"(?<=[今明后昨前][天日][（(])(\d{1,2})/(\d{1,2})(?=[）)])", _day),
    rule(r"(?<=周[一二三四五六日天][（(])(\d{1,2})/(\d{1,2})(?=[）)])", _day),
    rule(
        r"(?<![\d/.])(\d{1,2})/(\d{1,2})(?=\s?(?:上午|中午|下午|晚上|早上|凌晨)|\s\d{1,2}[:：]\d\d(?!\d))",
        _day,
    ),
    rule(r"(?<![\d/.])(\d{1,2})/(\d{1,2})(?=之?[前后](?![\d面轮排]))", _day),
    rule(r"(?<=截[止至])(\d{1,2})/(\d{1,2})(?![\d/])", _day),
    rule(r"(?<![\dA-Za-z.·])(\d{1,2})·(\d{1,2})(?![\dA-Za-z.·])", _named_day),
    rule(
        r"(?:比分|局分|小分|盘分)[为是：:]?\s?(?P<say>\d{1,3}[-:：]\d{1,3}(?:[、，,]\s?\d{1,3}[-:：]\d{1,3}){1,6})(?![\d-])",
        _scores,
    ),
    rule(
        rf"(?<![\d-])(?P<say>{_SET}(?:[、，,]\s?{_SET}){{1,6}})"
        r"(?=\s?的?(?:比分|获胜|取胜|战胜|击败|横扫|逆转|不敌|晋级|夺冠|胜出|过关|挺进|淘汰|负于|险胜))",
        _scores,
    ),
    rule(r"(?<=[（(〔\[【])(?P<say>(?:19|20)\d\d)(?=[）)〕\]】])", say_digits),
    rule(r"(?<=第\d[局盘节场][：:])\s?(\d{1,3})-(\d{1,3})(?![\d-])", score),
    rule(r"(?<!\d)(?P<say>(?:19|20)\d\d)(?=[上下]半年|新?款|[届版]|修[订正]|级(?!台阶|阶梯))", say_digits),
    rule(r"(?<!\d)(?P<say>\d{2,3})(?=年\d{1,2}月)", say_digits),
    rule(r"(?<=[（(])(?P<say>(?:1\d{3}|20\d\d)\s?[-–—~～]\s?(?:1\d{3}|20\d\d))(?=[）)])", _years),
    rule(r"(?<=公元|元前)\s?(?P<say>\d{3,4})(?=年)", say_digits),
    rule(r"(?<=[（(])(?P<say>\d{3,4}\s?[-–—~～]\s?\d{3,4})(?=年)", _years),
    rule(r"(?<=[（(])(?P<first>[1-9]\d{2})\s?[-–—~～]\s?(?P<last>[1-9]\d{2})(?=[）)])", _lived),
    rule(r"(?<=[（(—–~～至]前)(?P<say>[1-9]\d{1,2}(?<!00))(?=年)", say_digits),
    rule(
        r"(?<!\d)(?P<say>(?:19|20)\d\d)(?=[甲乙丙丁戊己庚辛壬癸][子丑寅卯辰巳午未申酉戌亥]|[鼠牛虎兔龙蛇马羊猴鸡狗猪]年)",
        say_digits,
    ),
    rule(
        r"(?<![A-Za-z0-9])(?:MU|CA|CZ|HU|ZH|MF|SC|HO|FM|KN|JD|EU|CX|HX|CI)(?P<say>\d{3,4})(?![\dA-Za-z.])",
        _phone,
    ),
    rule(r"(?<=[（(])(?P<say>\d{6}(?<!000))(?=[）)])", say_digits),
    rule(r"(?<=[A-Za-z\u3400-\u9fff][（(])(?P<say>\d{4})(?=[）)](?:收|涨|跌|报|股价|今|昨))", say_digits),
    rule(r"(?<!\d)(?P<say>\d{6})(?=\.S[HZ]\b)", say_digits),
    rule(r"(?<![\d-])(?<!\d )(?P<say>0\d{2,3}[- ]\d{4} \d{4})(?![\d-]| \d)", _phone),
    rule(
        r"(?<![A-Za-z0-9])(?:GB|ISO|IEC|DB|HJ|JB|QB|YY)(?:/(?:T|Z|IEC))?\s?(?P<say>(\d{2,6}(?:\.\d{1,3})?)\s?[-—:]\s?((?:19|20)\d\d))(?!\d)",
        _standard,
    ),
    rule(r"(?<![A-Za-z])CA\s?(?P<say>\d{2}-\d)(?!\d)", say_digits),
    rule(r"(?<![A-Za-z])S[HZ](?P<say>\d{6})(?!\d)", say_digits),
    rule(r"(?<![A-Za-z0-9])[GDCZTK](?P<say>\d{4}(?<!00))(?![\dA-Za-z.+])", _phone),
    rule(r"(?<![A-Za-z0-9])BV(?P<say>1[A-Za-z0-9]{9})(?![A-Za-z0-9])", _plate),
    rule(r"(?<![A-Za-z0-9])S(?P<season>\d{1,2})E(?P<episode>\d{1,3})(?![A-Za-z0-9])", _episode),
    rule(
        r"(?<!\d)(\d{1,2})['’′](\d{2})[\"”″](\d{1,3}(?!\d))?",
        lambda match: f"{cardinal(int(match[1]))}分{cardinal(int(match[2]))}秒{digits(match[3] or '')}",
    ),
    rule(r"(?<![\d.-])(\d{1,2})-(\d{1,2})(?=翻盘|惨案|逆转|晋级|淘汰|开局)", score),
    rule(r"(?<=[死了吧啊笑])(?P<say>23{3,})(?!\d)", say_digits),
    rule(r"(?<=\d)#(?=[楼栋线车机店])", "号"),
    rule(r"(?<![A-Za-z0-9])u1s1(?![A-Za-z0-9])", "有一说一"),
    rule(r"(?<![A-Za-z\d.])(\d{1,2})[vV](\d{1,2})(?![A-Za-z\d.])", _versus),
    rule(r"(?<![\d/.-])\d{1,2}/\d{1,2}/\d{1,2}(?![\d/.-])", _listed),
    rule(
        r"(?:[qQ]群|群号|会议号|(?<![A-Za-z])ID)[：:]?\s?(?P<say>\d{3,12}(?: \d{3,4}){0,3})(?![\d-])",
        say_digits,
    ),
    rule(r"(?<!\d)(?P<say>618)(?=活动|期间|年中|当天|[、和与及]双1)", say_digits),
    rule(r"(?<=双11[、和与及])(?P<say>618)(?!\d)", say_digits),
    rule(r"(?<!\d)(?P<say>520|1314|5201314)(?=快乐|表白|情人|当天|礼物)", say_digits),
    rule(r"(?<!\d)(?P<say>[5-9]5)(?=后(?:[，。的们、群一青女男]|$))", say_digits),
    rule(r"(?<=\d[米秒])(?P<say>\d{2})(?=$|[的高长宽左以]|[^\d.\u3400-\u9fff])", say_digits),
    rule(r"(?<!\d)(?P<say>3\.15)(?=晚会|消费)", say_digits),
    rule(r"(?<!\d)(\d{1,3})°\s?(\d{1,2})[′'’](?:\s?(\d{1,2})[″\"”])?", _arc),
    rule(r"(?:(?<![A-Za-z])[Nn][Oo]\.|№)\s?(?=[1-9](?!\d))", "第"),
)
