"""Weather at airports: "METAR EDDF 291220Z 24015KT 9999 BKN012 08/06 Q1013"."""

from __future__ import annotations

import re
from collections.abc import Callable

from gateway.text.english.numbers import cardinal, digits, fraction, ordinal, pair
from gateway.text.rules import Rule, rule

_SPEEDS = {"KT": "knots", "MPS": "meters per second", "KMH": "kilometers per hour"}
_COVER = {"FEW": "few clouds", "SCT": "scattered clouds", "BKN": "broken clouds", "OVC": "overcast"}
_COVER |= {"VV": "vertical visibility"}
_TOWERS = {"CB": " with cumulonimbus", "TCU": " with towering cumulus"}
_STRENGTHS = {"+": "heavy ", "-": "light "}
_WEATHER = {
    "VC": "nearby", "MI": "shallow", "BC": "patches of", "PR": "partial", "DR": "drifting", "BL": "blowing",
    "SH": "showers of", "TS": "thunderstorm", "FZ": "freezing", "RA": "rain", "SN": "snow", "DZ": "drizzle",
    "SG": "snow grains", "PL": "ice pellets", "GR": "hail", "GS": "small hail", "BR": "mist", "FG": "fog",
    "FU": "smoke", "HZ": "haze", "DU": "dust", "SA": "sand", "SQ": "squalls", "FC": "funnel cloud",
}  # fmt: skip
_WORDS = {
    "AUTO": "automatic", "COR": "corrected", "CAVOK": "ceiling and visibility okay",
    "NSC": "no significant clouds", "SKC": "sky clear", "CLR": "sky clear", "NCD": "no clouds detected",
    "NOSIG": "no significant change", "BECMG": "becoming", "TEMPO": "temporarily", "RMK": "remarks",
    "NSW": "no significant weather",
    "9999": "visibility ten kilometers or more",
}  # fmt: skip


def _wind(match: re.Match[str]) -> str:
    if not int(match["speed"]):
        return "wind calm"
    way = "variable" if match["way"] == "VRB" else digits(match["way"])
    gusts = f", gusting {cardinal(int(match['gusts']))}" if match["gusts"] else ""
    return f"wind {way} at {cardinal(int(match['speed']))} {_SPEEDS[match['unit']]}{gusts}"


def _cloud(match: re.Match[str]) -> str:
    at = " at" if match[1] != "VV" else ""
    return f"{_COVER[match[1]]}{at} {cardinal(100 * int(match[2]))} feet{_TOWERS.get(match[3], '')}"


def _miles(match: re.Match[str]) -> str:
    amount = cardinal(int(match["top"]))
    if match["bottom"]:
        amount = fraction(int(match["top"]), int(match["bottom"]))
    whole = f"{cardinal(int(match['whole']))} and " if match["whole"] else ""
    return f"visibility {_MORE.get(match['more'], '')}{whole}{amount} miles"


def _degrees(written: str) -> str:
    return f"{'minus ' if written[0] == 'M' else ''}{cardinal(int(written.lstrip('M')))}"


def _heat(match: re.Match[str]) -> str:
    dew = f", dew point {_degrees(match[2])}" if match[2] else ""
    return f"temperature {_degrees(match[1])}{dew}"


def _weather(match: re.Match[str]) -> str:
    kinds = [_WEATHER[kind] for kind in re.findall("..", match[2])]
    return _STRENGTHS.get(match[1], "") + " ".join(kinds)


_MORE = {"P": "more than ", "M": "less than "}
_GROUPS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], str]], ...] = (
    (re.compile(r"(?P<way>\d{3}|VRB)(?P<speed>\d{2,3})(?:G(?P<gusts>\d{2,3}))?(?P<unit>KT|MPS|KMH)"), _wind),
    (
        re.compile(r"(\d{3})V(\d{3})"),
        lambda match: f"variable from {digits(match[1])} to {digits(match[2])}",
    ),
    (re.compile(r"(?P<more>[PM]?)(?:(?P<whole>\d)\s)?(?P<top>\d{1,2})(?:/(?P<bottom>\d{1,2}))?SM"), _miles),
    (re.compile(r"(\d{4})"), lambda match: f"visibility {cardinal(int(match[1]))} meters"),
    (re.compile(r"(FEW|SCT|BKN|OVC|VV)(\d{3})(CB|TCU)?"), _cloud),
    (re.compile(r"(M?\d\d)/(M?\d\d)?"), _heat),
    (re.compile(r"Q(\d{4})"), lambda match: f"Q N H {digits(match[1])}"),
    (re.compile(r"A(\d{4})"), lambda match: f"altimeter {digits(match[1])}"),
    (re.compile(rf"([+-]?)((?:{'|'.join(_WEATHER)}){{1,4}})"), _weather),
    (
        re.compile(r"FM(\d\d)(\d\d)(\d\d)"),
        lambda match: f"from the {ordinal(int(match[1]))} at {_clock(match[2], match[3])}",
    ),
    (
        re.compile(r"(\d\d)(\d\d)/(\d\d)(\d\d)"),
        lambda match: (
            f"from the {ordinal(int(match[1]))} at {_clock(match[2], '00')} to the {ordinal(int(match[3]))}"
            f" at {_clock(match[4], '00')}"
        ),
    ),
)


def _clock(hour: str, minute: str) -> str:
    minutes = pair(int(minute)) if int(minute) else "hundred"
    return f"{pair(int(hour)) if int(hour) else 'zero'} {minutes} Zulu"


def _group(written: str) -> str:
    """One that is not known is read sign by sign."""
    if written in _WORDS:
        return _WORDS[written]
    for pattern, say in _GROUPS:
        if match := pattern.fullmatch(written):
            return say(match)
    return " ".join(digits(sign) if sign.isdecimal() else sign for sign in written if sign not in "/=")


def _report(match: re.Match[str]) -> str:
    kind = f"{match['kind']} " if match["kind"] else ""
    when = f"{ordinal(int(match['day']))} at {_clock(match['hour'], match['minute'])}"
    groups = ", ".join(filter(None, map(_group, re.findall(r"\d\s\d/\dSM|\S+", match["groups"]))))
    return f"{kind}{' '.join(match['station'])}, the {when}, {groups}"


def _runway(match: re.Match[str]) -> str:
    side = f" {_SIDES[match['side']]}" if match["side"] else ""
    return digits(match["way"]) + side


_SIDES = {"L": "left", "R": "right", "C": "center"}
_WAY = r"(?P<say>(?P<way>0?[1-9]|[12]\d|3[0-6])"
RULES: tuple[Rule, ...] = (
    rule(rf"\b[Rr]unways?\s{_WAY}(?P<side>[LRC]))(?!\w)", _runway),
    rule(rf"\b(?:RWY|ILS)\s{_WAY}(?P<side>[LRC])?)(?![\w/]|[.,]\d)", _runway),
    rule(
        r"(?<![\w-])(?:(?P<kind>METAR|SPECI|TAF)\s(?:(?:COR|AMD)\s)?)?(?P<station>[A-Z]{4})\s"
        r"(?P<day>0[1-9]|[12]\d|3[01])(?P<hour>[01]\d|2[0-3])(?P<minute>[0-5]\d)Z"
        r"(?P<groups>(?:\s[A-Z0-9/+-]{1,12}(?![A-Za-z0-9/+-])){2,40})=?",
        _report,
    ),
)
