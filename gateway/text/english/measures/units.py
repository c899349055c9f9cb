"""Units of measures, and their names."""

from __future__ import annotations

import re

UNITS = {
    "km": "kilometer", "cm": "centimeter", "mm": "millimeter", "µm": "micrometer", "μm": "micrometer",
    "nm": "nanometer", "m": "meter", "mi": "mile", "yd": "yard", "yds": "yard", "ft": "foot", "in.": "inch",
    "kg": "kilogram", "g": "gram", "mg": "milligram", "µg": "microgram", "μg": "microgram", "t": "ton",
    "lb": "pound", "lbs": "pound", "oz": "ounce", "l": "liter", "L": "liter", "ml": "milliliter",
    "mL": "milliliter", "cl": "centiliter", "dl": "deciliter", "gal": "gallon",
    "s": "second", "sec": "second", "secs": "second", "ms": "millisecond", "µs": "microsecond",
    "μs": "microsecond", "ns": "nanosecond", "min": "minute", "mins": "minute", "h": "hour", "hr": "hour",
    "hrs": "hour", "yr": "year", "yrs": "year", "mo": "month", "mos": "month", "wk": "week", "wks": "week",
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
    "sq mi": "square mile", "sq. mi": "square mile", "mi²": "square mile", "in²": "square inch",
    "cu ft": "cubic foot", "cu. ft": "cubic foot", "ft³": "cubic foot", "fl. oz": "fluid ounce",
    "mcg": "microgram", "ng": "nanogram", "pg": "picogram", "µmol": "micromole", "mmol": "millimole",
    "dL": "deciliter", "IU": "international unit", "cc": "C C", "mmHg": "millimeter of mercury",
    "mm Hg": "millimeter of mercury", "ppm": "part per million", "ppb": "part per billion", "pts": "point",
    "mpg": "mile per gallon", "mi/h": "mile per hour", "hp": "horsepower", "MP": "megapixel",
    "kbit/s": "kilobit per second", "Mbit/s": "megabit per second", "Gbit/s": "gigabit per second",
    "mEq": "milliequivalent", "U/L": "unit per liter", "U/mL": "unit per milliliter",
    "IU/L": "international unit per liter",
    "mIU/L": "milli international unit per liter", "µL": "microliter", "μL": "microliter", "nmol": "nanomole",
    "ºF": "degree Fahrenheit", "ºC": "degree Celsius", "c.": "cup", "pkg": "package", "pkgs": "package",
    "µIU": "micro international unit", "cmH2O": "centimeter of water",
    "ly": "light year", "kts": "knot", "kn": "knot", "inHg": "inch of mercury",
    "Nm": "newton meter", "N·m": "newton meter", "N⋅m": "newton meter", "gsm": "gram per square meter",
    "pcs": "piece", "µF": "microfarad", "μF": "microfarad", "nF": "nanofarad", "pF": "picofarad",
    "mbar": "millibar", "lb-ft": "pound foot", "ft-lb": "foot-pound", "atm": "atmosphere", "dBm": "D B M",
    "Å": "angstrom",
    "MWh": "megawatt hour", "GWh": "gigawatt hour", "TWh": "terawatt hour", "Ah": "amp hour",
}  # fmt: skip
_UNCOUNTED = {
    "hertz", "kilohertz", "megahertz", "gigahertz", "horsepower", "P S I", "R P M", "F P S", "D P I", "C C",
    "D B M",
}  # fmt: skip
_DIMENSIONS = (
    "gram kilogram milligram microgram pound ounce ton",
    "liter milliliter centiliter deciliter gallon fluid_ounce quart teaspoon tablespoon",
    "meter kilometer centimeter millimeter mile yard foot inch",
    "kilojoule kilocalorie joule calorie",
    "kilometer_per_hour mile_per_hour kilometer_per_second meter_per_second",
    "degree_Celsius degree_Fahrenheit",
    "square_meter square_kilometer square_foot square_mile square_inch hectare",
    "watt kilowatt horsepower",
)
_DIMENSION = {
    unit.replace("_", " "): number for number, units in enumerate(_DIMENSIONS) for unit in units.split()
}
UNIT_END = (
    r"(?![A-Za-z0-9²³'’]|\.[a-z]\.|\([a-z0-9]{1,3}\))"
    r"(?:\.(?=[,;:)/]|\s+[a-z]|\s+\d{1,2}\s?(?:in|oz|mins?|secs?)\b))?"
)
"""With a full stop where the sentence goes on behind it."""
UNIT = "|".join(sorted(map(re.escape, UNITS), key=len, reverse=True))


def plural_unit(unit: str) -> str:
    """kilometer per hour: "kilometers per hour"."""
    head, *rest = re.split("( per | of )", unit, maxsplit=1)
    if unit in _UNCOUNTED:
        return unit
    if head.startswith("degree"):
        head = head.replace("degree", "degrees", 1)
    elif head.endswith("foot"):
        head = f"{head[:-4]}feet"
    else:
        head += "es" if head.endswith("inch") else "s"
    return "".join((head, *rest))


def are_alike(one: str, other: str) -> bool:
    """Whether two units, as they are written, measure the same: "200g/7oz"."""
    dimension = _DIMENSION.get(UNITS[one])
    return dimension is not None and dimension == _DIMENSION.get(UNITS[other])
