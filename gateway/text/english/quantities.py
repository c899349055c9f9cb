"""Units and percentages."""

from __future__ import annotations

import re

from gateway.text.english.numbers import NEGATIVE, NUMBER, cardinal, number
from gateway.text.marks import FIGURES, RAISED
from gateway.text.rules import rule

UNITS = {
    "km": "kilometer", "cm": "centimeter", "mm": "millimeter", "µm": "micrometer", "μm": "micrometer",
    "nm": "nanometer", "m": "meter", "mi": "mile", "yd": "yard", "ft": "foot", "in.": "inch",
    "kg": "kilogram", "g": "gram", "mg": "milligram", "µg": "microgram", "μg": "microgram", "t": "ton",
    "lb": "pound", "lbs": "pound", "oz": "ounce", "l": "liter", "L": "liter", "ml": "milliliter",
    "mL": "milliliter", "cl": "centiliter", "dl": "deciliter", "gal": "gallon",
    "s": "second", "sec": "second", "secs": "second", "ms": "millisecond", "µs": "microsecond",
    "μs": "microsecond", "ns": "nanosecond", "min": "minute", "mins": "minute", "h": "hour", "hr": "hour",
    "hrs": "hour", "yr": "year", "yrs": "year", "mo": "month", "wk": "week", "wks": "week",
    "Hz": "hertz", "kHz": "kilohertz", "MHz": "megahertz", "GHz": "gigahertz", "V": "volt", "kV": "kilovolt",
    "mV": "millivolt", "W": "watt", "kW": "kilowatt", "MW": "megawatt", "GW": "gigawatt",
    "Wh": "watt hour", "kWh": "kilowatt hour", "mAh": "milliamp hour", "mA": "milliamp", "A": "amp",
    "Ω": "ohm", "kΩ": "kiloohm", "MΩ": "megaohm",
    "J": "joule", "kJ": "kilojoule", "cal": "calorie", "kcal": "kilocalorie", "N": "newton",
    "Pa": "pascal", "kPa": "kilopascal", "hPa": "hectopascal", "bar": "bar", "psi": "P S I", "dB": "decibel",
    "KB": "kilobyte", "kB": "kilobyte", "MB": "megabyte", "GB": "gigabyte", "TB": "terabyte",
    "PB": "petabyte", "KiB": "kibibyte", "MiB": "mebibyte", "GiB": "gibibyte", "TiB": "tebibyte",
    "kbps": "kilobit per second", "Mbps": "megabit per second", "Gbps": "gigabit per second",
    "mph": "mile per hour", "kph": "kilometer per hour", "km/h": "kilometer per hour",
    "kmh": "kilometer per hour",
    "m/s": "meter per second", "km/s": "kilometer per second", "m/s²": "meter per second squared",
    "m²": "square meter", "m2": "square meter", "km²": "square kilometer", "cm²": "square centimeter",
    "mm²": "square millimeter", "ft²": "square foot", "m³": "cubic meter", "m3": "cubic meter",
    "cm³": "cubic centimeter", "sq ft": "square foot", "sq m": "square meter", "sq km": "square kilometer",
    "sq. ft": "square foot", "sq. m": "square meter", "sq. km": "square kilometer", "sqft": "square foot",
    "ha": "hectare", "rpm": "R P M", "bpm": "beat per minute", "BPM": "beat per minute", "fps": "F P S",
    "dpi": "D P I", "px": "pixel", "mol": "mole",
    "MB/s": "megabyte per second", "GB/s": "gigabyte per second", "Mb/s": "megabit per second",
    "Gb/s": "gigabit per second", "g/L": "gram per liter", "mg/L": "milligram per liter",
    "kg/m³": "kilogram per cubic meter", "kg/m²": "kilogram per square meter",
    "kg/m2": "kilogram per square meter",
    "mg/mL": "milligram per milliliter",
    "mg/dL": "milligram per deciliter",
    "µg/mL": "microgram per milliliter", "mg/kg": "milligram per kilogram", "mmol/L": "millimole per liter",
    "°C": "degree Celsius", "℃": "degree Celsius",
    "tsp": "teaspoon", "tbsp": "tablespoon", "Tbsp": "tablespoon", "fl oz": "fluid ounce", "qt": "quart",
    "°F": "degree Fahrenheit", "℉": "degree Fahrenheit", "°": "degree", "º": "degree",
}  # fmt: skip
_PERIODS = {name: UNITS[name] for name in ("yr", "hr", "min", "sec", "mo", "wk", "kg", "lb", "oz", "gal")}
_PERIODS |= {"bbl": "barrel", "kWh": "kilowatt hour", "GB": "gigabyte"}
_UNCOUNTED = {"hertz", "kilohertz", "megahertz", "gigahertz", "P S I", "R P M", "F P S", "D P I"}
_ONLY_ATTACHED = frozenset("VWAJN")
"""After a space a capital letter is rather a name: "the 5 A students"."""
_PLACE = re.compile(
    r"\b(?:seat|row|gate|room|flat|unit|apartment|apt\.|suite|exit|size|platform|bus)s? $", re.I
)
"""What is called "12A"."""
_UNIT_END = r"(?![A-Za-z0-9²³'’])(?:\.(?=\s+[a-z]|\s+\d{1,2}\s?(?:in|oz|mins?|secs?)\b))?"
"""With a full stop where the sentence goes on behind it."""
_UNIT = "|".join(sorted(map(re.escape, UNITS), key=len, reverse=True))


def plural_unit(unit: str) -> str:
    """kilometer per hour: "kilometers per hour"."""
    head, per, rest = unit.partition(" per ")
    if unit in _UNCOUNTED:
        return unit
    if head.startswith("degree"):
        head = head.replace("degree", "degrees", 1)
    elif head.endswith("foot"):
        head = f"{head[:-4]}feet"
    else:
        head += "es" if head.endswith("inch") else "s"
    return head + per + rest


def _measure(match: re.Match[str]) -> str | None:
    name, amount = match["unit"], match["amount"]
    before = match.string[max(0, match.start() - 12) : match.start()]
    if name in _ONLY_ATTACHED and (match["space"] or _PLACE.search(before)):
        return None
    unit = UNITS[name]
    single = match["article"] is not None or amount == "1"
    sign = "minus " if match["minus"] else ""
    return f"{sign}{number(amount)} {unit if single else plural_unit(unit)}"


def _part_of(match: re.Match[str]) -> str | None:
    """After a fraction: "one half pound", "three quarters of a mile", "one and a half ounces"."""
    name = match["unit"]
    if name in _ONLY_ATTACHED:
        return None
    unit, before = UNITS[name], match.string[max(0, match.start() - 9) : match.start()]
    if re.search(r"\d\s?[½⅓⅔¼¾⅛⅜⅝⅞]$|\d\s\d+/\d+$", before):
        return f" {plural_unit(unit)}"
    if re.search(r"(?:[½⅓¼⅛]|(?<!\d)1/\d+)$", before):
        return f" {unit}"
    return f" of {'an' if unit[0] in 'aeio' or unit.startswith('hour') else 'a'} {unit}"


def _height(match: re.Match[str]) -> str:
    feet, inches = int(match[1]), int(match[2])
    return f"{cardinal(feet)} {'foot' if feet == 1 else 'feet'} {cardinal(inches)}" + (
        f" {'inch' if inches == 1 else 'inches'}" if match[3] else ""
    )


def _arc(match: re.Match[str]) -> str:
    seconds = f" {number(match['s'])} seconds" if match["s"] else ""
    return f"{number(match['d'])} degrees {number(match['m'])} minutes{seconds} "


def _sides(match: re.Match[str]) -> str:
    return f"{number(match[1])} by {number(match[3])} {'feet' if match[2] in _FEET else 'inches'}"


def _duration(match: re.Match[str]) -> str | None:
    """Of hours, minutes and seconds, of which at least two are there: "m" alone is a meter."""
    parts = [
        (match[name], unit) for name, unit in (("h", "hour"), ("m", "minute"), ("s", "second")) if match[name]
    ]
    if len(parts) < 2:
        return None
    return " ".join(
        f"{number(amount)} {unit if int(amount) == 1 else plural_unit(unit)}" for amount, unit in parts
    )


def _oven(match: re.Match[str]) -> str:
    return f"{number(match['n'])} degrees {_SCALES_OF_HEAT[match['scale']]}"


def _power_of_ten(match: re.Match[str]) -> str:
    power = match["power"].lstrip("^").translate(FIGURES)
    return f" to the power of {number(power)} {plural_unit(UNITS[match['unit']])}"


def _percent(match: re.Match[str]) -> str:
    return {"%": " percent", "‰": " per mille", "％": " percent"}[match[0].strip()]


_FEET = "'’"
_SCALES_OF_HEAT = {"C": "Celsius", "F": "Fahrenheit"}
_BEGINS = r"(?:(?<![\w./⁄^])|(?<=[A-Za-z]/))"
RULES = (
    rule(
        rf"(?<![\w.])(?P<d>\d{{1,3}})°\s?(?P<m>\d{{1,2}})[′'’]\s?(?:(?P<s>{NUMBER})[″\"”]\s?)?(?=[NSEW]\b)",
        _arc,
    ),
    rule(r"(?<![\w.])(\d{1,2})['’′](\d{1,2})(\"|”|″|'')?(?!\w)", _height),
    rule(r"(?<![\w.])(\d{1,2})['’′]\s(\d{1,2})(\"|”|″|'')(?!\w)", _height),
    rule(rf"(?<![\w.])({NUMBER})([\"”'’])\s?[x×]\s?({NUMBER})\2(?!\w)", _sides),
    rule(
        r"(?<=\d)[\"”″](?=\s(?:wide|tall|long|deep|high|thick|TV|monitor|screen|display|pan|pipe)\b)", " inch"
    ),
    rule(r"(?<=\d)\s?″", " inches"),
    rule(
        r"(?<![\w./])(?:(?P<h>\d{1,3})\s?h(?:rs?)?\s?)?(?P<m>\d{1,3})\s?m(?:in)?(?:\s?(?P<s>[0-5]?\d)\s?s(?:ec)?)?"
        r"(?![\w'’²³/])",
        _duration,
    ),
    rule(r"(?<=°[CF])\s?/\s?(?=[-−]?\d{1,3}(?:\.\d+)?\s?°[CF]\b)", " or "),
    rule(r"(?<![\w.,$€£#-])(?P<n>[1-5]\d[05]|\d{2,3}\.\d)(?P<scale>[CF])\b(?![-'’.]\w)", _oven),
    rule(r"\bdegrees (?P<say>[CF])\b(?![.'’]\w)", lambda match: _SCALES_OF_HEAT[match["say"]]),
    rule(rf"(?<=[½⅓⅔¼¾⅛⅜⅝⅞])\s?(?P<unit>{_UNIT}){_UNIT_END}", _part_of),
    rule(rf"(?:(?<=\d/\d)|(?<=\d/\d\d))\s?(?P<unit>{_UNIT}){_UNIT_END}", _part_of),
    rule(r"(?<=\d)\s?[°º]\s?(?=[NSEW]\b)", " degrees "),
    rule(
        rf"{_BEGINS}(?:(?P<article>(?<=\ba )|(?<=\bA )|(?<=\ban )|(?<=\bAn )))?{NEGATIVE}"
        rf"(?P<amount>{NUMBER})(?P<space>[ \u00a0]?)(?P<unit>{_UNIT}){_UNIT_END}",
        _measure,
    ),
    rule(
        rf"(?<!\d10)(?<=10)(?P<say>(?P<power>[⁻⁺]?[{RAISED}]+|\^-?\d{{1,4}}) (?P<unit>{_UNIT})){_UNIT_END}",
        _power_of_ten,
    ),
    rule(
        r"\d\s?(?:ft|feet|foot)\.?\s\d{1,2}(?P<say>\s?in)(?=[.,;:!?)]|$|\s(?:tall|long|wide|high|deep)\b)",
        " inches",
    ),
    rule(r"(?<=\d)\s?[%‰％]", _percent),
    rule(r"(?<=\d)/(?=1[MKk]\s\w+s\b)", " per "),
    rule(
        r"(?:(?<=[\d¢€])|(?<=\d[kKmM])|(?<=\d/user)|(?<=\d/seat))\s?/\s?(?P<unit>day|week|wk|month|year|yr|hour|hr|min|minute|second|sec|mo|person|"
        r"kg|lb|oz|gal|bbl|night|kWh|GB|user|seat|share|mile|barrel|ounce|piece)\b",
        lambda match: f" per {_PERIODS.get(match['unit'], match['unit'])}",
    ),
)
