"""Measures and percentages."""

from __future__ import annotations

import re

from gateway.text.english.measures.attributes import describes
from gateway.text.english.measures.units import UNIT, UNIT_END, UNITS, plural_unit
from gateway.text.english.numbers import NEGATIVE, NUMBER, number, ordinal
from gateway.text.marks import FIGURES, RAISED
from gateway.text.rules import rule

_ONLY_ATTACHED = frozenset("VWAJN")
"""After a space a capital letter is rather a name: "the 5 A students"."""
_PLACE = re.compile(
    r"\b(?:(?:seat|row|gate|room|flat|unit|apartment|suite|exit|size|platform|bus|scene|bay|hall|locker|track|"
    r"fig(?:ure)?|table|section|chapter|exhibit|question|step|class|type|schedule|article|phase|coach|zone)s?|"
    r"apt\.|figs?\.) $",
    re.I,
)
"""What is called "12A"."""
_MODEL = re.compile(r"[A-Z]-?\Z")
""" "LC-39A"."""
_TEAM = re.compile(r"\s[A-Z][a-z]")
_CHAPTER = re.compile(r"\s?\d")
"""Behind "c." it is the number of a law, "5 Geo. 3 c. 26"."""
_STREET = re.compile(r"\s(?:[A-Z][a-z]{2,20}\s){1,2}(?:St|Ave|Rd|Blvd|Dr|Ln|Street|Avenue|Road)\b")
"""Where a house is."""


def _is_measured(name: str, amount: str, match: re.Match[str]) -> bool:
    """Whether a capital letter behind a space is a unit: "19 V", and no "2 V Arsenal"."""
    return (name == "V" and not _TEAM.match(match.string, match.end())) or (name == "A" and "." in amount)


def _measure(match: re.Match[str]) -> str | None:
    name, amount = match["unit"], match["amount"]
    before = match.string[max(0, match.start() - 12) : match.start()]
    if name in _ONLY_ATTACHED and (
        (match["space"] and not _is_measured(name, amount, match))
        or (name == "A" and _MODEL.search(before))
        or _PLACE.search(before)
        or _STREET.match(match.string, match.end())
    ):
        return None
    if name == "c." and _CHAPTER.match(match.string, match.end()):
        return None
    unit = UNITS[name]
    single = amount == "1" or describes(match.string, match.start(), match.end())
    sign = "minus " if match["minus"] else ""
    return f"{sign}{number(amount)} {unit if single else plural_unit(unit)}"


def _part_of(match: re.Match[str]) -> str | None:
    """After a fraction: "one half pound", "three quarters of a mile", "one and a half ounces"."""
    name = match["unit"]
    if name in _ONLY_ATTACHED:
        return None
    unit, before = UNITS[name], match.string[max(0, match.start() - 9) : match.start()]
    ratio = re.search(r"(\d+)/(\d+)$", before)
    if re.search(r"\d\s?[½⅓⅔¼¾⅛⅜⅝⅞]$|\d\s\d+/\d+$|(?:^|[^/\d])\d+-\d+/\d+$", before) or (
        ratio and int(ratio[1]) > int(ratio[2])
    ):
        return f" {plural_unit(unit)}"
    if re.search(r"(?:[½⅓¼⅛]|(?<!\d)1/\d+)$", before):
        return f" {unit}"
    return f" of {'an' if unit[0] in 'aeio' or unit.startswith('hour') else 'a'} {unit}"


def _arc(match: re.Match[str]) -> str:
    degrees, minutes, seconds = (number(re.sub(r"^0+(?=\d)", "", match[part] or "0")) for part in "dms")
    return f"{degrees} degrees {minutes} minutes{f' {seconds} seconds' if match['s'] else ''}"


def _direction(match: re.Match[str]) -> str:
    return f"{_arc(match)} {_QUARTERS[match['quarter']]}"


def _signed_arc(match: re.Match[str]) -> str:
    """Of no quarter of the heavens."""
    return f"{'minus ' if match['minus'] else ''}{_arc(match)}"


def _place(match: re.Match[str]) -> str:
    """On the globe, "26.7N 82.2W"."""
    first, second = number(match["first"]), number(match["second"])
    return f"{first} {_QUARTERS[match['ns']]}, {second} {_QUARTERS[match['ew']]}"


def _sides(match: re.Match[str]) -> str:
    return f"{number(match[1])} by {number(match[3])} {'feet' if match[2] in _FEET else 'inches'}"


def _oven(match: re.Match[str]) -> str:
    return f"{number(match['n'])} degrees {_SCALES_OF_HEAT[match['scale']]}"


def _power_of_ten(match: re.Match[str]) -> str:
    power = match["power"].lstrip("^").translate(FIGURES)
    return f" to the power of {number(power)} {plural_unit(UNITS[match['unit']])}"


def _percent(match: re.Match[str]) -> str:
    return {"%": " percent", "‰": " per mille", "％": " percent"}[match[0].strip()]


def _or(match: re.Match[str]) -> str:
    """ "50/60 Hz"."""
    return f"{number(match['first'])} or {number(match['last'])} {plural_unit(UNITS[match['unit']])}"


def _with_comma(match: re.Match[str]) -> str | None:
    """ "3,5 km", as it is written in most of Europe."""
    if match["space"] and match["unit"] in _ONLY_ATTACHED:
        return None
    unit = UNITS[match["unit"]]
    unit = unit if describes(match.string, match.start(), match.end()) else plural_unit(unit)
    return f"{number(match['amount'].replace(',', '.'))} {unit}"


def _spoon(match: re.Match[str]) -> str:
    """ "2 t. salt"."""
    spoon = "teaspoon" if match["say"] == "t." else "tablespoon"
    return spoon if match["amount"] == "1" or not match["amount"][0].isdecimal() else f"{spoon}s"


_AMOUNT = r"(?<![\w.,])(?P<amount>\d{0,2}[½⅓⅔¼¾⅛]|\d{1,2}(?:\.\d)?)"
_NO_FOOD = "and|but|per|when|were|was|with|the|for|each"


def _feet(match: re.Match[str]) -> str | None:
    """Where no quotation has begun that the sign may close."""
    before = match.string[max(0, match.start() - _NEAR) : match.start()]
    return None if re.search(r"(?<!\w)['‘]\w", before) else " feet"


def _hyphened(match: re.Match[str]) -> str:
    """Of "a 14-oz can"."""
    return f"{number(match['amount'])} {UNITS[match['unit']]}"


def _millions(match: re.Match[str]) -> str:
    return f"{number(match['amount'])} {_SCALES[match['scale']]}"


def ends_quotation(match: re.Match[str]) -> bool:
    """Whether what may be the mark of an inch closes words that are quoted."""
    return _QUOTED.search(match.string, max(0, match.start() - _NEAR), match.start()) is not None


def _inch(match: re.Match[str]) -> str | None:
    return None if ends_quotation(match) else " inch"


def _inches(match: re.Match[str]) -> str | None:
    before = match.string[max(0, match.start() - _NEAR) : match.start()]
    if ends_quotation(match) or not _SIZE.search(before):
        return None
    one = re.search(r"(?:^|[^\d.,])1$|(?<!\d)[½¼¾⅛⅜⅝⅞]$|(?<!\d[ -])\d/\d{1,2}$", before) or _NOUN.match(
        match.string, match.end()
    )
    return " inch" if one else " inches"


_QUOTED = re.compile('(?:(?:^|[^\\d½⅓⅔¼¾⅛⅜⅝⅞"])"(?=\\S)[^"]*|“[^”]*)$')
"""Where a quotation has begun; the mark of an inch begins none."""
_SIZE = re.compile(r"(?:^|[\s(~<>×x–-])[\d.,/½⅓⅔¼¾⅛⅜⅝⅞ ]{1,9}$")
_NEAR = 200
"""Characters in which a quotation begins."""
_NOUN = re.compile(r"\s(?!(?:in|by|and|or|of|to|at|on|from|for|is|was|with|above|below)\b)[a-z]")
_SCALES = {"m": "million", "mn": "million", "bn": "billion", "tn": "trillion"}
MANY = (
    "people|users|views|viewers|downloads|streams|tokens|parameters|params|devices|requests|dollars|votes|voters|jobs|"
    "homes|households|customers|subscribers|followers|passengers|tonnes|tons|barrels|copies|workers|employees|visitors|"
    "tourists|children|kids|adults|shares|members|accounts|vehicles|cars|patients|cases|deaths|doses|hectares|acres|"
    "refugees|migrants|residents|citizens|inhabitants|students|pupils|fans|records|files|transactions|messages|tweets|"
    "posts|likes|clicks|years|Americans|Britons|euros|pounds"
)
"""What there are millions of."""
_QUARTERS = {"N": "north", "S": "south", "E": "east", "W": "west"}
_FEET = "'’"
_PAIRED = "Hz|kHz|MHz|GHz|V|kV|W|kW|[KMGT]B|mAh|mA|fps|[MG]bps"
"""Units of things that are made for two measures, "110/220 V"."""
_SHARES = {"wt": "weight", "vol": "volume", "mol": "mole"}
_SCALES_OF_HEAT = {"C": "Celsius", "F": "Fahrenheit"}
_BEGINS = r"(?:(?<![\w./⁄^])|(?<=[A-Za-z]/)|(?<=[a-z]\./)|(?<=[\"”]/)|(?<=\d[x×])|(?<=[Øø]))"
RULES = (
    rule(
        rf"(?<![\w.])(?P<d>\d{{1,3}})°\s?(?P<m>\d{{1,2}}(?:\.\d{{1,6}})?)[′'’]\s?(?:(?P<s>{NUMBER})[″\"”]\s?)?"
        r"(?P<quarter>[NSEW])\b",
        _direction,
    ),
    rule(
        rf"(?<![\w.]){NEGATIVE}(?P<d>\d{{1,3}})°\s?(?P<m>\d{{1,2}}(?:\.\d{{1,6}})?)[′'’](?:\s?(?P<s>{NUMBER})[″\"”])?(?!\w)",
        _signed_arc,
    ),
    rule(r"(?<=\d)['’′](?=\s(?:tall|long|wide|deep|high|thick)\b)", _feet),
    rule(r"\b[Aa]n?\s\d{1,3}(?P<say>['’′])(?=\s[a-z])", " foot"),
    rule(r"(?<=[\s(])[1-9]\d{0,2}(?P<say>['’′])(?=[,;)])", _feet),
    rule(rf"(?<![\w.])({NUMBER})([\"”'’])\s?[x×]\s?({NUMBER})\2(?!\w)", _sides),
    rule(
        r"(?<=\d)[\"”″](?=\s(?:wide|tall|long|deep|high|thick|TV|OLED|AMOLED|LCD|IPS|LED|touchscreen|laptop|tablet|monitor|screen|display|pan|pipe|[A-Z]{2,5}\+?|[A-Z]{0,3}\d\w{0,8})\b)",
        _inch,
    ),
    rule(r"(?<=\d)[\"”″](?=-(?:wide|long|thick|deep|tall|high|diameter)\b)", _inch),
    rule(r"(?<=\d)\s?″", " inches"),
    rule(r"(?<=\d)[\"”]/(?=\d{1,3}(?:\.\d)?\s?cm\b)", " inches or "),
    rule(
        r"(?<![\w./])1/(?P<part>[1-9]\d{1,3})\s?s(?:ec)?\b",
        lambda match: f"one {ordinal(int(match['part']))} of a second",
    ),
    rule(
        r"(?<![\w./])(?P<town>\d{2})/(?P<road>\d{2})\s?(?i:mpg)\b",
        lambda match: f"{number(match['town'])}, {number(match['road'])} miles per gallon",
    ),
    rule(
        r"(?<![\w.])(?P<first>\d{1,2}(?:\.\d{1,6})?)\s?(?P<ns>[NS]),?\s"
        r"(?P<second>\d{1,3}(?:\.\d{1,6})?)\s?(?P<ew>[EW])(?!\w)",
        _place,
    ),
    rule(r"(?<![\w.,$€£#-])(?P<n>[1-5]\d[05]|\d{2,3}\.\d)(?P<scale>[CF])\b(?![-'’.]\w)", _oven),
    rule(r"\bdegrees (?P<say>[CF])\b(?![.'’]\w)", lambda match: _SCALES_OF_HEAT[match["say"]]),
    rule(rf"(?<![\w.,])(?P<amount>{NUMBER})\s?(?P<scale>m)(?=\s(?:{MANY})\b(?!['’]))", _millions),
    rule(rf"(?<![\w.,])(?P<amount>{NUMBER})\s?(?P<scale>[mbt]n)\b", _millions),
    rule(
        rf"(?<![\w.,$€£/])(?P<amount>{NUMBER})-(?P<unit>(?=[A-Za-z]{{2}}|[mgLVW]\s[a-z])(?:{UNIT}))(?![\w'’-])"
        r"(?:\.(?=\)?\s[a-z]))?",
        _hyphened,
    ),
    rule(r"(?<=[\d½¼¾⅛⅜⅝⅞])[\"”](?=\s[a-z]|[,;.)]|\s?$)", _inches),
    rule(r"(?:(?<=\d/\d)|(?<=\d/\d\d))-in\b\.?", " inch"),
    rule(rf"{_AMOUNT}\s(?P<say>[tT]\.)(?=\s(?!(?:{_NO_FOOD})\b)[a-z]{{3}})", _spoon),
    rule(r"(?<=\d,\d{3})['’′](?=[\s.,;:)/]|$)", _feet),
    rule(
        rf"(?<![\w./])(?P<first>\d{{2,4}})/(?P<last>\d{{2,4}})\s?(?P<unit>{_PAIRED}){UNIT_END}",
        _or,
    ),
    rule(rf"(?<![\w.,])(?P<amount>\d{{1,3}},\d{{1,2}})(?P<space>\s?)(?P<unit>{UNIT}){UNIT_END}", _with_comma),
    rule(
        r"(?<![\w.,])(?P<say>\d{1,3},\d{1,2})(?=\s?[%‰])",
        lambda match: number(match["say"].replace(",", ".")),
    ),
    rule(r"(?<=\d)\s?(?P<of>wt|vol|mol)\.?\s?%", lambda match: f" {_SHARES[match['of']]} percent"),
    rule(rf"(?<=[½⅓⅔¼¾⅛⅜⅝⅞])\s?(?P<unit>{UNIT}){UNIT_END}", _part_of),
    rule(rf"(?:(?<=\d/\d)|(?<=\d/\d\d))\s?(?P<unit>{UNIT}){UNIT_END}", _part_of),
    rule(
        r"(?<=\d)\s?[°º]\s?(?P<quarter>[NSEW])\b(?!['’])",
        lambda match: f" degrees {_QUARTERS[match['quarter']]}",
    ),
    rule(
        rf"(?=[-−\d]){_BEGINS}{NEGATIVE}(?P<amount>{NUMBER})(?P<space>[ \u00a0]?)(?P<unit>{UNIT}){UNIT_END}",
        _measure,
    ),
    rule(
        rf"(?<!\d10)(?<=10)(?P<say>(?P<power>[⁻⁺]?[{RAISED}]+|\^-?\d{{1,4}})\s?(?P<unit>{UNIT})){UNIT_END}",
        _power_of_ten,
    ),
    rule(
        r"\d\s?(?:ft|feet|foot)\.?\s\d{1,2}(?P<say>\s?in)(?=[.,;:!?)]|$|\s(?:and|but|or|with|tall|long|wide|high|deep)\b)",
        " inches",
    ),
    rule(
        rf"(?<![\w.,]){NEGATIVE}(?P<amount>\d{{1,3}}(?:\.\d)?)\s?bps\b",
        lambda match: f"{'minus ' if match['minus'] else ''}{number(match['amount'])} basis points",
    ),
    rule(r"(?<=\d)\s?[%‰％]", _percent),
)
