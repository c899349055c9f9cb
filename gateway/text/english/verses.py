"""Chapter and verse of the Bible, "John 3:16", which is no time and no score."""

from __future__ import annotations

import re

from gateway.text.english.numbers import cardinal
from gateway.text.rules import Rule, rule

_BOOKS = frozenset({
    "Genesis", "Exodus", "Leviticus", "Numbers", "Deuteronomy", "Joshua", "Judges", "Ruth", "Samuel",
    "Kings", "Chronicles", "Ezra", "Nehemiah", "Esther", "Job", "Psalm", "Psalms", "Proverbs",
    "Ecclesiastes", "Isaiah", "Jeremiah", "Lamentations", "Ezekiel", "Daniel", "Hosea", "Joel", "Amos",
    "Obadiah", "Jonah", "Micah", "Nahum", "Habakkuk", "Zephaniah", "Haggai", "Zechariah", "Malachi",
    "Matthew", "Mark", "Luke", "John", "Acts", "Romans", "Corinthians", "Galatians", "Ephesians",
    "Philippians", "Colossians", "Thessalonians", "Timothy", "Titus", "Philemon", "Hebrews", "James",
    "Peter", "Jude", "Revelation", "Gen.", "Ex.", "Exod.", "Deut.", "Ps.", "Prov.", "Isa.", "Jer.",
    "Matt.", "Rom.", "Cor.", "Gal.", "Eph.", "Phil.", "Heb.", "Rev.",
})  # fmt: skip


def _verse(match: re.Match[str]) -> str | None:
    if match["book"] not in _BOOKS:
        return None
    return f"{cardinal(int(match['chapter']))} {cardinal(int(match['verse']))}"


RULES: tuple[Rule, ...] = (
    rule(
        r"\b(?P<book>[A-Z][a-z]{1,13}\.?)\s(?P<say>(?P<chapter>[1-9]\d{0,2}):(?P<verse>[1-9]\d{0,2}))"
        r"(?![\w:]|\.\d|\s?[ap]\.?m|\s?[-–]\s?\d)",
        _verse,
    ),
)
