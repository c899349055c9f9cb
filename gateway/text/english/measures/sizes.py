"""How tall or heavy somebody is, how long something by how wide, and sizes of tires: 5'11", "60×45 cm"."""

from __future__ import annotations

import re

from gateway.text.english.measures.attributes import has_article
from gateway.text.english.numbers import cardinal, short_code
from gateway.text.rules import Rule, rule


def _timber(match: re.Match[str]) -> str:
    """ "2x4s", "2x6s"."""
    wide = cardinal(int(match[2]))
    return f"{cardinal(int(match[1]))} by {wide}{'es' if wide.endswith('x') else 's'}"


def _stones(match: re.Match[str]) -> str:
    """What somebody weighs in Britain, "11st 4lb"."""
    stones = f"{cardinal(int(match['stones']))} stone"
    return f"{stones} {cardinal(int(match['pounds']))} pounds" if match["pounds"] else stones


def _broken_height(match: re.Match[str]) -> str:
    """5'7½\"."""
    return f"{cardinal(int(match[1]))} feet {cardinal(int(match[2]))} and {_PARTS_OF_INCH[match[3]]} inches"


def _height(match: re.Match[str]) -> str:
    feet, inches = int(match[1]), int(match[2])
    if inches >= _INCHES_OF_FOOT:
        return f"{cardinal(feet)} minute{'' if feet == 1 else 's'} {cardinal(inches)} seconds"
    if has_article(match.string, match.start()):
        return f"{cardinal(feet)} foot {cardinal(inches)}"
    return f"{cardinal(feet)} {'foot' if feet == 1 else 'feet'} {cardinal(inches)}" + (
        f" {'inch' if inches == 1 else 'inches'}" if match[3] else ""
    )


def _tire(match: re.Match[str]) -> str:
    """ "205/55R16"."""
    high, rim = (cardinal(int(match[part])) for part in ("high", "rim"))
    return f"{short_code(match['wide'])}, {high} {match['make']} {rim}"


_INCHES_OF_FOOT = 12
_PARTS_OF_INCH = {"½": "a half", "¼": "a quarter", "¾": "three quarters"}
_SIDE = r"\d{1,5}(?:\.\d{1,3})?[½¼¾⅓⅔⅛⅜⅝⅞]?"
_SQUARES = "matrix|grid|board|cube|kernel|array|filter|square|table|block"
_LONG = rf"{_SIDE}\s?(?:px|pixels?|[ckm]m|mi|m|in|inch(?:es)?|ft|feet|[\"”″])(?![A-Za-z²³])"
_MEASURED = r"(?:(?<=\d(?:ft|in|cm|mm))|(?<=\d\s(?:ft|in|cm|mm))|(?<=\dm)|(?<=\d m))"
RULES: tuple[Rule, ...] = (
    rule(r"(?<![\w.])(?P<stones>\d{1,2})\s?st\s?(?P<pounds>\d{1,2})\s?lbs?\b", _stones),
    rule(r"(?<![\w.,-])(?P<stones>[4-9]|1\d|2[024-9])st\b(?P<pounds>)", _stones),
    rule(r"(?<![\w.°])(\d{1,2})['’′](\d{1,2})([½¼¾])[\"”″]", _broken_height),
    rule(r"(?<![\w.°])(\d{1,2})['’′](\d{1,2})(\"|”|″|'')?(?!\w)", _height),
    rule(r"(?<![\w.°])(\d{1,2})['’′]\s(\d{1,2})(\"|”|″|'')(?!\w)", _height),
    rule(r"(?<![\w.])(\d)[x×](\d{1,2})s\b", _timber),
    rule(
        r"(?<![\w.])(?P<wide>\d{3})/(?P<high>\d\d)\s?(?P<make>Z?R)(?P<rim>\d\d)(?!\d)",
        _tire,
    ),
    rule(
        r"(?<![\w.])(?P<cold>\d{1,2})W-(?P<warm>\d\d)(?!\d)",
        lambda match: f"{cardinal(int(match['cold']))} W {cardinal(int(match['warm']))}",
    ),
    rule(r"[Ø⌀]\s?(?=\d)", "diameter "),
    rule(rf"{_MEASURED}\s[x×]\s(?=\d)", " by "),
    rule(rf"(?<=\d)\s?×\s?(?={_SIDE}\s?×\s?{_LONG}|{_LONG})", " by "),
    rule(r"\bM\d{1,2}(?:\.\d)?(?P<say>\s?[x×]\s?)(?=\d)", " by "),
    rule(rf"(?<![\d.])\d{{1,3}}(?P<say>\s?×\s?)(?=\d{{1,3}}\s(?:{_SQUARES})s?\b)", " by "),
    rule(
        rf"\b(?:{_SQUARES})\s(?:is\s|of\s)?\d{{1,3}}(?P<say>\s?×\s?)(?=\d{{1,3}}(?![\d.=]|\s?[=×]))", " by "
    ),
    rule(r"(?<=\d{3})\s?×\s?(?=\d{3,4}(?!\d|[.,]\d|\s?[=×]))", " by "),
)
