"""Whether a sum or a measure tells of the noun behind it: "the $300 fee" is a three hundred dollar fee, and
"the $300 was spent" is three hundred dollars.
"""

from __future__ import annotations

import re

_LONGEST = 40
"""Characters around it in which that shows."""
_BETWEEN = (
    "new|whole|full|annual|monthly|weekly|daily|record|initial|additional|extra|final|first|second|third|last|"
    "latest|next|proposed|planned|recent|original|further|separate|single|massive|huge|whopping|hefty|crisp|flat|"
    "estimated|nearly|roughly|almost|approximately|about|remaining|existing|large|small|big|old"
)
_ARTICLE = re.compile(r"\b[Aa]n?\s\Z")
_DETERMINED = re.compile(
    r"(?:\b(?:a|an|the|this|each|every|any|another|no|his|her|my|your|its|our|their|whose)"
    rf"|(?<!\b[Ii]t)(?<!\b[Hh]e)(?<!\b[Ss]he)(?<!\b[Tt]hat)(?<!\b[Tt]here)(?<!\b[Hh]ere)(?<!\b[Ww]hat)['’]s|s['’])"
    rf"(?:\s(?:{_BETWEEN}))?\s[\"“‘(]?\Z",
    re.I,
)
"""What is before a noun, in which "its" and names may stand for an article."""
_PRICED = re.compile(
    r"\s(?:bill|note|banknote|coin|fee|fine|deal|plan|loan|project|package|contract|deposit|discount|coupon|voucher|"
    r"prize|reward|bonus|budget|lawsuit|settlement|acquisition|bet|ticket|cheque|surcharge|scholarship|donation|bailout|"
    r"mortgage|grant|buyout|penalty)s?\b"
)
"""What has a price without an article, too: "two $5 bills"."""
_MEASURED = re.compile(
    r"\s(?:warranty|guarantee|lease|contract|subscription|trial|delay|walk|drive|flight|commute|radius|mortgage)\b"
    r"(?!\s(?:left|right|north|south|east|west|along|past|back|down|up)\b)"
)
"""What is so long without an article, too: "5 min walk"."""
_JOINED = re.compile("-[a-z]")
""" "$15-an-hour"."""
_NOUN = re.compile(r"\s(?P<word>[a-z]{3,})\b(?!['’])")
_PERIODS = ("monthly", "yearly", "weekly", "daily", "hourly", "quarterly", "early")
_LISTED = """
    about above across add after against ago all along already also although altogether among and apart
    apiece are around away back because been before behind below beneath beside better between beyond both
    bought bring brings brought but buy buys came can cash cheaper come comes coming could cover covering
    covers deep did does down due during each east either even ever every except extra following for from
    gave get gets getting give given gives goes going got had has have heavy help helped helps her here high
    higher him his how inside instead into its just keep last later least leaves left less like likely
    longer lost lower made make makes may mean means might minus missing more most must near never next nor
    north not now off once only onto our out outside over overnight owing paid past pay pays per plus poorer
    remaining remains represents richer right run said saves seems sent shall she short shorter should since
    sitting some soon south spent stays still take taken takes tall than that the their them then there
    these they thick this those though through throughout till times today together tomorrow tonight too
    took total toward towards twice under unless until upfront upon via was went were west what when where
    whether which while who whom whose why wide wider will with within without won worse worth would
    yesterday yet you your
"""
_OTHERS = frozenset(_LISTED.split())
"""What goes on with the sentence, and is no noun."""


def has_article(text: str, start: int) -> bool:
    """Whether "a" or "an" stands before it."""
    return _ARTICLE.search(text, max(0, start - 4), start) is not None


def describes(text: str, start: int, end: int, priced: bool = False) -> bool:
    """Whether what is in `text` from `start` to `end` tells of the noun behind it. priced: it is a sum."""
    if has_article(text, start) or _JOINED.match(text, end):
        return True
    after = text[end : end + _LONGEST]
    if (_PRICED if priced else _MEASURED).match(after):
        return True
    noun = _NOUN.match(after)
    if noun is None or noun["word"] in _OTHERS or _is_no_noun(noun["word"]):
        return False
    return _DETERMINED.search(text[max(0, start - _LONGEST) : start]) is not None


def _is_no_noun(word: str) -> bool:
    return word not in _PERIODS and word.endswith(("ed", "ly"))
