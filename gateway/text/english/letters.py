"""Letters that are spelt, by their names: for a model that learnt words and reads "FBI" as one of them.

Spelt are letters that stand apart ("U S A", "S-M-I-T-H", "ten a m") and abbreviations in capitals that have
no vowel or are known. Other capitals are words that somebody shouts. Letters between commas stay as they are.
Full stops part the groups of a telephone number: after a comma such a model loses digits.
"""

from __future__ import annotations

import re
from functools import lru_cache

from gateway.text.rules import Rules, rule

NAMES = dict(
    zip(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZ",
        (
            *("ay", "bee", "see", "dee", "ee", "eff", "gee", "aitch", "eye", "jay", "kay", "ell", "em"),
            *("en", "oh", "pee", "cue", "are", "ess", "tee", "you", "vee", "double-you", "ex", "why", "zee"),
        ),
        strict=True,
    )
)


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_KNOWN = _words("""
    ABC AC ADHD AI AKA API APK ATM AWS BBC CEO CFO CI CIA CIO COO CPA CPU CTO DIY DNA DOB EDT EEG EKG EMT EPA
    ESA ESPN EST ETF EU EV FAA FAQ FBI FDA GI GNU GPA GPU HBO HIV IBM ICU ID IDE IEEE IMF IOU IP IPA IPO
    IQ IRC IRS ISBN ISO ISP IVF MBA MIT MRI NBA NCAA NGO NSA NYC NYT NYU OECD OEM OS PDA PHD POV QA RNA
    ROI RSVP SEO SOS SUV UAE UAV UCLA UFO UHF UI UK UN URI URL USA USB USD USDA USSR UTC UTF UV UX VAT
    VIN VIP VP
""")
_KNOWN_UNLESS_SHOUTED = _words("CAD IRA LED UPS US")
_WORDS_WITHOUT_VOWEL = _words("BRR DR GRR HM HMM JR MM MMM MR MRS MS NTH PFFT PSST SH SHH SR ST TSK VS")
_CAPITALS = re.compile(r"[A-Z]{2,}")
_WORD = re.compile(r"[A-Za-z]{2,}")


def spelt(letters: str) -> str:
    """ "FBI": "eff bee eye"."""
    return " ".join(NAMES[letter] for letter in letters if letter in NAMES)


@lru_cache(maxsize=8)
def _is_shouted(sentence: str) -> bool:
    """Whether most of its words are in capitals, and there are several."""
    words = len(_WORD.findall(sentence))
    return words > 2 and 2 * len(_CAPITALS.findall(sentence)) > words


def _run(match: re.Match[str]) -> str:
    return spelt(match["say"])


def _beside_slash(match: re.Match[str]) -> str:
    """ "TCP/IP", "I/O": one after the other."""
    return " ".join(
        spelt(each) if len(each) == 1 else _spelt(each, match.string) or each
        for each in match["say"].split("/")
    )


def _abbreviation(match: re.Match[str]) -> str | None:
    letters, plural = match["letters"], match["plural"]
    said = _spelt(letters, match.string)
    if said is None or not plural:
        return said
    return f"{said}{'es' if letters[-1] in 'HSX' else 's'}"


def _spelt(letters: str, sentence: str) -> str | None:
    """None for what is a word."""
    if letters in _WORDS_WITHOUT_VOWEL:
        return None
    known = letters in _KNOWN or (letters in _KNOWN_UNLESS_SHOUTED and not _is_shouted(sentence))
    if not known and re.search("[AEIOUY]", letters):
        return None
    return spelt(letters)


_DIGIT = r"(?:zero|oh|one|two|three|four|five|six|seven|eight|nine|eight hundred)"
_GROUP = rf"{_DIGIT}(?: {_DIGIT}){{1,4}}"
RULES = Rules(
    rule(rf"\b(?:{_GROUP}|plus {_GROUP}|plus {_DIGIT})(?P<say>,)(?= {_GROUP}\b)", "."),
    rule(r"(?<![\w'’.-])(?P<say>[A-Z](?:[ -][A-Z])+)(?![\w-])", _run),
    rule(r"(?<![\w'’.-])(?P<say>[A-Z](?:\. [A-Z]){3,})(?=\.)", _run),
    rule(r"(?<![\w'’.-])(?<!(?<![\w'’.-])[A-Z]\. )(?P<say>[A-Z](?:\. [A-Z])+\.)(?= [A-Z][a-z])", _run),
    rule(r"(?<![\w'’.-])(?P<say>[A-Z](?:\. [A-Z])+)(?=\.)", _run),
    rule(r"(?<![\w'’.-])(?P<say>w w w)(?!\w)", spelt("WWW")),
    rule(r"(?<![\w'’.-])(?P<say>P h D)(?!\w)", "pee aitch dee"),
    rule(r"(?<![\w'’.-])(?:OK|Ok|ok)(?![\w-])", "okay"),
    rule(r"(?<=\w )(?P<say>a m)(?!\w)", "ay em"),
    rule(r"(?<=\w )(?P<say>p m)(?!\w)", "pee em"),
    rule(r"(?<![\w@#/'’.-])(?P<say>[A-Z]{1,5}(?:/[A-Z]{1,5}){1,3})(?![\w@/])", _beside_slash),
    rule(r"(?<![\w@#/'’])(?P<say>(?P<letters>[A-Z]{2,5})(?P<plural>s)?)(?![\w@/])", _abbreviation),
)
