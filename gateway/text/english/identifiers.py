"""What is read figure by figure: phone numbers, versions, IP addresses, codes; and hashes, handles, flags."""

from __future__ import annotations

import re

from gateway.text.english.numbers import cardinal, digits, number, pair, plural, short_code
from gateway.text.rules import rule


def _phone(match: re.Match[str]) -> str:
    """Group by group, with a pause between them."""
    groups = re.findall(r"\d+", match["say"])
    spoken = ", ".join(_group(group) for group in groups)
    return f"plus {spoken}" if match["say"].startswith("+") else spoken


def _international(match: re.Match[str]) -> str | None:
    """A quotation, "+12.10 (1.40%)", is none."""
    is_quoted = re.fullmatch(r"\+\d+\.\d+", match["say"]) or ("." in match["say"] and " " in match["say"])
    return None if is_quoted else _phone(match)


def _chain(match: re.Match[str]) -> str:
    """Groups with hyphens between them, of which none is a range: "978-0-306-40615-7", "1-2-3"."""
    groups = match["say"].split("-")
    short = all(len(group) < 3 and str(int(group)) == group for group in groups)
    return ", ".join(cardinal(int(group)) if short else digits(group) for group in groups)


def _grouped(match: re.Match[str]) -> str:
    return ", ".join(_apart(group) for group in re.split("[ :-]", match["say"]))


def _numbered(match: re.Match[str]) -> str:
    """The groups of figures of a code such as "INV-2024-0001"."""
    return " " + ", ".join(short_code(group) for group in match["say"][1:].split("-"))


def _one_to_one(match: re.Match[str]) -> str:
    """ "2-in-1", "3-for-4"."""
    return f"{number(match[1])} {match[2]} {number(match[3])}"


def _plural(match: re.Match[str]) -> str:
    """Of aircraft and arms, "F-16s"."""
    said = plural(cardinal(int(match[2])))
    return f"{said[:-2]}ies" if said.endswith("ys") else f"{said[:-1]}es" if said.endswith("xs") else said


def _hundreds(match: re.Match[str]) -> str:
    """ "100s of people", "10s of 1000s"."""
    return f"{('ten', 'hundred', 'thousand')[len(match[1] or match[2]) - 2]}s"


def _expiry(match: re.Match[str]) -> str:
    """Of a card, by month and year."""
    return f"{pair(int(match['m']))} {pair(int(match['y']))}"


def _group(group: str) -> str:
    return "eight hundred" if group == "800" else digits(group)


def _after_call(match: re.Match[str]) -> str | None:
    return digits(match["say"])


def _version(match: re.Match[str]) -> str:
    v = "version " if match["v"] else ""
    return v + " point ".join(number(group) for group in match["numbers"].split("."))


def _named_version(match: re.Match[str]) -> str:
    return " point ".join(number(group) for group in match["say"].split("."))


def _ip_address(match: re.Match[str]) -> str | None:
    groups = match["address"].split(".")
    if any(int(group) > 255 for group in groups):
        return None
    port = f" colon {digits(match['port'])}" if match["port"] else ""
    port = f" slash {cardinal(int(match['mask']))}" if match["mask"] else port
    return " dot ".join(digits(group) if len(group) == 3 else cardinal(int(group)) for group in groups) + port


def _digits(match: re.Match[str]) -> str:
    return digits(match["say"])


def _abroad(match: re.Match[str]) -> str:
    """A postcode with its country, "D-80331"."""
    country, code = match["say"].split("-")
    return f"{' '.join(country)} {digits(code)}"


def _code(match: re.Match[str]) -> str:
    return short_code(match["say"])


def _hex(match: re.Match[str]) -> str:
    return f"zero x {_apart(match[1])}"


def _apart(text: str) -> str:
    return " ".join(digits(character) if character.isdecimal() else character for character in text)


def _commit(match: re.Match[str]) -> str | None:
    text = match["say"]
    return _apart(text) if re.search(r"\d", text) and re.search(r"[a-f]", text) else None


def _keys(match: re.Match[str]) -> str:
    """Of a telephone."""
    return f"{'star' if match['key'] == '*' else 'pound'} {digits(match['n'])}".rstrip()


def _product(match: re.Match[str]) -> str:
    text = match["say"]
    return short_code(text) if len(text) < 5 else digits(text)


_STATES = (
    "AL|AK|AZ|AR|CA|CO|CT|DE|DC|FL|GA|HI|ID|IL|IN|IA|KS|KY|LA|ME|MD|MA|MI|MN|MS|MO|MT|NE|NV|NH|NJ|NM|NY|NC|ND|"
    "OH|OK|OR|PA|PR|RI|SC|SD|TN|TX|UT|VT|VA|WA|WV|WI|WY"
)
_GERMAN_CITIES = (
    "Berlin|Hamburg|München|Munich|Köln|Cologne|Frankfurt|Stuttgart|Düsseldorf|Leipzig|Dortmund|Essen|Bremen|Dresden|"
    "Hannover|Hanover|Nürnberg|Nuremberg|Duisburg|Bochum|Wuppertal|Bielefeld|Bonn|Münster|Mannheim|Karlsruhe|Augsburg|"
    "Wiesbaden|Potsdam|Heidelberg|Freiburg|Mainz|Kiel|Lübeck|Erfurt|Rostock|Kassel|Magdeburg|Ulm|Würzburg|Regensburg"
)
_HOURS = {"+": " plus ", "-": " minus ", "−": " minus "}
"""Ahead of Greenwich, or behind it."""
_GAP = r"[ .\u00a0-]?"
_CALL = (
    r"(?:[Cc]all(?:s|ed|ing)?|[Dd]ial(?:s|l?ed|l?ing)?|TTY|[Ee]mergenc(?:y|ies)|[Tt]ext|[Pp]hone|[Ff]ax|[Tt]el|[Rr]ing|[Hh]otline|[Nn]umber|"
    "[Mm]obile|[Cc]ell)"
)
_SHORT = "911|999|988|711|411|311|211|112|101|111"
"""Numbers that are called in need."""
_EXPIRES = r"(?:[Ee]xp(?:\.|ir(?:es|y|ed|ing))?(?: date)?|[Vv]alid (?:thru|through|until))"
_HEX = "[0-9A-Fa-f]"
RULES = (
    rule(rf"(?<![\w-])(?P<say>{_HEX}{{8}}(?:-{_HEX}{{4}}){{3}}-{_HEX}{{12}})(?![\w-])", _grouped),
    rule(rf"(?<![\w:-])(?P<say>{_HEX}{{2}}(?:([:-]){_HEX}{{2}})(?:\2{_HEX}{{2}}){{4}})(?![\w:-])", _grouped),
    rule(r"(?<=[A-Za-z])(?P<say>(?:-\d+){2,})(?![\w-]|[.,]\d)", _numbered),
    rule(
        r"\b(?=[A-Z0-9 ]{0,15} \d{4} )(?P<say>[A-Z]{2}\d{2}(?: [A-Z0-9]{4}){3,7}(?: [A-Z0-9]{1,4})?)\b",
        _grouped,
    ),
    rule(r"(?<![\w.,$€£/-])(?P<say>\d{4}(?:[ -]\d{4}){3})(?![\w-]|[.,]\d)", _grouped),
    rule(
        rf"(?P<say>\+\d{{1,3}}{_GAP}(?:\(?\d{{1,4}}\)?{_GAP}){{2,5}}\d{{2,4}}(?:-\d)?)(?![\w%])",
        _international,
    ),
    rule(r"(?<![\w.-])(?P<say>0\d{1,4}(?: \d{2,4}){3,4})(?![\w-]|[.,]\d| \d)", _phone),
    rule(r"(?<![\w.-])(?P<say>\(0\d{1,4}\)\s?\d{3,4}[ -]?\d{3,4})(?![\w-]|[.,]\d| \d)", _phone),
    rule(r"(?<![\w(])(?P<say>(?:1[ -])?\(\d{3}\)\s?\d{3}[-. ]\d{4})(?!\w)", _phone),
    rule(r"(?<![\w.-])(?P<say>(?:1[-. ])?\d{3}([-. ])\d{3}\2\d{4})(?![\w-])", _phone),
    rule(r"(?<![\w.-])(?P<say>0\d{2,4}[ -]\d{3,4}[ -]?\d{3,4})(?![\w-])", _phone),
    rule(r"(?<![\w./-])(?P<say>0\d{2,4}/\d{5,9})(?![\w/-]|[.,]\d)", _phone),
    rule(r"(?<![\w./-])(?P<say>0\d{2,4}\s?/\s?\d{2}(?: \d{2}){1,4}(?:-\d{1,3})?)(?![\w/-]|[.,]\d)", _phone),
    rule(r"(?<![\w.,$€£-])(?P<say>1[38]00 \d{3} \d{3})(?![\w-]|[.,]\d)", _phone),
    rule(
        r"\d{3}[-. ]\d{4},?\s(?P<say>x(?P<ext>\d{1,5}))\b", lambda match: f"extension {digits(match['ext'])}"
    ),
    rule(r"\b[Tt]ext\s[A-Z]{2,12}\sto\s(?P<say>\d{4,6})\b", _digits),
    rule(r"\b[Tt]ext\s(?P<say>\d{5,6}(?<!000))(?![\w-]|[.,]\d)", _digits),
    rule(r"(?<![\w.,$€£-])(?P<say>\d{3}-\d{4})(?![\w-]|\s?(?:people|units|words|%))", _phone),
    rule(r"(?<![\w.,$€£-])(?P<say>\d{3} \d{4} \d{4})(?![\w-]|[.,]\d)", _phone),
    rule(r"(?<![\w-])(?P<say>1-8\d\d-(?:\d{3}-)?)(?=[A-Z][A-Za-z])", lambda match: f"{_phone(match)} "),
    rule(r"\bISSN:?\s(?P<say>\d{4}-\d{3}[\dX])\b", _grouped),
    rule(r"(?<![\w.,-])(\d{1,3})-(in|on|for|of|by|to|v|vs)-(\d{1,3})(?![\w-]|[.,]\d)", _one_to_one),
    rule(rf"\b{_EXPIRES}:?\s(?P<say>(?P<m>0[1-9]|1[0-2])/(?P<y>[2-4]\d))(?![/\d])", _expiry),
    rule(r"(?<![\w.,$€£/-])(?P<say>\d+(?:-\d+){2,})(?![\w-]|[.,]\d)", _chain),
    rule(r"(?<![\w.,$€£/-])(?P<say>\d{2,6}-\d{5,12}(?<!00))(?![\w-]|[.,]\d)", _chain),
    rule(rf",\s(?:{_STATES})\s(?P<say>\d{{5}}(?:-\d{{4}})?)(?![\w-])", _grouped),
    rule(rf"(?<![\w.,$€£/-])(?P<say>\d{{5}}(?<!000))(?=\s(?:{_GERMAN_CITIES})\b)", _digits),
    rule(r"(?<![\w.-])(?P<say>(?:(?:DE?|F|I)-\d{5}|(?:AT?|CH|L)-\d{4}))(?=\s[A-ZÄÖÜ][a-zäöüé])", _abroad),
    rule(
        r"\b[A-ZÄÖÜ][\w.-]{2,30}\s\d{1,3}\s?[a-z]?,\s(?P<say>\d{5}(?<!000))(?=\s[A-ZÄÖÜ][a-zäöüß]{2,30}\b)",
        _digits,
    ),
    rule(r"\A\s?(?P<say>\d{5}(?<!00))(?=\s[A-ZÄÖÜ][a-zäöüß-]{2,30}(?<!s)(?:[,.]|\s?\Z))", _digits),
    rule(rf"\b{_CALL}[.:]?(?: is| at| us at| me at)?:?\s(?P<say>{_SHORT}|\d{{7,12}})\b", _after_call),
    rule(rf"\b(?P<say>{_SHORT})(?=\s(?:calls?|operators?|dispatchers?|lines?|\((?:US|UK|EU|AU)\)))", _digits),
    rule(rf"\b{_CALL}[.:]?(?: at| us at| me at)?:?\s(?P<say>\d{{3}} \d{{4}})(?![\w-]|[.,]\d| \d)", _phone),
    rule(
        r"\b(?:at|[Cc]all|[Dd]ial)\s(?P<say>x(?P<ext>\d{3,5}))\b",
        lambda match: f"extension {digits(match['ext'])}",
    ),
    rule(r"\b(?P<say>[Ee]xt\b\.?)(?=\s?\d)", "extension"),
    rule(r"\b[Ee]xt\.?\s?(?P<say>\d{3,5})\b", _digits),
    rule(
        r"(?<![\w.])(?P<address>\d{1,3}(?:\.\d{1,3}){3})(?::(?P<port>\d{1,5})|/(?P<mask>\d{1,2}))?(?![\w.]\d|\w)",
        _ip_address,
    ),
    rule(
        r"(?<![A-Za-z\d.])(?:(?P<v>[vV]|[Vv]er\.\s?))?(?P<numbers>\d+(?:\.\d+){2,})(?![A-Za-z0-9])", _version
    ),
    rule(r"(?<![A-Za-z0-9.])(?P<v>v|V(?=\d+\.\d))(?P<numbers>\d+(?:\.\d+)*)(?![A-Za-z0-9])", _version),
    rule(r"\b[Vv]ersions?\s(?P<say>\d+(?:\.\d+)+)(?![A-Za-z0-9])", _named_version),
    rule(
        r"\b(?:[Zz]ip|ZIP|PIN|[Pp]in|[Pp]assword|[Pp]asscode|ending in|[Aa]cc(?:oun)?t|[Ss]erial|OTP|CV[CV]|"
        r"[Rr]ef|[Cc]ode|ID)"
        r"(?:\s(?:code|number|no\.))?(?:\sis)?:?\s(?P<say>\d{3,12})\b(?![.,]\d)",
        _digits,
    ),
    rule(
        r"\bISO(?:/IEC)?\s(\d{3,5}):((?:19|20)\d\d)\b",
        lambda match: f"ISO {number(match[1])}, {short_code(match[2])}",
    ),
    rule(r"\b[Ff]light\s[A-Z]{2}\s?(?P<say>\d{3,4})\b(?![.,]\d)", _code),
    rule(r"\b(?:Boeing|Airbus)\s[A-Z]?\d{3}(?P<say>-)(?=\d{3})", " "),
    rule(r"(?<![\w-])7[0-8]7(?P<say>-)(?=\d00(?:ER|LR|F)\b)", " "),
    rule(
        r"\b(?:[Ee]rror|[Ss]tatus|HTTP(?:/\d(?:\.\d)?)?|[Ff]light|[Hh]ighway|[Rr]oute|[Ii]nterstate)\s(?P<say>\d{3,4})\b(?![.,]\d)",
        _code,
    ),
    rule(r"\b(?:RFC|ISO|IEEE|ANSI|DIN|RTX|GTX|RX)\s(?P<say>[1-9]\d{3})\b(?![.,]\d)", _code),
    rule(r"(?<=[A-Za-z]-)(?P<say>([1-9]\d?)s)\b", _plural),
    rule(r"(?<=\b[A-Z])(?P<say>([1-9]\d{1,2})s)\b", _plural),
    rule(r"\b(?:[Oo]ver|[Uu]nder)[ -](?P<say>([1-9]\d?)s)\b", _plural),
    rule(r"(?<![\w.,$€£])(?P<say>([1-9]\d?)s\+)(?!\w)", lambda match: f"{_plural(match)} plus"),
    rule(r"(?<![\w.,$€£])(10{1,3})s(?=\sof\b)|(?<=s of )(10{1,3})s\b", _hundreds),
    rule(r"(?<=[A-Z]{2})v(?=\d)", "v"),
    rule(
        r"(?<![\w.])[A-Z]{1,2}(?P<say>(?:\.\d{1,4}){2,4})(?![\w-]|\.\d)",
        lambda match: "".join(f" point {number(part)}" for part in match["say"][1:].split(".")),
    ),
    rule(r"(?<!\w)0[xX]([0-9A-Fa-f]+)\b", _hex),
    rule(
        r"(?<!\w)0(?P<base>[bo])(?P<n>[0-7]{2,32})\b",
        lambda match: f"zero {match['base']} {digits(match['n'])}",
    ),
    rule(r"\b(?:[Cc]ommit|[Hh]ash|[Rr]evision)\s(?P<say>[0-9a-f]{6,40})\b", _commit),
    rule(
        r"\bS(\d{1,2})\s?E(\d{1,3})\b",
        lambda match: f"season {cardinal(int(match[1]))} episode {cardinal(int(match[2]))}",
    ),
    rule(r"\b(?:[Dd]ial|[Pp]ress)\s(?P<say>(?P<key>[*#])(?P<n>\d{0,4}))(?!\w)", _keys),
    rule(
        r"(?<![\w&])#(?=[0-9A-Fa-f]{0,5}\d)(?=\d{0,5}[A-Fa-f])([0-9A-Fa-f]{6})(?!\w)",
        lambda match: f"hash {_apart(match[1])}",
    ),
    rule(r"(?<!\w)#s\b", "numbers"),
    rule(r"(?<!\w)(?P<say>#)(?=\d{1,6}[A-Za-z]{3})", "hashtag "),
    rule(r"(?<!\w)(?P<say>#)(?=\d)", "number "),
    rule(r"(?<=#)(?P<say>\d{5,20})(?![\w-]|[.,]\d)", _digits),
    rule(r"\b(?:[Oo]rder|[Tt]icket|[Ii]nvoice|[Cc]ase) (?P<say>#)(?=\w)", "number "),
    rule(r"(?<![\w.,$€£#-])(?P<say>\d{10,18}(?<!000))(?![\w-]|[.,]\d)", _digits),
    rule(r"(?<![A-Za-z0-9])[A-Z]{2}(?P<say>[1-9]\d{3})(?![\w-]|[.,]\d)", _code),
    rule(r"(?<![\w.-])(?=[A-Z]*\d)(?=\d*[A-Z])(?P<say>[A-Z0-9]{10,40})(?![\w-])", _grouped),
    rule(r"(?<!\w)(?P<say>#)(?=[A-Za-z])", "hashtag "),
    rule(r"(?<!\w)(?P<say>@)(?=[A-Za-z])", "at "),
    rule(r"(?<!\S)(?P<say>--)(?=[a-z])", "dash dash "),
    rule(r"\bCtrl\b", "control"),
    rule(r"\bC\+\+", "C plus plus"),
    rule(r"(?<![A-Za-z])[A-Ga-g](?P<say>♯)", " sharp"),
    rule(r"(?<![A-Za-z])[A-G](?P<say>#)(?=[ -](?:major|minor)\b)", " sharp"),
    rule(r"(?<![A-Za-z])[A-Ga-g](?P<say>♭|b(?=[ -](?:major|minor)\b))", " flat"),
    rule(r"\b(?P<say>[CF]#)(?!\w)", lambda match: f"{match['say'][0]} sharp"),
    rule(r"\b(?:GMT|UTC)(?P<say>\s?(?P<sign>[+−-])\s?)(?=\d)", lambda match: _HOURS[match["sign"]]),
    rule(r"(?<=\w)\+(?=[A-Z]\b)", " plus "),
    rule(r"(?<![\w.])\d{1,3}(?:_\d{3}){1,6}(?!\w)", lambda match: number(match[0].replace("_", ""))),
    rule(r"\b(?:[Ss][Hh][Aa]-?\d{1,3}|[Mm][Dd]5)(?P<say>:)(?=[0-9a-f]{8})", " "),
    rule(r"(?<![\w.-])(?=[a-f]*\d)(?=\d*[a-f])(?P<say>[0-9a-f]{12,64})(?![\w-])", _grouped),
    rule(r"(?<=\w)(?P<say>_+)(?=\w)", " "),
    rule(r"(?<=[A-Z])(?P<say>\d{3})(?![\w.,])", _product),
    rule(r"(?<![\w.,$])(?P<say>\d{3,4})(?=p\b)", _code),
    rule(
        r"(?<![\w.])(\d+(?:\.\d+)?)[eE]([+-]?\d{1,3})(?![\w-])",
        lambda match: f"{number(match[1])} times ten to the {number(match[2])}",
    ),
)
