"""Chapter and verse of the Bible, "John 3:16", which is no time and no score. Raised numbers are not said."""

from __future__ import annotations

import re

from gateway.text.english.numbers import cardinal
from gateway.text.marks import RAISED
from gateway.text.rules import Rule, rule

_BOOKS = frozenset({
    "Genesis", "Exodus", "Leviticus", "Numbers", "Deuteronomy", "Joshua", "Judges", "Ruth", "Samuel",
    "Kings", "Chronicles", "Ezra", "Nehemiah", "Esther", "Job", "Psalm", "Psalms", "Proverbs",
    "Ecclesiastes", "Isaiah", "Jeremiah", "Lamentations", "Ezekiel", "Daniel", "Hosea", "Joel", "Amos",
    "Obadiah", "Jonah", "Micah", "Nahum", "Habakkuk", "Zephaniah", "Haggai", "Zechariah", "Malachi",
    "Matthew", "Mark", "Luke", "John", "Acts", "Romans", "Corinthians", "Galatians", "Ephesians",
    "Philippians", "Colossians", "Thessalonians", "Timothy", "Titus", "Philemon", "Hebrews", "James",
    "Peter", "Jude", "Revelation", "Quran", "Qur'an", "Qur’an", "Surah",
})  # fmt: skip
_SHORT = {
    "Gen": "Genesis", "Ex": "Exodus", "Exod": "Exodus", "Lev": "Leviticus", "Deut": "Deuteronomy",
    "Josh": "Joshua", "Judg": "Judges", "Chron": "Chronicles", "Neh": "Nehemiah", "Ps": "Psalm",
    "Prov": "Proverbs", "Eccl": "Ecclesiastes", "Isa": "Isaiah", "Jer": "Jeremiah", "Ezek": "Ezekiel",
    "Hos": "Hosea", "Mic": "Micah", "Hab": "Habakkuk", "Zech": "Zechariah", "Mal": "Malachi",
    "Matt": "Matthew", "Mt": "Matthew", "Mk": "Mark", "Lk": "Luke", "Jn": "John", "Rom": "Romans",
    "Cor": "Corinthians", "Kgs": "Kings", "Chr": "Chronicles",
    "Gal": "Galatians", "Eph": "Ephesians", "Thess": "Thessalonians", "Heb": "Hebrews",
    "Jas": "James", "Pet": "Peter", "Rev": "Revelation",
}  # fmt: skip
_NAMES = {"Dan": "Daniel", "Tim": "Timothy", "Sam": "Samuel", "Phil": "Philippians", "Col": "Colossians"}
"""Which are books with a full stop or a number alone."""
_SHORTEST = 2
"""Letters of a name that is no book in small letters."""
_WORDS = frozenset({"numbers", "judges", "kings", "job", "mark", "acts", "gen", "mic", "gal", "pet", "rev"})
"""Nor are these, but for one with a number: "the numbers 2:1", "1 kings 3:9"."""
_NUMBERED = {"1": "First", "2": "Second", "3": "Third"}


def _full(book: str, numbered: bool) -> str | None:
    """The name of a book, which may be written short; None for what is none."""
    name = book.rstrip(".")
    if name.islower():
        if name in _WORDS and not numbered:
            return None
        name = name.capitalize() if len(name) > _SHORTEST else ""
    if name in _NAMES and (numbered or book.endswith(".")):
        return _NAMES[name]
    return name if name in _BOOKS else _SHORT.get(name)


def _book(match: re.Match[str]) -> str | None:
    full = _full(match["book"], match["number"] is not None)
    if full is None:
        return None
    return f"{_NUMBERED[match['number']]} {full}" if match["number"] else full


def _verse(match: re.Match[str]) -> str | None:
    if _full(match["book"], match["number"] is not None) is None:
        return None
    if match["last"] and int(match["last"]) <= int(match["verse"]):
        return None
    chapter, verse = (cardinal(int(match[part])) for part in ("chapter", "verse"))
    if match["last"]:
        return f"{chapter}, {verse} to {cardinal(int(match['last']))}"
    return f"{chapter}, {verse}" if int(match["verse"]) >= _LONG else f"{chapter} {verse}"


def _to_chapter(match: re.Match[str]) -> str | None:
    """ "Genesis 1:1–2:4a"."""
    if _full(match["book"], match["number"] is not None) is None:
        return None
    first, last = (" ".join(cardinal(int(match[part])) for part in parts) for parts in _ENDS)
    return f"{first} to {last}"


_SHORTENED = "Cor|Tim|Thess|Pet|Sam|Kgs|Chr|Chron|Jn"
"""Books of which there is more than one."""
_ENDS = (("chapter", "verse"), ("chapter2", "verse2"))
_LONG = 100
"""From here on a number of a verse has so many words that its chapter needs a comma."""
_NAME = r"(?<![\w.,:])(?:(?P<number>[123])\s)?(?P<book>[A-Za-z][a-z]{1,13}(?:['’]an\b)?\.?)"
_NO_ELEMENT = "It|So|If|We|My|To|Do|On|Or|By|Of|An|Is|Go|Oh|[AO]"
_AFTER_WORD = (
    "the|that|those|this|who|is|was|said|has|had|will|not|a|they|it|him|his|you|for|so|to|one|am|have|say"
)
"""Which stands behind the word "In", and not behind the element."""
_VERSE_BEGINS = (
    rf"(?:\s[\"“‘(]?[A-Za-z]"
    rf"|[\"“‘(]?(?:[A-Z]?[a-z]{{2}}|(?:{_NO_ELEMENT})\b|(?:He|In|As|At|No|Be|I)\s(?:{_AFTER_WORD})\b))"
)
RULES: tuple[Rule, ...] = (
    rule(rf"(?<![^\s(“‘\"—])(?<!\b\w\s)(?<!\b[ckm]m\s)[{RAISED}]{{1,3}}(?={_VERSE_BEGINS})\s?", ""),
    rule(rf"(?P<say>{_NAME})(?=\s[1-9]\d{{0,2}}:[1-9]\d{{0,2}}(?!\d|\s?[ap]\.?m))", _book),
    rule(
        rf"{_NAME}\s(?P<say>(?P<chapter>[1-9]\d{{0,2}}):(?P<verse>[1-9]\d{{0,2}})\s?[-–]\s?"
        r"(?P<chapter2>[1-9]\d{0,2}):(?P<verse2>[1-9]\d{0,2}))(?![\d:])",
        _to_chapter,
    ),
    rule(
        rf"(?<![\w.,:])(?P<say>(?P<number>[123])\s(?P<book>{_SHORTENED})\.)(?=\s\d{{1,2}}(?![\w:-]|\.\d))",
        _book,
    ),
    rule(r"\bPs\.?(?=\s(?:1[0-4]\d|150|[1-9]\d?)(?![\w:/-]|\.\d))", "Psalm"),
    rule(r"(?<![\w.])vv\.(?=\s?\d)", "verses"),
    rule(
        rf"{_NAME}\s(?P<say>(?P<chapter>[1-9]\d{{0,2}}):(?P<verse>[1-9]\d{{0,2}})(?:[-–](?P<last>\d{{1,3}}))?)"
        r"(?![0-9c-zC-Z_:]|[ab]\w|\.\d|\s?[ap]\.?m|\s?[-–]\s?\d)",
        _verse,
    ),
)
