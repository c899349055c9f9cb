"""Abbreviations, of which some mean two things, and Roman numerals after the words that they number."""

from __future__ import annotations

import re

from gateway.text.english.numbers import cardinal, ordinal, roman, year
from gateway.text.rules import Rule, rule

_BEFORE_NAME = {
    "Dr": "Doctor", "Mr": "Mister", "Mrs": "Missus", "Ms": "Miz", "Prof": "Professor", "St": "Saint",
    "Sen": "Senator", "Gov": "Governor", "Gen": "General", "Lt": "Lieutenant", "Col": "Colonel",
    "Capt": "Captain", "Sgt": "Sergeant", "Rev": "Reverend", "Hon": "Honorable", "Pres": "President",
    "Rep": "Representative", "Mt": "Mount", "Ft": "Fort", "Fr": "Father", "Sr": "Sister",
    "Messrs": "Messieurs", "Cmdr": "Commander", "Maj": "Major", "Supt": "Superintendent",
}  # fmt: skip
_AFTER_NAME = {
    "St": "Street", "Dr": "Drive", "Ave": "Avenue", "Av": "Avenue", "Blvd": "Boulevard", "Rd": "Road",
    "Ln": "Lane", "Ct": "Court", "Pl": "Place", "Sq": "Square", "Hwy": "Highway", "Pkwy": "Parkway",
    "Jr": "Junior", "Sr": "Senior", "Inc": "Incorporated", "Corp": "Corporation", "Ltd": "Limited",
    "Co": "Company", "Bros": "Brothers", "Mt": "Mountain", "Univ": "University",
}  # fmt: skip
_NEVER_BEFORE_NAME = "Inc|Corp|Ltd|Jr|Bros|Ave|Blvd|Rd|Hwy|Pkwy"
"""A capital behind these begins no name that they belong to."""
_BEGINS = re.compile(
    r"\s+(?:He|She|It|They|We|I|You|The|An?|This|That|These|There|His|Her|Its|Our|But|And|In|On|At|If|When|All)\b"
)
_AT_END = re.compile(r"\s*\Z")
_CLOSED = re.compile(r"[ \"')”’]*\Z")
_WORD_BEFORE = 80
"""Characters in which the word before stands."""
_ANYWHERE = {
    "etc.": "etcetera", "e.g.": "for example", "E.g.": "For example", "i.e.": "that is", "I.e.": "That is",
    "vs.": "versus", "vs": "versus", "approx.": "approximately", "Approx.": "Approximately",
    "dept.": "department", "Dept.": "Department", "govt.": "government", "temp.": "temperature",
    "est.": "established", "Est.": "Established", "incl.": "including", "excl.": "excluding",
    "inc.": "including", "max.": "maximum", "min.": "minimum", "misc.": "miscellaneous",
    "w/o": "without", "b/w": "between", "c/o": "care of", "h/o": "history of", "s/p": "status post",
    "r/o": "rule out", "f/u": "follow-up",
    "d/b/a": "doing business as", "a/k/a": "also known as", "f/k/a": "formerly known as", "w/": "with ",
    "Ph.D.": "P h D", "M.D.": "M D", "et al.": "and others", "cf.": "compare", "a.k.a.": "also known as",
    "Bldg.": "Building", "Apt.": "Apartment", "apt.": "apartment", "Nº": "number", "№": "number",
    "N°": "number", "a.m.": "a m", "p.m.": "p m", "A.M.": "a m", "P.M.": "p m",
}  # fmt: skip
_BEFORE_NUMBER = {
    "no": "number", "nos": "numbers", "vol": "volume", "fig": "figure", "figs": "figures", "p": "page",
    "pp": "pages", "ch": "chapter", "chap": "chapter", "sec": "section", "art": "article", "eq": "equation",
    "tel": "telephone", "op": "opus", "lv": "level", "lvl": "level",
    "ca": "circa", "rm": "room", "ver": "version", "pt": "part", "ext": "extension",
    "para": "paragraph", "paras": "paragraphs", "cl": "clause", "fn": "footnote", "ll": "lines",
    "subsec": "subsection", "mvt": "movement", "ep": "episode",
}  # fmt: skip
_ROOMS = {
    "Hwy": "Highway",
    "Rte": "Route",
    "Rt": "Route",
    "Apt": "Apartment",
    "Ste": "Suite",
    "Bldg": "Building",
    "Rm": "Room",
}
"""Which are numbered."""
_SIZES = {"lg": "large", "med": "medium", "sm": "small"}
_TITLES = "Mr|Mrs|Ms|Dr|Prof"
_SPANS = {"y": "year", "q": "quarter", "m": "month"}
_WAYS = {"N": "North", "S": "South", "E": "East", "W": "West"}
_SECTIONS = {"§": "section", "¶": "paragraph"}
_COUNTED = (
    *(
        "Chapter",
        "Part",
        "Act",
        "Scene",
        "Section",
        "War",
        "Volume",
        "Book",
        "Title",
        "Article",
        "Phase",
        "Type",
    ),
    *("Bowl", "Appendix", "Figure", "Table", "Level", "Stage", "Grade", "Episode", "Season", "Class", "Mark"),
    *("Canto", "Lesson", "Unit", "Step", "Round", "Sonata", "Symphony", "Psalm", "Verse", "Category", "Tier"),
)
_OF_SOMEBODY = ("a", "the", "my", "your", "our", "his", "her", "their", "dear")
_FIRST_PERSON = (
    "am|think|like|know|love|want|need|can|could|would|should|will|do|don't|did|see|guess|hope|feel|mean|wish|met|"
    "told|believe|remember"
)
_LETTERS_ALONE = ("C", "D", "L", "M")
_RULERS = (
    *("Louis", "Henry", "Elizabeth", "Paul", "Charles", "George", "Edward", "Richard", "James", "William"),
    *("Pius", "Benedict", "John", "Napoleon", "Catherine", "Philip", "Alexander", "Nicholas", "Wilhelm"),
    *(
        "Francis",
        "Gregory",
        "Leo",
        "Frederick",
        "Ferdinand",
        "Peter",
        "Ivan",
        "Margaret",
        "Carl",
        "Christian",
    ),
    *("Ramses", "Ramesses", "Leopold", "Victor", "Clement", "Innocent", "Urban", "Julius", "Otto", "Mary"),
    *("Isabella", "Alfonso", "Albert", "Umberto", "Juan", "Carlos", "Harald", "Olav", "Haakon", "Xerxes"),
)


def _table(words: dict[str, str], match: re.Match[str]) -> str:
    """The long form; a full stop that also ends a sentence stays."""
    word = words[match["say"].rstrip(".")]
    ends = match["say"].endswith(".") and _CLOSED.match(match.string, match.end("say"))
    return f"{word}." if ends else word


def _after_name(match: re.Match[str]) -> str:
    return _table(_AFTER_NAME, match)


def _within(match: re.Match[str]) -> str:
    """The long form, with its full stop where a word follows that rather begins a sentence."""
    words = _AFTER_NAME[match["say"].rstrip(".")]
    return f"{words}." if _BEGINS.match(match.string, match.end()) else words


def _before_name(match: re.Match[str]) -> str:
    return _BEFORE_NAME[match["say"].rstrip(".")]


def _before_number(match: re.Match[str]) -> str | None:
    written = match["say"].rstrip(".")
    word = _BEFORE_NUMBER.get(written.casefold())
    if word is None:
        return None
    return word.capitalize() if written[0].isupper() else word


def _anywhere(match: re.Match[str]) -> str:
    ends = match["say"].endswith(".") and _ends(match)
    return _ANYWHERE[match["say"]] + ("." if ends else "")


def _ends(match: re.Match[str]) -> bool:
    """Whether a sentence ends with the abbreviation."""
    at = match.end("say")
    return bool(_AT_END.match(match.string, at) or _BEGINS.match(match.string, at))


def _letters(match: re.Match[str]) -> str:
    ends = _ends(match)
    return " ".join(character for character in match["say"] if character != ".") + ("." if ends else "")


def _number(match: re.Match[str]) -> str | None:
    """Not of "Appendix C", which nobody counts to."""
    numeral = match["say"].upper()
    value = None if numeral in _LETTERS_ALONE else roman(numeral)
    return None if value is None else cardinal(value)


def _numeral(match: re.Match[str]) -> str | None:
    """So long that it can be nothing else; from a thousand on it is a year."""
    value = roman(match["say"])
    return None if value is None else cardinal(value) if value < _YEARS else year(value)


def _pages(match: re.Match[str]) -> str | None:
    """Of a foreword, "xii–xv"; "the page i made" has none."""
    numerals = re.split(r"\s?[-–—]\s?", match["say"].upper())
    values = [None if numeral in _LETTERS_ALONE else roman(numeral) for numeral in numerals]
    if None in values or (numerals == ["I"] and match[0][-3] == "e"):
        return None
    return " to ".join(map(cardinal, values))


def _ruler(match: re.Match[str]) -> str | None:
    value = roman(match["say"])
    return None if value is None else f"the {ordinal(value)}"


def _ordinal(match: re.Match[str]) -> str | None:
    value = roman(match["numeral"])
    return None if value is None else ordinal(value)


def _sequel(match: re.Match[str]) -> str | None:
    value = roman(match["say"])
    return None if value is None or value > 39 else cardinal(value)


def _any(words: object) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


_YEARS = 1000
_PAGES = r"[ivxlc]{1,7}(?:\s?[-–—]\s?[ivxlc]{1,7})?\b(?!['’-])"
_SMALL_ROMAN = "[IVXLC]{2,}|[VX]|[ivx]{1,6}"
_CAPITAL = r"(?=\s+[\"“'‘(]?[A-Z])"
RULES: tuple[Rule, ...] = (
    rule(
        r"(?<![\w.])(?P<say>est\.)(?=\s[$€£]|\s[\d.,–-]+\s?(?:%|million|billion|(?:hrs?|hours?|mins?|days?|weeks?|months?|miles?|people)\b))",
        "estimated",
    ),
    rule(r"est\.(?:(?<=\(\d{4} est\.)(?=\))|(?:(?<=\d est\.)|(?<=\d[kKmMbB] est\.))(?=[,;)]))", "estimate"),
    rule(r"(?<=% )([yqm])/\1\b", lambda match: f"{_SPANS[match[1]]} over {_SPANS[match[1]]}"),
    rule(
        r"(?<=\d )(?P<say>(?P<way>[NSEW])\.?)(?=\s(?:[A-Z][a-z]{1,20}|\d{1,3}(?:st|nd|rd|th))"
        r"\s(?:St|Ave|Rd|Blvd|Dr|Ln|Way|Pl|Ct)\b)",
        lambda match: _WAYS[match["way"]],
    ),
    rule(rf"(?<![\w./])(?P<say>{_any(_ANYWHERE)})(?!\w)", _anywhere),
    rule(
        rf"(?<=[A-Za-z]\s)(?<!\b[Ii]n\s)(?<!\b[Tt]o\s)(?P<say>(?:{_any(_AFTER_NAME)})\.?)(?=\s*(?:[,;:!?)]|$)|\.?\s+[a-z]|\s+(?:and|&)\s|\.?\s+(?:[NS][EW]?|[EW])\b)",
        lambda match: _after_name(match) if _follows_name(match) else None,
    ),
    rule(rf"(?<=\d[a-z]{{2}}\s)(?P<say>(?:{_any(_AFTER_NAME)})\.?)(?!\w)", _after_name),
    rule(
        rf"(?<=[A-Za-z]\s)(?P<say>(?:{_NEVER_BEFORE_NAME}|Co(?=\.,?\s+(?:Ltd|Inc|LLC)\b))\.)(?=,?\s+[A-Z])",
        lambda match: _within(match) if _follows_name(match) else None,
    ),
    rule(
        r"\b(?:[Ii]nvoice|[Oo]rder|[Cc]ase|[Aa]ccount|[Ss]erial|[Tt]icket) (?P<say>[Nn]o\.)(?=\s?#?[A-Z])",
        "number",
    ),
    rule(r"\b(?P<say>[Tt]el\.?)(?=:\s?[+(\d]|(?<=\.)\s?[+(])", lambda match: f"{match[0][0]}elephone"),
    rule(r"(?<![\w.])c\.\s?(?=\d{3,4}s?\b(?![.,]\d))", "circa "),
    rule(
        rf"(?<=[A-Za-z]\s)(?P<say>(?:St|Dr|Ct|Pl|Sq|Ln)\.)(?={_BEGINS.pattern})",
        lambda match: _within(match) if _follows_name(match) else None,
    ),
    rule(r"(?<![\w.])\d{1,5}[A-Z]?\s(?:[A-Z][a-z]{2,20}\s){1,2}(?P<say>St\.)(?=\s[A-Z])", "Street."),
    rule(rf"\b(?:{'|'.join(_OF_SOMEBODY)})\s(?P<say>Dr\.)(?=\s[a-z])", "Doctor", re.I),
    rule(rf"\b(?P<say>(?:{_any(_BEFORE_NAME)})\.){_CAPITAL}", _before_name),
    rule(rf"\b(?P<say>Dr|Mr|Mrs|Ms|Prof){_CAPITAL}", _before_name),
    rule(rf"(?<![\w.-])(?P<say>(?:{_any(_BEFORE_NUMBER)})\.)(?=\s?#?\d)", _before_number, re.I),
    rule(r"(?<![\w.])(?P<say>(?:[A-Za-z]\.){2,})(?!\w)", _letters),
    rule(rf"\b(?:{_any(_COUNTED)})\s(?P<say>[IVXLCDM]+|[ivxlc]+)\b(?!['’])", _number, re.I),
    rule(rf"\b(?:{_any(_RULERS)})\s(?P<say>[IVX]+)\b(?!['’]m|\.\w|(?<=\sI)\s(?:{_FIRST_PERSON})\b)", _ruler),
    rule(
        r"\b(?P<say>(?P<numeral>[IVXL]{2,}|[IVXL](?=th|st))(?:th|st|nd|rd)?)"
        r"(?=\s+(?:centur(?:y|ies)|dynasty|Olympic|Olympiad|Congress)\b)",
        _ordinal,
    ),
    rule(r"\b[A-Z][A-Za-z.'’&-]{1,30}\s(?P<say>v\.?)(?=\s[A-Z])", "versus"),
    rule(
        rf"\b(?P<say>(?:{'|'.join(_ROOMS)})\b\.?)(?=\s#?\d)", lambda match: _ROOMS[match["say"].rstrip(".")]
    ),
    rule(r"(?<!\d )\b(?P<f>[Ff])l\.(?=\s\d{1,2}(?!\d))", lambda match: f"{match['f']}loor"),
    rule(
        r"(?<=\d(?:st|nd|rd|th) )(?P<f>[Ff])l\b(?:\.(?=[,;)]|\s+\S))?(?!\.\w)",
        lambda match: f"{match['f']}loor",
    ),
    rule(r"(?<=\d )(?P<size>lg|med|sm)\.(?=\s[a-z])", lambda match: _SIZES[match["size"]]),
    rule(r"(?<=\dth )c\b(?:\.(?=[,;:)]|\s[a-z]))?(?!\.)", "century"),
    rule(
        r"(?:(?<=\()|(?<=[,;] ))c\.\s?(?=\d[\d.,]{0,9}\s(?:m|km|ft|kg|people|years?|miles?|acres|ha)\b)",
        "circa ",
    ),
    rule(r"(?<=\d )pp\b(?:\.(?=[,;:)]|\s[a-z]))?", "pages"),
    rule(r"\bb/c(?=\s(?:I\b|[a-z]{2}))", "because"),
    rule(r"(?<![\w/])n/a(?![\w/])", "N A"),
    rule(
        r"\b[A-Z][a-z]+\s(?P<say>II|III|IV|VI{0,3}|IX|XI{1,3}|XIV|XVI{0,3}|XV|XIX|XXI{0,3})\b(?!\s+(?:drip|line|bag|fluids?))",
        lambda match: (
            None
            if re.match(r"(?:An|The|A|Use|Start|This|That|With|Via|By|Give)\s", match[0])
            or match["say"] == "V"
            else _sequel(match)
        ),
    ),
    rule(rf"\b(?P<say>(?:{_TITLES})\.)(?=\s(?:&|and|or)\s(?:{_TITLES})\b)", _before_name),
    rule(r"(?<=[\w.,)’”\"])\s?&\s?(?=[\w(“\"@#$€£])", " and "),
    rule(r"([§¶])\1\s?(?=\d)", lambda match: f"{_SECTIONS[match[1]]}s "),
    rule(r"(?<![§¶])([§¶])\s?(?=\d)", lambda match: f"{_SECTIONS[match[1]]} "),
    rule(r"\b(?P<say>(?:Vol|Ch|Chap|Pt|Art|Sec|Fig)\.)(?=\s[IVXLC]+\b)", _before_number),
    rule(r"\b(?:Vol|Ch|Chap|Pt|Art|Sec|Fig)\.\s(?P<say>[IVXLC]+)\b", _number),
    rule(rf"\b(?P<say>(?:vol|ch|chap|pt|art|sec|fig)\.)(?=\s(?:{_SMALL_ROMAN})\b)", _before_number),
    rule(rf"\b(?:vol|ch|chap|pt|art|sec|fig)\.\s(?P<say>{_SMALL_ROMAN})\b", _number),
    rule(r"(?<![\w.-])(?=[IVX]{4}|[IVXLCDM]{5})(?P<say>[IVXLCDM]{4,15})(?![\w-])", _numeral),
    rule(rf"\b(?P<say>[Pp]{{1,2}}\.)(?=\s{_PAGES})", _before_number),
    rule(rf"\b(?:[Pp]{{1,2}}\.|[Pp]ages?)\s(?P<say>{_PAGES})", _pages),
)


def _follows_name(match: re.Match[str]) -> bool:
    """Whether the word before begins with a capital, or is the name of a street such as "5th"."""
    before = match.string[max(0, match.start("say") - _WORD_BEFORE) : match.start("say")].rsplit(maxsplit=1)
    if before and before[-1].lower() in _OF_SOMEBODY:
        return False
    return bool(before) and (before[-1][0].isupper() or before[-1][0].isdigit() or before[-1] == "&")
