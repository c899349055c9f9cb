"""Chinese: scores, shares of the ball and of votes, times of a race, dives, levels of a game."""

from __future__ import annotations

import re
from functools import lru_cache

from gateway.text.chinese.counting import say_digits
from gateway.text.chinese.numbers import cardinal, digits, number
from gateway.text.rules import Rule, rule

_WON = "横扫|完胜|大胜|险胜|小胜|取胜|轻取|力克|力擒|淘汰|不敌|逆转|完败|惜败|负于|逼平|领先|落后|告捷"


_GAME = re.compile(
    "NBA|CBA|WNBA|中超|英超|西甲|意甲|德甲|法甲|欧冠|亚冠|欧联|世界杯|欧洲杯|亚洲杯|[男女][篮足排]|[主客]场|决赛|季后赛|常规赛|小组赛|友谊赛|联赛"
)
"""Where two teams play."""
_HAN = "\u3400-\u9fff"
_COUNTED = "[年月日号天岁元块个名人次分秒时小轮场米公千万亿位脚板篮助级强成场局盘支点度倍]"


def score(match: re.Match[str]) -> str:
    """ "3-1"."""
    return f"{cardinal(int(match[1]))}比{cardinal(int(match[2]))}"


def _scores(match: re.Match[str]) -> str:
    """ "2-6/6-4"."""
    return re.sub(r"(\d{1,3})-(\d{1,3})", score, match[0]).replace("/", "、")


def _in_game(match: re.Match[str]) -> str | None:
    """Between two teams, "勇士108-102湖人"."""
    return score(match) if _place_of_game(match.string) < match.start() else None


@lru_cache(maxsize=8)
def _place_of_game(sentence: str) -> int:
    """Behind all of it, where two teams do not play."""
    found = _GAME.search(sentence)
    return found.start() if found else len(sentence)


def _told_score(match: re.Match[str]) -> str:
    return f"{cardinal(int(match[2]))}比{cardinal(int(match[3]))}"


def _higher_first(match: re.Match[str]) -> str | None:
    """No range begins with its higher end."""
    return score(match) if int(match[1]) > int(match[2]) else None


def _race(match: re.Match[str]) -> str:
    """ "1:44.65"."""
    return f"{cardinal(int(match[1]))}分{cardinal(int(match[2]))}秒{digits(match[3])}"


def _shares(match: re.Match[str]) -> str:
    return f"百分之{number(match[1])}比百分之{number(match[2])}"


RULES: tuple[Rule, ...] = (
    rule(r"(?<=[（(])\d{1,3}-\d{1,3}(?:[、，,]\s?\d{1,3}-\d{1,3}){2,6}(?=[）)])", _scores),
    rule(r"(?<![\d/.-])\d-\d(?:/\d{1,2}-\d{1,2}){1,4}(?![\d/-])", _scores),
    rule(rf"(?<![\d.-])(\d{{1,3}})[-—](\d{{1,3}})(?={_WON})", score),
    rule(
        r"(?:(?<=射门)|(?<=双方)|(?<=表决结果)|(?<=投票结果)|(?<=决赛)|(?<=点球)|(?<=进球)|(?<=角球)|(?<=射正)|(?<=红牌)|(?<=黄牌)|(?<=分数))(\d{1,3})-(\d{1,3})(?![\d次个脚记粒天场轮-])",
        score,
    ),
    rule(rf"(?<=[\u3400-\u9fff])(\d{{1,3}})-(\d{{1,3}})(?=[\u3400-\u9fff]{{2}})(?!{_COUNTED})", _in_game),
    rule(rf"比分[{_HAN}]{{0,5}}(?P<say>(\d{{1,3}})[-–—](\d{{1,3}}))(?![\d-]|[、，,]\s?\d)", _told_score),
    rule(rf"(?<=[{_HAN}])(\d{{2,3}})-(\d{{2,3}})(?=[{_HAN}]{{2}})(?!{_COUNTED})", _higher_first),
    rule(r"第\d{1,3}(?P<say>['’′])(?!\d)", "分钟"),
    rule(
        r"(?:(?<=控球率)|(?<=支持率)|(?<=得票率))(\d{1,2}(?:\.\d)?)[%％][-–:：](\d{1,2}(?:\.\d)?)[%％]",
        _shares,
    ),
    rule(
        r"(?<![A-Za-z])(?P<say>[Ll][Vv]\.?\s?(?P<level>\d{1,3}))(?!\d|\.\d|[A-Za-z])",
        lambda match: f"{cardinal(int(match['level']))}级",
    ),
    rule(
        r"(?:(?<=[剩余])|(?<=跑了)|(?<=用时))\s?(\d{1,2})[:：]([0-5]\d)(?![\d:：])",
        lambda match: f"{cardinal(int(match[1]))}分{cardinal(int(match[2]))}秒",
    ),
    rule(r"(?<![\d:：.])(\d{1,2})[:：]([0-5]\d)\.(\d{1,3})(?![\d:：])", _race),
    rule(
        r"(?<![\d+])(\d{1,3})\+(\d{1,2})(?=分钟)",
        lambda match: f"{cardinal(int(match[1]))}加{cardinal(int(match[2]))}",
    ),
    rule(r"(?<=跳)(?P<say>\d{3,4})(?=[A-D](?![A-Za-z]))", say_digits),
    rule(r"(?<=\d秒)(?P<say>\d{2})(?![\d帧秒.])", say_digits),
)
