"""How laws, cases and papers are cited: "42 U.S.C. § 1983", "No. 19-1392", "arXiv:2301.12345"."""

from __future__ import annotations

import re

from gateway.text.english.numbers import cardinal, digits, ordinal, roman, short_code, year
from gateway.text.rules import Rule, rule


def _code(match: re.Match[str]) -> str:
    return short_code(match["say"])


def _docket(match: re.Match[str]) -> str:
    """Of a case or a law, which is no range: "19-1392"."""
    return ", ".join(map(short_code, match["say"].split("-")))


def _case(match: re.Match[str]) -> str:
    """Of a court, "3:21-cv-01234"."""
    court, year = cardinal(int(match["court"])), short_code(match["year"])
    return f"{court}, {year}, {' '.join(match['kind'])}, {digits(match['number'])}"


def _paper(match: re.Match[str]) -> str:
    return f"arXiv {digits(match[1])} point {digits(match[2])}"


def _chords(match: re.Match[str]) -> str | None:
    """ "I-IV-V"; nobody counts "I-I-I"."""
    values = [roman(each.upper()) for each in re.split("[-–]", match[0])]
    return None if None in values or set(values) == {1} else " ".join(map(cardinal, filter(None, values)))


def _play(match: re.Match[str]) -> str | None:
    """ "III.ii.56"."""
    act, scene = roman(match["act"]), roman(match["scene"].upper())
    if act is None or scene is None:
        return None
    said = f"act {cardinal(act)}, scene {cardinal(scene)}"
    if match["line"]:
        said += f", line{'s' if match['last'] else ''} {cardinal(int(match['line']))}"
    return said + (f" to {cardinal(int(match['last']))}" if match["last"] else "")


_SCENE = r"(?P<act>[IVX]{1,4})\.(?P<scene>[ivx]{1,5})"
_NUMERAL = "(?:[IV]{1,3}|[iv]{1,3})"
RULES: tuple[Rule, ...] = (
    rule(r"(?:U\.S\.C\.|USC) §\s?(?P<say>[1-9]\d{3})(?!\d|[.,]\d)", _code),
    rule(r"(?:(?<=§ )|(?<=§))(?P<say>\d{1,2}-\d{3})(?![\w-]|[.,]\d)", _docket),
    rule(r"\bNo\.\s(?P<say>\d{2,4}-\d{3,4})(?![\w-]|[.,]\d)", _docket),
    rule(r"\b(?:Civ|Crim|App|Evid|Bankr)\. P(?P<say>\.)(?=\s\d)", "."),
    rule(r"\bPub\. L\. (?:No\. )?(?P<say>\d{2,3}-\d{1,4})(?![\w-]|[.,]\d)", _docket),
    rule(
        r"\([A-Z0-9][^()\n]{0,30}(?<!\bp)(?<!\bpp)\.\s(?P<say>(?:1[89]|20)\d\d)(?=\))",
        lambda match: year(int(match["say"])),
    ),
    rule(
        r"(?<!\w)(?P<court>\d):(?P<year>\d\d)-(?P<kind>[a-z]{2})-(?P<number>\d{4,5})(?!\d)",
        _case,
    ),
    rule(r"(?<=\d{3})(?P<say>[-–]0[1-9])(?=\s\()", lambda match: f" to oh {cardinal(int(match['say'][-1]))}"),
    rule(
        r"(?<![\w.])(?P<say>(?P<circuit>[23])d)(?=\s(?:Cir|Dist|Dep|ed)\b)",
        lambda match: ordinal(int(match["circuit"])),
    ),
    rule(r"(?<=\d\s)F\.(?P<series>[23])d\b", lambda match: f"F {ordinal(int(match['series']))}"),
    rule(r"\b(?:R|et al\.)\s(?P<say>v\.?)(?=\s[A-Z])", "versus"),
    rule(r"(?<=\d )n\.\s?(?=[1-9])", "note "),
    rule(
        r"(?<!\w)\[(?P<say>(?:19|20)\d\d)\](?=\s(?:\d{1,2}\s)?[A-Z])", lambda match: year(int(match["say"]))
    ),
    rule(
        r"\b[Cc]ases?\s[CTF][-‑–](?P<say>\d{1,4}/\d\d)(?![\d/])",
        lambda match: ", ".join(map(short_code, match["say"].split("/"))),
    ),
    rule(
        r"\b(?:Fig\.|Figure|Table|Tab\.|Exhibit|Chart)\s\d{1,2}(?P<say>-)(?=\d{1,2}(?![\d-]|\.\d))", " dash "
    ),
    rule(r"\barXiv:\s?(\d{4})\.(\d{4,5})(?!\d)", _paper),
    rule(rf"(?<![\w.]){_SCENE}\.(?P<line>\d{{1,4}})(?:[-–](?P<last>\d{{1,4}}))?(?![\w.]\w|\w)", _play),
    rule(rf"(?<=\(){_SCENE}(?P<line>)(?P<last>)(?=\))", _play),
    rule(rf"(?<![\w-]){_NUMERAL}(?:[-–]{_NUMERAL}){{2,7}}(?![\w-])", _chords),
)
